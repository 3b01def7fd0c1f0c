/** Reasons for many routes: which routes a pattern covers, and which changes it cannot hide. */
import { definePolicy, defineScopes } from 'keyscope';
import {
  diffLocks,
  formatLock,
  type GuardedRoute,
  type LockDiff,
  lockContract,
  lockMarkdown,
  lockOf,
  lockSarif,
  parseLock,
} from 'keyscope/lock';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';

const catalog = defineScopes({ threats: { read: 'Read.', write: 'Write.' } });
const policy = definePolicy(catalog, { whoami: [], listThreats: ['threats:read'] });

const SESSION = 'people with a session';
const BELOW = { '/settings/*': SESSION };

/** Makes the routes of lines such as `GET /threats listThreats`. */
function routesOf(lines: readonly string[]): readonly GuardedRoute[] {
  return lines.map((line) => {
    const [method = '', path = '', ...operations] = line.split(' ');
    return { method, path, operations };
  });
}

const lockFor = (lines: readonly string[], reasons: Readonly<Record<string, string>> = BELOW) =>
  lockOf({ keyring: { policy }, routes: routesOf(lines), reasons });

describe('lockOf with patterns', () => {
  it.each([
    ['/settings/*', ['GET /settings/a', 'PUT /settings/a/b/:id'], ['GET /settings', 'GET /sett/x']],
    ['GET /settings/*', ['GET /settings/a'], ['PUT /settings/a', 'HEAD /settings/a']],
    ['/settings', ['GET /settings', 'PUT /settings'], ['GET /settings/a', 'GET /v1/settings']],
    ['ALL /*', ['ALL /*'], ['ALL /a', 'GET /*']],
    ['/*', ['ALL /*', 'GET /*'], ['GET /a']],
    ['ALL /files/*', ['ALL /files/*', 'ALL /files/a'], ['ALL /files']],
    ['/s/*/b', ['GET /s/*/b'], ['GET /s/a/b']],
    ['TOOL clock', ['TOOL clock'], ['TOOL clocks']],
  ])('gives the reason of %s to %j, and not to %j', (key, matching, others) => {
    const { routes } = lockFor([...matching, ...others], { [key]: 'why' });
    const covered = [...routes].filter(([, { reason }]) => reason === 'why');
    expect(covered.map(([name]) => name).sort()).toEqual([...matching].sort());
  });

  it('prefers the longest key', () => {
    const reasons = { ...BELOW, '/settings/hooks/*': 'a signature', 'GET /settings/hooks/a': 'A' };
    const { routes } = lockFor(
      ['GET /settings/x', 'GET /settings/hooks/a', 'GET /settings/hooks/b'],
      reasons,
    );
    expect([...routes.values()].map(({ reason, pattern }) => [reason, pattern])).toEqual([
      ['A', undefined],
      ['a signature', '/settings/hooks/*'],
      [SESSION, '/settings/*'],
    ]);
  });

  it('rejects a pattern that applies to no route without a guard', () => {
    const instead = '"/settings/*" applies to no route without a guard. Correct or remove it';
    for (const lines of [[], ['GET /settings/a whoami'], ['GET /settings']]) {
      expect(complaint(() => lockFor(lines))).toContain(instead);
    }
  });

  it('gives no reason to a route with a guard', () => {
    const { routes } = lockFor(['GET /settings/a', 'GET /settings/b listThreats']);
    expect(routes.get('GET /settings/b')).toEqual({
      operations: ['listThreats'],
      scopes: ['threats:read'],
      reason: null,
    });
  });

  it('keeps the reasons of the rows of a committed lock, and none of its patterns', () => {
    const committed = lockFor(['GET /healthz', 'GET /settings/a'], {
      'GET /healthz': 'liveness',
      ...BELOW,
    });
    const routes = routesOf(['GET /healthz', 'GET /settings/a']);
    const kept = lockOf({ keyring: { policy }, routes, committed });
    expect([...kept.routes.values()].map(({ reason }) => reason)).toEqual(['liveness', null]);
    const guarded = routesOf(['GET /healthz whoami']);
    const now = lockOf({ keyring: { policy }, routes: guarded, committed });
    expect(now.routes.get('GET /healthz')?.reason).toBeNull();
    const reasons = { '/healthz': 'new' };
    const renewed = lockOf({ keyring: { policy }, routes, committed, reasons });
    expect(renewed.routes.get('GET /healthz')?.reason).toBe('new');
  });
});

