/** The file: the same service, the same text; and everything that is no lock of this version. */
import fc from 'fast-check';
import { definePolicy, defineScopes } from 'keyscope';
import { formatLock, lockOf, parseLock } from 'keyscope/lock';
import { describe, expect, it } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { lockWith } from '../../support/locks.ts';
import { readProjectFile } from '../../support/source.ts';

const lock = lockWith(
  { 'threats:read': 'open', 'users:delete': 'reserved' },
  {
    'POST /threats': ['threats:read'],
    'GET /threats': ['threats:read'],
    'DELETE /users/:id': ['users:delete', 'threats:read'],
    'TOOL list_threats': ['threats:read'],
    'GET /me': [],
    'GET /healthz': null,
    'GET /metrics': null,
  },
  { 'GET /healthz': 'says only "alive"' },
);

const TEXT = readProjectFile('test/tools/lock/service.lock.txt');

describe('a lock as a file', () => {
  it('has a line for each scope and each route, by path', () => {
    expect(formatLock(lock)).toBe(TEXT);
  });

  it('is read as it was written', () => {
    expect(parseLock(TEXT)).toEqual(lock);
    expect(formatLock(parseLock(TEXT))).toBe(TEXT);
    const bare = lockWith({ 'a:b': 'open' }, {});
    expect(parseLock(formatLock(bare))).toEqual(bare);
  });

  it('is the same text in whichever order routes, scopes and operations were declared', () => {
    const routes = Object.entries({ 'GET /b': ['a:y', 'a:x'], 'GET /a': [], 'PUT /a': ['a:x'] });
    const scopes = Object.entries({ 'a:y': 'open', 'a:x': 'reserved', 'b:x': 'open' } as const);
    const shuffled = <T>(list: readonly T[]) =>
      fc.shuffledSubarray([...list], { minLength: list.length });
    const first = formatLock(lockWith(Object.fromEntries(scopes), Object.fromEntries(routes)));
    fc.assert(
      fc.property(shuffled(routes), shuffled(scopes), (some, others) => {
        expect(formatLock(lockWith(Object.fromEntries(others), Object.fromEntries(some)))).toBe(
          first,
        );
      }),
    );
  });

  it('is read without `who`, which is for people, and whatever its white space', () => {
    const rewritten = JSON.stringify(JSON.parse(TEXT.replaceAll('"who":"', '"who":"nobody and ')));
    expect(parseLock(rewritten)).toEqual(lock);
  });

  it('has what may be before a route without a guard', () => {
    const catalog = defineScopes({ a: { b: 'Whatever.' } });
    const policy = definePolicy(catalog, { one: ['a:b'], two: [] });
    const routes = [
      { method: 'GET', path: '/a', operations: [], behind: ['two', 'one'] },
      { method: 'GET', path: '/b', operations: [], behind: ['one'], handlers: 2 },
      { method: 'GET', path: '/c', operations: ['two'], behind: ['one'] },
    ];
    const hinted = lockOf({ catalog, policy, routes, reasons: { 'GET /b': 'a "b": c' } });
    const text = formatLock(hinted);
    expect(text.split('\n').slice(6, 9)).toEqual([
      '    "GET /a": {"unguarded":null,"behind":["one","two"],' +
        '"who":"anyone, unless one or two before it covers it, and nobody wrote why"},',
      '    "GET /b": {"unguarded":"a \\"b\\": c","behind":["one"],"handlers":2,' +
        '"who":"anyone, unless one before it covers it: a \\"b\\": c"},',
      '    "GET /c": {"operations":["two"],"scopes":[],"who":"any key"}',
    ]);
    expect(parseLock(text)).toEqual(hinted);
    expect(Object.isFrozen(hinted.routes.get('GET /a')?.behind)).toBe(true);
  });

  it('is frozen', () => {
    for (const each of [lock, parseLock(TEXT)]) {
      expect(Object.isFrozen(each)).toBe(true);
      expect(Object.isFrozen(each.routes.get('GET /me'))).toBe(true);
      expect(Object.isFrozen(each.scopes)).toBe(true);
    }
  });
});

