/** Each change of a service, and the sentence that names it. */
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
const THEN = 'It is for keys with users:delete.';
const before = lockWith(SCOPES, ROUTES, REASONS);

function changed(routes: Record<string, readonly string[] | null | undefined>, scopes = SCOPES) {
  const entries = Object.entries({ ...ROUTES, ...routes }).filter(
    ([, needed]) => needed !== undefined,
  );
  return lockWith(scopes, Object.fromEntries(entries) as Routes, REASONS);
}

const saidOf = (after: AccessLock): string => lockMarkdown(diffLocks(before, after));

describe('a change', () => {
  it('that is none is none', () => {
    const diff = diffLocks(before, changed({}));
    expect(diff.isEmpty).toBe(true);
    expect(lockMarkdown(diff)).toBe('Who may call what has not changed.\n');
  });

  it.each<[string, AccessLock, string]>([
    [
      'a guard is taken away',
      changed({ 'GET /threats': null }),
      `### Without a guard

- \`GET /threats\` has no guard, and nobody wrote why.

### Widened

- \`GET /threats\` has no guard of its own any more, which was do GET /threats.
`,
    ],
    [
      'a guard needs less',
      changed({ 'PUT /threats/:id': ['threats:read'] }),
      `### Widened

- \`PUT /threats/:id\` needs threats:write no longer. It is for keys with threats:read.
`,
    ],
    [
      'a guard needs nothing',
      changed({ 'GET /threats': [] }),
      `### Widened

- \`GET /threats\` needs threats:read no longer. It is for any key.
`,
    ],
    [
      'a guard needs more',
      changed({ 'GET /threats': ['threats:read', 'threats:write'] }),
      `### Narrowed

- \`GET /threats\` needs threats:write, too.
`,
    ],
    [
      'a guard needs something else',
      changed({ 'GET /threats': ['threats:write'] }),
      `### Widened

- \`GET /threats\` needs threats:read no longer. It is for keys with threats:write.

### Narrowed

- \`GET /threats\` needs threats:write, too.
`,
    ],
    [
      'a route is new',
      changed({ 'POST /threats': ['threats:write'] }),
      `### Added

- \`POST /threats\` is new, for keys with threats:write.
`,
    ],
    [
      'a route without a guard is new',
      changed({ 'GET /debug': null }),
      `### Without a guard

- \`GET /debug\` has no guard, and nobody wrote why.

### Added

- \`GET /debug\` is new, for anyone, and nobody wrote why.
`,
    ],
    [
      'a route is gone',
      changed({ 'GET /threats': undefined }),
      `### Removed

- \`GET /threats\` is gone.
`,
    ],
    [
      'a scope is reserved no longer',
      changed({}, { ...SCOPES, 'users:delete': 'open' }),
      `### Widened

- \`DELETE /users/:id\` needs users:delete, which is reserved no longer: wildcards grant it. ${THEN}

### Scopes

- \`users:delete\` is reserved no longer: wildcards grant it.
`,
    ],
    [
      'a scope becomes reserved',
      changed({}, { ...SCOPES, 'threats:write': 'reserved' }),
      `### Narrowed

- \`PUT /threats/:id\` needs threats:write, which no wildcard grants any more.

### Scopes

- \`threats:write\` is reserved now: no wildcard grants it any more.
`,
    ],
    [
      'scopes join',
      changed({}, { ...SCOPES, 'reports:read': 'open', 'reports:delete': 'reserved' }),
      `### Scopes

- \`reports:delete\` is new.
- \`reports:read\` is new.
`,
    ],
    [
      'a scope leaves',
      changed(
        { 'DELETE /users/:id': undefined },
        { 'threats:read': 'open', 'threats:write': 'open' },
      ),
      `### Removed

- \`DELETE /users/:id\` is gone.

### Scopes

- \`users:delete\` is gone: keys that have it may do nothing with it.
`,
    ],
  ])('is said in words: %s', (_, after, said) => {
    expect(saidOf(after)).toBe(said);
    expect(diffLocks(before, after).isEmpty).toBe(false);
  });
});

describe('a route', () => {
  it('that gets a guard is narrowed', () => {
    const bare = lockWith(SCOPES, { 'GET /x': null });
    const guarded = lockWith(SCOPES, { 'GET /x': ['threats:read'] });
    expect(diffLocks(bare, guarded).narrowed).toMatchObject([
      { route: 'GET /x', what: 'has a guard now, and is for keys with threats:read' },
    ]);
    expect(diffLocks(bare, guarded).widened).toEqual([]);
  });

  it('that never had a guard is named until somebody writes why', () => {
    const bare = lockWith(SCOPES, { 'GET /x': null });
    expect(diffLocks(bare, bare)).toMatchObject({
      isEmpty: false,
      unguarded: [{ route: 'GET /x' }],
    });
    const told = lockWith(SCOPES, { 'GET /x': null }, { 'GET /x': 'a greeting' });
    expect(diffLocks(told, told).isEmpty).toBe(true);
    expect(diffLocks(bare, told).changed).toMatchObject([
      { what: 'has another reason to have no guard: a greeting' },
    ]);
  });
});