describe('formatLock with patterns', () => {
  it('writes a line for each pattern, which parseLock reads', () => {
    const behind = { method: 'PUT', path: '/settings/b', operations: [], behind: ['whoami'] };
    const routes = [...routesOf(['GET /settings/a', 'GET /me whoami']), { ...behind, handlers: 2 }];
    const lock = lockOf({ keyring: { policy }, routes, reasons: BELOW });
    const text = formatLock(lock);
    expect(text.split('\n').slice(6, 9)).toEqual([
      '  "reasons": {',
      `    "/settings/*": {"unguarded":"${SESSION}","routes":{"GET /settings/a":{},` +
        '"PUT /settings/b":{"behind":["whoami"],"handlers":2}}}',
      '  },',
    ]);
    expect(parseLock(text)).toEqual(lock);
    expect(formatLock(parseLock(text))).toBe(text);
  });

  it('does not let a pattern hide a row of the same route', () => {
    const text = formatLock(lockFor(['GET /settings/a', 'GET /x listThreats']));
    const twice = text.replace('"GET /x"', '"GET /settings/a"');
    expect(parseLock(twice).routes.get('GET /settings/a')?.operations).toEqual(['listThreats']);
  });
});

const A = 'GET /settings/a';

function kindsOf(diff: LockDiff): readonly string[] {
  const { isEmpty: _, catalog: __, gains: ___, ...kinds } = diff;
  return Object.entries(kinds).flatMap(([kind, changes]) =>
    changes.map(({ route }) => `${kind}: ${route}`),
  );
}

async function failuresOf(committed: string, lock: ReturnType<typeof lockFor>) {
  const failures: string[] = [];
  const running: Promise<void>[] = [];
  lockContract(
    (_, body) => running.push(body().catch((error: unknown) => void failures.push(String(error)))),
    () => ({ committed, lock }),
  );
  await Promise.all(running);
  return failures;
}

describe('diffLocks with patterns', () => {
  it.each([
    ['a new route', [A], [A, 'GET /settings/b'], ['covered: GET /settings/b']],
    ['a removed route', [A, 'GET /settings/b'], [A], ['covered: GET /settings/b']],
  ])('notes %s beneath a committed pattern, and does not fail', async (...given) => {
    const [, before, after, kinds] = given;
    const diff = diffLocks(lockFor(before), lockFor(after));
    expect(kindsOf(diff)).toEqual(kinds);
    expect(diff.isEmpty).toBe(true);
    expect(lockMarkdown(diff)).toContain('### Covered by a pattern\n\n- `GET /settings/b` ');
    expect(JSON.stringify(lockSarif(diff, { lock: lockFor(after) }))).toContain('"level":"note"');
    expect(await failuresOf(formatLock(lockFor(before)), lockFor(after))).toEqual([]);
  });

  it.each([
    ['a guard that is gone', ['GET /settings/b listThreats'], ['GET /settings/b'], ['widened']],
    ['a guard that was removed with its route', ['GET /x whoami'], [], ['removed']],
    ['a new route with a guard', [], ['GET /settings/b whoami'], ['added']],
    ['a weaker guard', ['GET /settings/b listThreats'], ['GET /settings/b whoami'], ['widened']],
    ['a route elsewhere', [], ['GET /other'], ['added', 'unguarded']],
  ])('does not hide %s', async (_, before, after, kinds) => {
    const diff = diffLocks(lockFor([A, ...before]), lockFor([A, ...after]));
    expect(kindsOf(diff).map((line) => line.split(':')[0])).toEqual(kinds);
    expect(diff.isEmpty).toBe(false);
  });

  it.each([
    ['a new pattern', { '/other/*': SESSION }, 'GET /other/a'],
    ['a new text of a pattern', { '/settings/*': 'anyone' }, 'GET /settings/b'],
    ['a wider pattern', { '/settings/*': SESSION, '/*': SESSION }, 'GET /*'],
  ])('does not permit new routes beneath %s until it is committed', (_, reasons, route) => {
    const old = lockFor(['GET /settings/c']);
    const now = lockFor([A, route], { ...BELOW, ...reasons });
    const { added, covered, isEmpty } = diffLocks(old, now);
    expect(added.map((change) => change.route)).toContain(route);
    expect(covered.map((change) => change.route)).not.toContain(route);
    expect(isEmpty).toBe(false);
  });

  it('warns that a covered route lost the guard before it', () => {
    const lockBehind = (behind: readonly string[]) => {
      const routes = [{ ...routesOf([A])[0], behind } as GuardedRoute];
      return lockOf({ keyring: { policy }, routes, reasons: BELOW });
    };
    const diff = diffLocks(lockBehind(['whoami']), lockBehind([]));
    expect(kindsOf(diff)).toEqual([`widened: ${A}`, `unguarded: ${A}`]);
  });

  it('fails for a committed text that is not what its lock says, also next to a note', async () => {
    const text = formatLock(lockFor([A, 'GET /me whoami'])).replace('any key', 'nobody');
    const now = lockFor([A, 'GET /me whoami', 'GET /settings/b']);
    expect(await failuresOf(text, now)).toEqual([
      expect.stringContaining('differs from what keyscope writes'),
    ]);
  });
});