describe('a file that is no lock', () => {
  const version = TEXT.replace('"version": 1', '"version": 2');
  const route = (row: string): string => {
    return `{ "version": 1, "scopes": { "a:b": "open" }, "routes": { "GET /x": ${row} } }`;
  };
  it.each<[string, string]>([
    ['', 'is no JSON'],
    ['{', 'is no JSON'],
    ['[]', 'an object was expected'],
    ['null', 'an object was expected'],
    [
      `<<<<<<< ours\n${TEXT}=======\n${TEXT}>>>>>>> theirs\n`,
      'has a merge conflict: repair or delete it, and run',
    ],
    [TEXT.replace('    "GET /me"', '<<<<<<< HEAD\n    "GET /me"'), 'has a merge conflict'],
    [version, 'written by a newer keyscope: upgrade'],
    [`\ufeff${TEXT}`, 'begins with a byte order mark: repair or delete it'],
    [route('{ "unguarded": null, "handlers": 1 }'), 'handlers: a whole number above 1'],
    [route('{ "unguarded": null, "handlers": "2" }'), 'handlers: a whole number above 1'],
    [route('{ "operations": ["x"], "scopes": [], "handlers": 2 }'), 'handlers: it has operations'],
    ['{}', 'has no version that was ever written'],
    ['{ "version": 0 }', 'has no version'],
    ['{ "version": 1 }', 'scopes: an object was expected'],
    ['{ "version": 1, "scopes": {} }', 'routes: an object was expected'],
    ['{ "version": 1, "scopes": [], "routes": {} }', 'scopes: an object was expected'],
    ['{ "version": 1, "scopes": {}, "routes": {}, "more": 1 }', 'unknown field "more"'],
    ['{ "version": 1, "scopes": { "a": "open" }, "routes": {} }', 'scopes: "a"'],
    ['{ "version": 1, "scopes": { "a:*": "open" }, "routes": {} }', 'scopes: "a:*"'],
    ['{ "version": 1, "scopes": { "a:b": "shut" }, "routes": {} }', '"open" or "reserved"'],
    ['{ "version": 1, "scopes": {}, "routes": { "x": {} } }', 'a method and a path'],
    [route('1'), 'an object was expected'],
    [route('{}'), 'unguarded'],
    [route('{ "unguarded": "" }'), 'unguarded: 1 to 500 characters'],
    [route('{ "unguarded": "x\\ny" }'), 'unguarded: no control'],
    [route('{ "unguarded": null, "scopes": [] }'), 'a route without operations needs none'],
    [route('{ "operations": [] , "scopes": [] }'), 'write "unguarded" where there is none'],
    [route('{ "operations": "x" , "scopes": [] }'), 'operations'],
    [route('{ "operations": ["x"] }'), 'scopes'],
    [route('{ "operations": ["x"], "scopes": ["c:d"] }'), 'a scope of the lock was expected'],
    [route('{ "operations": ["x"], "scopes": [], "unguarded": "y" }'), 'it has operations'],
    [route('{ "operations": ["x"], "scopes": [], "more": 1 }'), 'unknown field "more"'],
    [route('{ "operations": ["x"], "scopes": [], "behind": ["y"] }'), 'behind: it has operations'],
    [route('{ "unguarded": null, "behind": "y" }'), 'behind: pass a list of strings'],
    [
      TEXT.replace('    "GET /me"', '    "GET /me": {},\n    "GET /me"'),
      'a name twice in one object',
    ],
    [route('{ "operations": ["x"], "operations": ["y"], "scopes": [] }'), 'a name twice'],
    ['{ "version": 1, "scopes": { "a:b": "open", "a:b" : "reserved" }, "routes": {} }', 'twice'],
  ])('says what to do: %s', (text, instead) => {
    expect(complaint(() => parseLock(text))).toContain(instead);
  });
});
