/** The changes between two locks, and the sentences that describe them. */
import { definePolicy, defineScopes } from 'keyscope';
import { type AccessLock, diffLocks, lockMarkdown, lockOf } from 'keyscope/lock';
import { describe, expect, it } from 'vitest';
import { lockWith, type Routes, type Scopes } from '../../support/locks.ts';

const SCOPES: Scopes = {
  'threats:read': 'open',
  'threats:write': 'open',
  'users:delete': 'reserved',
};
const ROUTES: Routes = {
  'GET /threats': ['threats:read'],
  'PUT /threats/:id': ['threats:read', 'threats:write'],
  'DELETE /users/:id': ['users:delete'],
  'GET /healthz': null,
};
const REASONS = { 'GET /healthz': 'says only that it runs' };
const THEN = 'It is open to keys with users:delete.';
const OPEN = 'It is open to keys with threats:read, and people with a session.';
const before = lockWith(SCOPES, ROUTES, REASONS);

function changed(routes: Record<string, readonly string[] | null | undefined>, scopes = SCOPES) {
  const entries = Object.entries({ ...ROUTES, ...routes }).filter(
    ([, needed]) => needed !== undefined,
  );
  return lockWith(scopes, Object.fromEntries(entries) as Routes, REASONS);
}

const saidOf = (after: AccessLock): string => lockMarkdown(diffLocks(before, after));

describe('diffLocks', () => {
  it('finds no change between equal locks', () => {
    const diff = diffLocks(before, changed({}));
    expect(diff.isEmpty).toBe(true);
    expect(lockMarkdown(diff)).toBe('No route, tool or scope has changed.\n');
  });

  it.each<[string, AccessLock, string]>([
    [
      'a guard is removed',
      changed({ 'GET /threats': null }),
      `### Without a guard

- \`GET /threats\` has no guard, and nobody wrote why.

### Widened

- \`GET /threats\` no longer has its own guard (do GET /threats).
`,
    ],
    [
      'a guard needs less',
      changed({ 'PUT /threats/:id': ['threats:read'] }),
      `### Widened

- \`PUT /threats/:id\` no longer needs threats:write. It is open to keys with threats:read.
`,
    ],
    [
      'a guard needs nothing',
      changed({ 'GET /threats': [] }),
      `### Widened

- \`GET /threats\` no longer needs threats:read. It is open to any key.
`,
    ],
    [
      'a guard needs more',
      changed({ 'GET /threats': ['threats:read', 'threats:write'] }),
      `### Narrowed

- \`GET /threats\` also needs threats:write.
`,
    ],
    [
      'a guard needs something else',
      changed({ 'GET /threats': ['threats:write'] }),
      `### Widened

- \`GET /threats\` no longer needs threats:read. It is open to keys with threats:write.

### Narrowed

- \`GET /threats\` also needs threats:write.
`,
    ],
    [
      'a route is new',
      changed({ 'POST /threats': ['threats:write'] }),
      `### Added

- \`POST /threats\` is new, open to keys with threats:write.
`,
    ],
    [
      'a route without a guard is new',
      changed({ 'GET /debug': null }),
      `### Without a guard

- \`GET /debug\` has no guard, and nobody wrote why.

### Added

- \`GET /debug\` is new, open to anyone.
`,
    ],
    [
      'a route is removed',
      changed({ 'GET /threats': undefined }),
      `### Removed

- \`GET /threats\` was removed.
`,
    ],
    [
      'a scope is no longer reserved',
      changed({}, { ...SCOPES, 'users:delete': 'open' }),
      `### Widened

- \`DELETE /users/:id\` needs users:delete, which is no longer reserved: wildcards grant it. ${THEN}

### Scopes

- \`users:delete\` is no longer reserved: wildcards grant it.
`,
    ],
    [
      'a scope becomes reserved',
      changed({}, { ...SCOPES, 'threats:write': 'reserved' }),
      `### Narrowed

- \`PUT /threats/:id\` needs threats:write, which wildcards no longer grant.

### Scopes

- \`threats:write\` is now reserved: wildcards no longer grant it.
`,
    ],
    [
      'scopes are added',
      changed({}, { ...SCOPES, 'reports:read': 'open', 'reports:delete': 'reserved' }),
      `### Scopes

- \`reports:delete\` is new.
- \`reports:read\` is new.
`,
    ],
    [
      'a scope is removed',
      changed(
        { 'DELETE /users/:id': undefined },
        { 'threats:read': 'open', 'threats:write': 'open' },
      ),
      `### Removed

- \`DELETE /users/:id\` was removed.

### Scopes

- \`users:delete\` was removed: it no longer allows anything.
`,
    ],
  ])('describes the change if %s', (_, after, said) => {
    expect(saidOf(after)).toBe(said);
    expect(diffLocks(before, after).isEmpty).toBe(false);
  });
});