describe('an operation', () => {
  const catalog = defineScopes({ threats: { read: 'Read.', write: 'Write.' } });
  const lockNamed = (operation: string, scopes: readonly ['threats:read' | 'threats:write']) => {
    const policy = definePolicy(catalog, { [operation]: scopes });
    const routes = [{ method: 'GET', path: '/threats', operations: [operation] }];
    return lockOf({ catalog, policy, routes });
  };

  it('that has another name is named, where it needs the same', () => {
    const diff = diffLocks(
      lockNamed('list', ['threats:read']),
      lockNamed('browse', ['threats:read']),
    );
    expect(diff).toMatchObject({ isEmpty: false, widened: [], narrowed: [] });
    expect(lockMarkdown(diff)).toBe(
      '### Changed\n\n- `GET /threats` is browse, which was list, for the same keys.\n',
    );
  });

  it('that a route has moved to is named with what it needs', () => {
    const diff = diffLocks(
      lockNamed('list', ['threats:read']),
      lockNamed('browse', ['threats:write']),
    );
    expect(lockMarkdown(diff)).toContain('needs threats:read no longer (list is now browse).');
    expect(lockMarkdown(diff)).toContain('needs threats:write, too (list is now browse).');
    expect(diff.changed).toEqual([]);
  });
});

describe('the keys that gain', () => {
  const key = { keyId: '1', prefix: 'acme', hint: 'KrPP', name: 'a *star*', entityUuid: 'e' };
  const reader = { ...key, scopes: ['threats:read'] };
  const nobody = { ...key, keyId: '2', scopes: ['users:delete', 'gone:scope'] };

  it('are named with what they may do now', () => {
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

  it('are counted where there are many', () => {
    const keys = Array.from({ length: 30 }, (_, at) => ({ ...reader, keyId: String(at) }));
    const after = changed({ 'PUT /threats/:id': ['threats:read'] });
    const said = lockMarkdown(diffLocks(before, after, { keys }));
    expect(said).toContain('Live keys that may do more (30)');
    expect(said.match(/^- `acme_/gm)).toHaveLength(20);
    expect(said).toContain('- and 10 more\n');
  });

  it('are not asked for where nothing opens', () => {
    const keys: Iterable<typeof reader> = {
      [Symbol.iterator]: () => {
        throw new Error('asked');
      },
    };
    const after = changed({ 'GET /threats': ['threats:write', 'threats:read'] });
    expect(diffLocks(before, after, { keys }).gains).toEqual([]);
  });
});

describe('a guard before a route', () => {
  const routeWith = (behind: readonly string[], reasons?: Record<string, string>) => {
    const catalog = defineScopes({ threats: { read: 'Read.' } });
    const policy = definePolicy(catalog, { one: ['threats:read'], two: [] });
    const routes = [{ method: 'GET', path: '/a', operations: [], behind }];
    return lockOf({ catalog, policy, routes, reasons });
  };
  const reasons = { 'GET /a': 'why' };

  it('leaves the route unguarded', () => {
    const lock = routeWith(['one', 'two']);
    const [change] = diffLocks(lock, lock).unguarded;
    expect(change).toMatchObject({ kind: 'unguarded', route: 'GET /a' });
  });

  it('is no widening if it is gone, and is named', () => {
    const diff = diffLocks(routeWith(['one', 'two'], reasons), routeWith([], reasons));
    expect(diff).toMatchObject({ isEmpty: false, widened: [], narrowed: [], unguarded: [] });
    expect(lockMarkdown(diff)).toContain('- `GET /a` has before it now: no guard.');
    const back = diffLocks(routeWith([], reasons), routeWith(['one', 'two'], reasons));
    expect(lockMarkdown(back)).toContain('- `GET /a` has before it now: one and two.');
    const same = diffLocks(routeWith(['one'], reasons), routeWith(['one'], reasons));
    expect(same.isEmpty).toBe(true);
  });
});

// The reason of a logger covered a handler that came later.
it('names another number of handlers of a row without a guard', () => {
  const lockWithHandlers = (handlers?: number) => {
    const catalog = defineScopes({ threats: { read: 'Read.' } });
    const routes = [{ method: 'ALL', path: '/*', operations: [], handlers }];
    const reasons = { 'ALL /*': 'writes a log' };
    return lockOf({ catalog, policy: definePolicy(catalog, { one: [] }), routes, reasons });
  };
  const diff = diffLocks(lockWithHandlers(), lockWithHandlers(2));
  expect(diff).toMatchObject({ isEmpty: false, widened: [], unguarded: [] });
  expect(lockMarkdown(diff)).toContain('- `ALL /*` has another number of handlers: 2.');
});

describe('Markdown', () => {
  // Two backticks with nothing between them began a span that ended in the next text.
  it('has something for an empty name', () => {
    const after = changed({ 'PUT /threats/:id': ['threats:read'] });
    const key = { keyId: 'k', prefix: 'acme', hint: 'abcd', name: '', entityUuid: 'e' };
    const keys = [{ ...key, scopes: ['threats:read'] }];
    const said = lockMarkdown(diffLocks(before, after, { keys }));
    expect(said).toContain('`acme_…abcd` `(none)` of `e`');
  });

  it('is broken out of by no text from a database', () => {
    const after = changed({ 'PUT /threats/:id': ['threats:read'] });
    const odd = 'x`\n## Nothing widened\u202e';
    const key = { keyId: odd, prefix: odd, hint: odd, name: odd, entityUuid: odd };
    const keys = [{ ...key, scopes: ['threats:read'] }];
    const said = lockMarkdown(diffLocks(before, after, { keys }));
    expect(said).not.toContain('\n## ');
    expect(said).not.toContain('\u202e');
    expect(said).toContain('of `` x`\ufffd## Nothing widened\ufffd ``');
  });

  it('is broken out of by no path, reason or name', () => {
    const odd = 'GET /`x`/[a](javascript:b)';
    const plain = lockWith(SCOPES, {});
    const diff = diffLocks(
      plain,
      lockWith(SCOPES, { [odd]: null }, { [odd]: '<img src=x> *b* @all' }),
    );
    expect(lockMarkdown(diff)).toBe(
      '### Added\n\n' +
        '- `` GET /`x`/[a](javascript:b) `` is new, for anyone: \\<img src=x\\> \\*b\\* `@all`.\n',
    );
  });
});
