/** The lock file: the same service gives the same text, and invalid files are rejected. */
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

describe('formatLock', () => {
  it('writes a line for each scope and each route, sorted by path', () => {
    expect(formatLock(lock)).toBe(TEXT);
  });

  it('writes a text from which parseLock reads the same lock', () => {
    expect(parseLock(TEXT)).toEqual(lock);
    expect(formatLock(parseLock(TEXT))).toBe(TEXT);
    const bare = lockWith({ 'a:b': 'open' }, {});
    expect(parseLock(formatLock(bare))).toEqual(bare);
  });

  it('writes the same text for any order of declarations', () => {
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

  it('writes a `who` that parseLock ignores, like white space', () => {
    const rewritten = JSON.stringify(JSON.parse(TEXT.replaceAll('"who":"', '"who":"nobody and ')));
    expect(parseLock(rewritten)).toEqual(lock);
  });

  it('writes the hints of a route without a guard', () => {
    const catalog = defineScopes({ a: { b: 'Whatever.' } });
    const policy = definePolicy(catalog, { one: ['a:b'], two: [] });
    const routes = [
      { method: 'GET', path: '/a', operations: [], behind: ['two', 'one'] },
      { method: 'GET', path: '/b', operations: [], behind: ['one'], handlers: 2 },
      { method: 'GET', path: '/c', operations: ['two'], behind: ['one'] },
    ];
    const hinted = lockOf({ keyring: { policy }, routes, reasons: { 'GET /b': 'a "b": c' } });
    const text = formatLock(hinted);
    expect(text.split('\n').slice(6, 9)).toEqual([
      '    "GET /a": {"unguarded":null,"behind":["one","two"],' +
        '"who":"anyone, unless one or two before it covers it"},',
      '    "GET /b": {"unguarded":"a \\"b\\": c","behind":["one"],"handlers":2,' +
        '"who":"anyone, unless one before it covers it"},',
      '    "GET /c": {"operations":["two"],"scopes":[],"who":"any key"}',
    ]);
    expect(parseLock(text)).toEqual(hinted);
    expect(Object.isFrozen(hinted.routes.get('GET /a')?.behind)).toBe(true);
  });

  it('writes who else may call a route, and says so in `who`', () => {
    const policy = definePolicy(defineScopes({ a: { b: 'Whatever.' } }), { one: ['a:b'], two: [] });
    const routes = [
      { method: 'GET', path: '/a', operations: ['one'], also: ['people with a session'] },
      { method: 'GET', path: '/b', operations: ['two'], also: ['people', '"jobs"'] },
      { method: 'GET', path: '/c', operations: [], also: ['people'] },
    ];
    const opened = lockOf({ keyring: { policy }, routes, reasons: { 'GET /c': 'why' } });
    const text = formatLock(opened);
    expect(text.split('\n').slice(6, 9)).toEqual([
      '    "GET /a": {"operations":["one"],"scopes":["a:b"],"also":["people with a session"],' +
        '"who":"keys with a:b, and people with a session"},',
      '    "GET /b": {"operations":["two"],"scopes":[],"also":["\\"jobs\\"","people"],' +
        '"who":"any key, and \\"jobs\\", and people"},',
      '    "GET /c": {"unguarded":"why","who":"anyone"}',
    ]);
    expect(parseLock(text)).toEqual(opened);
    expect(Object.isFrozen(opened.routes.get('GET /a')?.also)).toBe(true);
  });

  it('relies on the frozen locks of lockOf and parseLock', () => {
    for (const each of [lock, parseLock(TEXT)]) {
      expect(Object.isFrozen(each)).toBe(true);
      expect(Object.isFrozen(each.routes.get('GET /me'))).toBe(true);
      expect(Object.isFrozen(each.scopes)).toBe(true);
    }
  });
});

describe('parseLock', () => {
  const version = TEXT.replace('"version": 1', '"version": 2');
  const route = (row: string): string => {
    return `{ "version": 1, "scopes": { "a:b": "open" }, "routes": { "GET /x": ${row} } }`;
  };
  const reasons = (row: string): string => {
    return `{ "version": 1, "scopes": {}, "routes": {}, "reasons": { "/x/*": ${row} } }`;
  };
  it.each<[string, string]>([
    ['', 'is not JSON'],
    ['{', 'is not JSON'],
    ['[]', 'file is not an object'],
    ['null', 'file is not an object'],
    [
      `<<<<<<< ours\n${TEXT}=======\n${TEXT}>>>>>>> theirs\n`,
      'has a merge conflict. Repair or delete the file, then run',
    ],
    [TEXT.replace('    "GET /me"', '<<<<<<< HEAD\n    "GET /me"'), 'has a merge conflict'],
    [version, 'is from a newer version of keyscope. Upgrade'],
    [`\ufeff${TEXT}`, 'starts with a byte order mark. Repair or delete the file'],
    [route('{ "unguarded": null, "handlers": 1 }'), 'handlers: write a whole number above 1'],
    [route('{ "unguarded": null, "handlers": "2" }'), 'handlers: write a whole number above 1'],
    [route('{ "operations": ["x"], "scopes": [], "handlers": 2 }'), 'remove handlers, because'],
    ['{}', 'has no valid version'],
    ['{ "version": 0 }', 'has no valid version'],
    ['{ "version": 1 }', 'scopes is not an object'],
    ['{ "version": 1, "scopes": {} }', 'routes is not an object'],
    ['{ "version": 1, "scopes": [], "routes": {} }', 'scopes is not an object'],
    ['{ "version": 1, "scopes": {}, "routes": {}, "more": 1 }', 'unknown field "more"'],
    ['{ "version": 1, "scopes": {}, "routes": {}, "reasons": [] }', 'reasons is not an object'],
    [reasons('1'), '"/x/*" is not an object'],
    [reasons('{ "unguarded": "why" }'), 'routes of "/x/*" is not an object'],
    [reasons('{ "unguarded": "why", "routes": { "GET /x/y": 1 } }'), '"GET /x/y" is not an'],
    [reasons('{ "routes": { "GET /x/y": {} } }'), 'unguarded'],
    [
      reasons('{ "unguarded": "why", "routes": { "GET /x/y": { "operations": ["x"] } } }'),
      'remove unguarded, because',
    ],
    ['{ "version": 1, "scopes": { "a": "open" }, "routes": {} }', 'scopes: "a"'],
    ['{ "version": 1, "scopes": { "a:*": "open" }, "routes": {} }', 'scopes: "a:*"'],
    ['{ "version": 1, "scopes": { "a:b": "shut" }, "routes": {} }', '"open" or "reserved"'],
    ['{ "version": 1, "scopes": { "a:b": null }, "routes": {} }', '"open" or "reserved"'],
    ['{ "version": 1, "scopes": {}, "routes": { "x": {} } }', 'a method and a path'],
    [route('1'), 'is not an object'],
    [route('{}'), 'unguarded'],
    [route('{ "unguarded": "" }'), 'unguarded: 1 to 500 characters'],
    [route('{ "unguarded": "x\\ny" }'), 'unguarded: no control'],
    [route('{ "unguarded": null, "scopes": [] }'), 'scopes: remove them, or add operations'],
    [route('{ "operations": [] , "scopes": [] }'), 'write "unguarded" instead of an empty list'],
    [route('{ "operations": "x" , "scopes": [] }'), 'operations'],
    [route('{ "operations": ["x"] }'), 'scopes'],
    [route('{ "operations": ["x"], "scopes": [], "also": "y" }'), 'also: pass a list of strings'],
    [route('{ "operations": ["x"], "scopes": [], "also": [""] }'), 'also: 1 to 500 characters'],
    [route('{ "operations": ["x"], "scopes": [], "also": ["a\\nb"] }'), 'also: no control'],
    [route('{ "unguarded": null, "also": ["y"] }'), 'also: remove it, or add operations'],
    [route('{ "operations": ["x"], "scopes": ["c:d"] }'), 'write scopes that the lock lists'],
    [route('{ "operations": ["x"], "scopes": [], "unguarded": "y" }'), 'remove unguarded, because'],
    [route('{ "operations": ["x"], "scopes": [], "more": 1 }'), 'unknown field "more"'],
    [route('{ "operations": ["x"], "scopes": [], "behind": ["y"] }'), 'remove behind, because'],
    [route('{ "unguarded": null, "behind": "y" }'), 'behind: pass a list of strings'],
    [
      TEXT.replace('    "GET /me"', '    "GET /me": {},\n    "GET /me"'),
      'has two rows of "GET /me", on lines 9 and 10. Repair',
    ],
    [route('{ "operations": ["x"], "operations": ["y"], "scopes": [] }'), 'a duplicate name'],
    ['{ "version": 1, "scopes": { "a:b": "open", "a:b" : "open" }, "routes": {} }', 'duplicate'],
  ])('rejects and explains: %s', (text, instead) => {
    expect(complaint(() => parseLock(text))).toContain(instead);
  });
});