describe('diffLocks, of a route', () => {
  it('reports a new guard as narrowing', () => {
    const bare = lockWith(SCOPES, { 'GET /x': null });
    const guarded = lockWith(SCOPES, { 'GET /x': ['threats:read'] });
    expect(diffLocks(bare, guarded).narrowed).toMatchObject([
      { route: 'GET /x', what: 'now has a guard, and is open to keys with threats:read' },
    ]);
    expect(diffLocks(bare, guarded).widened).toEqual([]);
  });

  it('reports a missing guard until there is a reason', () => {
    const bare = lockWith(SCOPES, { 'GET /x': null });
    expect(diffLocks(bare, bare)).toMatchObject({
      isEmpty: false,
      unguarded: [{ route: 'GET /x' }],
    });
    const told = lockWith(SCOPES, { 'GET /x': null }, { 'GET /x': 'a greeting' });
    expect(diffLocks(told, told).isEmpty).toBe(true);
    expect(diffLocks(bare, told).changed).toMatchObject([
      { what: 'has a new reason for having no guard: a greeting' },
    ]);
  });
});

describe('diffLocks, of an operation', () => {
  const catalog = defineScopes({ threats: { read: 'Read.', write: 'Write.' } });
  const lockNamed = (operation: string, scopes: readonly ['threats:read' | 'threats:write']) => {
    const policy = definePolicy(catalog, { [operation]: scopes });
    const routes = [{ method: 'GET', path: '/threats', operations: [operation] }];
    return lockOf({ keyring: { policy }, routes });
  };

  it('reports a new name with the same scopes as a change', () => {
    const diff = diffLocks(
      lockNamed('list', ['threats:read']),
      lockNamed('browse', ['threats:read']),
    );
    expect(diff).toMatchObject({ isEmpty: false, widened: [], narrowed: [] });
    expect(lockMarkdown(diff)).toBe(
      '### Changed\n\n- `GET /threats` is now browse instead of list, for the same keys.\n',
    );
  });

  it('reports a new operation with its different scopes', () => {
    const diff = diffLocks(
      lockNamed('list', ['threats:read']),
      lockNamed('browse', ['threats:write']),
    );
    expect(lockMarkdown(diff)).toContain('no longer needs threats:read (list is now browse).');
    expect(lockMarkdown(diff)).toContain('also needs threats:write (list is now browse).');
    expect(diff.changed).toEqual([]);
  });
});

