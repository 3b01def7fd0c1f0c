/** Routes that a caller names. */
import { expect, test } from 'vitest';
import { createGuard as createCustomGuard } from '../../../examples/custom-adapter/adapter.ts';
import { createGuard } from '../../../examples/more/fetch/adapter.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';

const guard = createGuard(guarding);
const answer = () => new Response();

test('takes a table of operations', () => {
  const table = {
    'GET /b': 'one',
    'GET /a': null,
    'POST /a': ['one', 'two'],
    'TOOL readThreat': 'readThreat',
    'PUT /c': guard('one')(answer),
    'PUT /d': answer,
    'PUT /e': createCustomGuard(guarding)('two')(answer),
  };
  expect(linesOf(table)).toEqual([
    'GET /a:',
    'POST /a: one two',
    'GET /b: one',
    'PUT /c: one',
    'PUT /d:',
    'PUT /e: two',
    'TOOL readThreat: readThreat',
  ]);
});

test('takes the modules of Next, by paths or files', async () => {
  // Not compiled here: its imports are written as Next has them.
  const file: string = '../../../examples/more/next/app/threats/route.ts';
  const route: unknown = await import(file);
  const module = { GET: guard('one')(answer), POST: answer, dynamic: 'auto', helper: answer };
  const table = {
    '/threats': route,
    'app/route.ts': module,
    './src/app/(api)/@slot/threats/[id]/route.js': module,
    'src\\app\\admin\\route.tsx': module,
    '/all': guard('two')(answer),
  };
  expect(linesOf(table)).toEqual([
    'GET /: one',
    'POST /:',
    'GET /admin: one',
    'POST /admin:',
    'ALL /all: two',
    'GET /threats: listThreats',
    'GET /threats/[id]: one',
    'POST /threats/[id]:',
  ]);
});

test('takes a list of routes, and sorts it', () => {
  const list = [
    { method: 'POST', path: '/a', operations: [] },
    { method: 'HEAD', path: '/a', operations: ['one'] },
    { method: 'GET', path: '/a', operations: ['one', 'one'] },
    { method: 'GET', path: '/a', operations: ['one'] },
    { method: 'HEAD', path: '/b', operations: ['one'] },
    { method: 'GET', path: '/b', operations: [] },
  ];
  expect(linesOf(list)).toEqual(['GET /a: one', 'POST /a:', 'GET /b:', 'HEAD /b: one']);
  expect(linesOf(routesOf(list))).toEqual(linesOf(list));
  const [first] = routesOf(list);
  expect([routesOf(list), first, first?.operations].every(Object.isFrozen)).toBe(true);
  expect(routesOf([])).toEqual([]);
});

test.each([
  [{}, 'the table is empty'],
  [{ GET: 'one' }, '"GET" is no route'],
  [{ 'get /a': 'one' }, '"get /a" is no route'],
  [{ '/home/app/a/route.ts': {} }, 'is no route'],
  [{ 'GET /a': 1 }, 'pass a list of strings, not a value of type number'],
  [{ 'GET /a': '' }, 'name an operation, not ""'],
  [{ 'GET /a': undefined }, 'pass a list of strings, not undefined'],
  [{ '/a': {} }, 'this has no GET, POST'],
  [{ '/a': null }, 'this has no GET, POST'],
  [{ '/a': { get: answer } }, 'this has no GET, POST'],
  [[null], 'element 0: pass an object'],
  [[{ method: 'GET', path: '/a' }], 'element 0: operations: pass a list of strings'],
  [[{ method: 'get', path: '/a', operations: [] }], 'pass { method, path, operations }'],
  [[{ method: 'GET', path: 1, operations: [] }], 'pass { method, path, operations }'],
  [[{ method: 'GET', path: '/a', operations: [], scopes: [] }], 'unknown field "scopes"'],
])('refuses %o', (table, message) => {
  expect(() => routesOf(table)).toThrow(TypeError);
  expect(() => routesOf(table)).toThrow(message);
});

test.each([
  null,
  undefined,
  1,
  'app',
  () => {},
  new Map(),
  new (class App {})(),
  new Proxy({}, { getPrototypeOf: () => Map.prototype }),
])('refuses what it does not know: %s', (app) => {
  expect(() => routesOf(app)).toThrow(
    'routesOf: this is nothing whose routes it can list; pass an Express 5 app or router;',
  );
});

test('refuses more routes than anybody declares', () => {
  const list = Array.from({ length: 100_001 }, (_, at) => {
    return { method: 'GET', path: `/${at}`, operations: [] };
  });
  expect(() => routesOf(list)).toThrow('more than 100000 routes or routers');
});