describe('diffLocks, of a sign-in that opens a route as well', () => {
  const catalog = defineScopes({ threats: { read: 'Read.', write: 'Write.' } });
  const policy = definePolicy(catalog, { list: ['threats:read'], edit: ['threats:write'] });
  const routeFor = (operations: readonly string[], ...also: readonly string[]) => {
    const routes = [{ method: 'GET', path: '/a', operations, also }];
    return lockOf({ keyring: { policy }, routes, reasons: operations.length > 0 ? {} : WHY });
  };
  const WHY = { 'GET /a': 'why' };
  const closed = routeFor(['list']);
  const open = routeFor(['list'], 'people with a session');

  it('reports it as widening, which no live key gains from', () => {
    const reader = { keyId: 'k', prefix: 'acme', hint: 'h', name: 'n', entityId: 'e' };
    const keys = [{ ...reader, scopes: ['threats:read'] }];
    const diff = diffLocks(closed, open, { keys });
    expect(diff).toMatchObject({ isEmpty: false, narrowed: [], changed: [], gains: [] });
    expect(lockMarkdown(diff)).toBe(`### Widened

- \`GET /a\` now also lets in people with a session. ${OPEN}
`);
  });

  it('reports its loss as narrowing', () => {
    const diff = diffLocks(open, closed);
    expect(diff).toMatchObject({ isEmpty: false, widened: [], changed: [] });
    expect(lockMarkdown(diff)).toBe(
      '### Narrowed\n\n- `GET /a` no longer lets in people with a session.\n',
    );
  });

  it('reports others in their place as both', () => {
    const diff = diffLocks(open, routeFor(['list'], 'administrators', 'nightly jobs'));
    const [{ what = '' } = {}] = diff.widened;
    expect(what).toMatch(/^now also lets in administrators and nightly jobs\. /);
    expect(diff.narrowed).toMatchObject([{ what: 'no longer lets in people with a session' }]);
    expect(diffLocks(open, open).isEmpty).toBe(true);
  });

  it('reports it next to a change of scopes, and with a new or a lost guard', () => {
    const moved = diffLocks(closed, routeFor(['edit'], 'people'));
    expect(moved.widened).toMatchObject([
      {
        what:
          'no longer needs threats:read (list is now edit); now also lets in people. ' +
          'It is open to keys with threats:write, and people',
      },
    ]);
    const bare = routeFor([]);
    expect(diffLocks(bare, open).narrowed).toMatchObject([
      { what: 'now has a guard, and is open to keys with threats:read, and people with a session' },
    ]);
    expect(diffLocks(bare, open).widened).toEqual([]);
    expect(diffLocks(open, bare)).toMatchObject({
      narrowed: [],
      widened: [{ what: 'no longer has its own guard (list)' }],
    });
  });
});

describe('diffLocks, of live keys', () => {
  const key = { keyId: '1', prefix: 'acme', hint: 'KrPP', name: 'a *star*', entityId: 'e' };
  const reader = { ...key, scopes: ['threats:read'] };
  const nobody = { ...key, keyId: '2', scopes: ['users:delete', 'gone:scope'] };

  it('lists the routes that each key can newly call', () => {
    const after = changed({
      'PUT /threats/:id': ['threats:read'],
      'POST /threats': ['threats:read'],
    });
    const diff = diffLocks(before, after, { keys: [reader, nobody] });
    expect(diff.gains).toEqual([{ ...key, routes: ['PUT /threats/:id', 'POST /threats'] }]);
    expect(lockMarkdown(diff)).toContain(
      '### Live keys that may do more (1)\n\n' +
        '- `acme_…KrPP` `a *star*` of `e` (`1`): `PUT /threats/:id`, `POST /threats`\n',
    );
  });

  it('shows that nobody has the text of a key', () => {
    const after = changed({ 'PUT /threats/:id': ['threats:read'] });
    const diff = diffLocks(before, after, { keys: [{ ...reader, hint: '' }] });
    expect(lockMarkdown(diff)).toContain('- `(keyless)` `a *star*` of `e` (`1`): ');
  });

  it('shows twenty keys and counts the others', () => {
    const keys = Array.from({ length: 30 }, (_, at) => ({ ...reader, keyId: String(at) }));
    const after = changed({ 'PUT /threats/:id': ['threats:read'] });
    const said = lockMarkdown(diffLocks(before, after, { keys }));
    expect(said).toContain('Live keys that may do more (30)');
    expect(said.match(/^- `acme_/gm)).toHaveLength(20);
    expect(said).toContain('- and 10 more\n');
  });

  it('does not read the keys if nothing is widened or added', () => {
    const keys: Iterable<typeof reader> = {
      [Symbol.iterator]: () => {
        throw new Error('asked');
      },
    };
    const after = changed({ 'GET /threats': ['threats:write', 'threats:read'] });
    expect(diffLocks(before, after, { keys }).gains).toEqual([]);
  });
});

describe('diffLocks, of a guard before a route', () => {
  const routeWith = (behind: readonly string[], reasons?: Record<string, string>) => {
    const catalog = defineScopes({ threats: { read: 'Read.' } });
    const policy = definePolicy(catalog, { one: ['threats:read'], two: [] });
    const routes = [{ method: 'GET', path: '/a', operations: [], behind }];
    return lockOf({ keyring: { policy }, routes, reasons });
  };
  const reasons = { 'GET /a': 'why' };

  it('reports the route as unguarded', () => {
    const lock = routeWith(['one', 'two']);
    const [change] = diffLocks(lock, lock).unguarded;
    expect(change).toMatchObject({ kind: 'unguarded', route: 'GET /a' });
  });

  // A route that lost its router's guard was a note for the same callers.
  it('reports its loss as widening, and as unguarded until there is a new reason', () => {
    const diff = diffLocks(routeWith(['one', 'two'], reasons), routeWith(['one'], reasons));
    expect(diff).toMatchObject({ isEmpty: false, narrowed: [], changed: [] });
    expect(lockMarkdown(diff)).toBe(`### Without a guard

- \`GET /a\` is no longer behind two, and its reason is from before that.

### Widened

- \`GET /a\` is no longer behind two. It is open to anyone, unless one before it covers it: why.
`);
    const renewed = routeWith([], { 'GET /a': 'public' });
    expect(diffLocks(routeWith(['one'], reasons), renewed)).toMatchObject({
      unguarded: [],
      widened: [{ what: 'is no longer behind one. It is open to anyone: public' }],
    });
    expect(diffLocks(routeWith(['one']), routeWith([])).unguarded).toMatchObject([
      { what: 'has no guard, and nobody wrote why' },
    ]);
  });

  it('reports a new one as a change', () => {
    const back = diffLocks(routeWith([], reasons), routeWith(['one', 'two'], reasons));
    expect(lockMarkdown(back)).toContain('- `GET /a` is now behind one and two.');
    const same = diffLocks(routeWith(['one'], reasons), routeWith(['one'], reasons));
    expect(same.isEmpty).toBe(true);
  });
});

// Regression: the reason for a logger silently covered a handler that was added later.
it('reports a different number of handlers of a row without a guard', () => {
  const lockWithHandlers = (handlers?: number) => {
    const catalog = defineScopes({ threats: { read: 'Read.' } });
    const routes = [{ method: 'ALL', path: '/*', operations: [], handlers }];
    const reasons = { 'ALL /*': 'writes a log' };
    const policy = definePolicy(catalog, { one: [] });
    return lockOf({ keyring: { policy }, routes, reasons });
  };
  const diff = diffLocks(lockWithHandlers(), lockWithHandlers(2));
  expect(diff).toMatchObject({ isEmpty: false, widened: [], unguarded: [] });
  expect(lockMarkdown(diff)).toContain('- `ALL /*` has a different number of handlers: 2.');
});

describe('lockMarkdown', () => {
  // Regression: two empty backticks opened a code span that ended in a later text.
  it('writes a placeholder for an empty name', () => {
    const after = changed({ 'PUT /threats/:id': ['threats:read'] });
    const key = { keyId: 'k', prefix: 'acme', hint: 'abcd', name: '', entityId: 'e' };
    const keys = [{ ...key, scopes: ['threats:read'] }];
    const said = lockMarkdown(diffLocks(before, after, { keys }));
    expect(said).toContain('`acme_…abcd` `(none)` of `e`');
  });

  it('escapes texts from the database', () => {
    const after = changed({ 'PUT /threats/:id': ['threats:read'] });
    const odd = 'x`\n## Nothing widened\u202e';
    const key = { keyId: odd, prefix: odd, hint: odd, name: odd, entityId: odd };
    const keys = [{ ...key, scopes: ['threats:read'] }];
    const said = lockMarkdown(diffLocks(before, after, { keys }));
    expect(said).not.toContain('\n## ');
    expect(said).not.toContain('\u202e');
    expect(said).toContain('of `` x`\ufffd## Nothing widened\ufffd ``');
  });

  it('escapes paths and reasons', () => {
    const odd = 'GET /`x`/[a](javascript:b)';
    const plain = lockWith(SCOPES, {});
    const diff = diffLocks(
      plain,
      lockWith(SCOPES, { [odd]: null }, { [odd]: '<img src=x> *b* @all' }),
    );
    expect(lockMarkdown(diff)).toBe(
      '### Added\n\n' +
        '- `` GET /`x`/[a](javascript:b) `` is new, open to anyone: ' +
        '\\<img src=x\\> \\*b\\* `@all`.\n',
    );
  });
});
