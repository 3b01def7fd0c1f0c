/** `routesOf` on tables and lists of routes. */
import { defineGuard } from 'keyscope';
import { expect, test } from 'vitest';
import { createGuard as createCustomGuard } from '../../../examples/custom-adapter/adapter.ts';
import { createGuard } from '../../../examples/more/fetch/adapter.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';

const guard = createGuard(guarding);
const define = defineGuard(guarding);
const answer = () => new Response();

test('reads a table of operations', () => {
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

test('reads a list of guards, as some frameworks keep it, in the order in which they run', () => {
  const one = { canActivate: answer, ...define('one', { also: 'people with a session' }).mark };
  const two = Object.assign(() => {}, define('two').mark);
  const table = {
    'GET /a': [one, two],
    'GET /b': [answer, one],
    'GET /c': [{ answer }],
    'GET /d': [],
  };
  expect(routesOf(table)).toEqual([
    { method: 'GET', path: '/a', operations: ['one', 'two'], also: ['people with a session'] },
    { method: 'GET', path: '/b', operations: [], behind: ['one'] },
    { method: 'GET', path: '/c', operations: [] },
    { method: 'GET', path: '/d', operations: [] },
  ]);
});

test('reads who else may call a route', () => {
  const people = 'people with a session';
  const list = [
    { method: 'GET', path: '/a', operations: ['one'], also: [people, 'jobs', people] },
    { method: 'GET', path: '/b', operations: [], also: [people] },
    { method: 'GET', path: '/c', operations: ['one'], also: [people] },
    { method: 'GET', path: '/c', operations: ['one'], also: ['jobs'] },
    { method: 'GET', path: '/d', operations: ['one'], also: [] },
    { method: 'GET', path: '/d', operations: ['one'], also: ['jobs'] },
    { method: 'GET', path: '/e', operations: ['one'], also: ['jobs'] },
    { method: 'GET', path: '/e', operations: [] },
  ];
  const routes = routesOf(list);
  expect(routes.map(({ path, also }) => [path, also])).toEqual([
    ['/a', ['jobs', people]],
    ['/b', undefined],
    ['/c', ['jobs', people]],
    ['/d', ['jobs']],
    ['/e', undefined],
  ]);
  expect(routesOf(routes)).toEqual(routes);
  expect(routes.every(({ also = Object.freeze([]) }) => Object.isFrozen(also))).toBe(true);
});

test('reads a list of routes and sorts it', () => {
  const list = [
    { method: 'POST', path: '/a', operations: [] },
    { method: 'HEAD', path: '/a', operations: ['one'] },
    { method: 'GET', path: '/a', operations: ['one', 'one'] },
    { method: 'GET', path: '/a', operations: ['one'] },
    { method: 'HEAD', path: '/b', operations: ['one'] },
    { method: 'GET', path: '/b', operations: [], behind: ['two', 'one', 'two'] },
  ];
  expect(linesOf(list)).toEqual([
    'GET /a: one',
    'HEAD /a: one',
    'POST /a:',
    'GET /b: (one two)',
    'HEAD /b: one',
  ]);
  expect(linesOf(routesOf(list))).toEqual(linesOf(list));
  const routes = routesOf(list);
  const behind = routes.flatMap((route) => (route.behind === undefined ? [] : [route.behind]));
  const operations = routes.map((route) => route.operations);
  expect([routes, ...routes, ...operations, ...behind].every(Object.isFrozen)).toBe(true);
  expect(behind).toHaveLength(1);
  expect(routesOf([])).toEqual([]);
});

test.each([
  [{}, 'the table is empty'],
  [{ GET: 'one' }, '"GET" is not a route'],
  [{ 'get /a': 'one' }, '"get /a" is not a route'],
  [{ '/a': { GET: answer } }, '"/a" is not a route'],
  [{ 'GET /a': 1 }, 'name an operation, not a value of type number'],
  [{ 'GET /a': ['one', 2] }, 'element 1: name an operation, not a value of type number'],
  [{ 'GET /a': '' }, 'name an operation, not ""'],
  [{ 'GET /a': undefined }, 'name an operation, not undefined'],
  [[null], 'element 0: pass an object'],
  [[{ method: 'GET', path: '/a' }], 'element 0: operations: pass a list of strings'],
  [[{ method: 'get', path: '/a', operations: [] }], 'element 0 is not a route'],
  [[{ method: 'GET', path: 1, operations: [] }], 'Pass { method, path, operations }'],
  [[{ method: 'GET', path: '/a', operations: [], scopes: [] }], 'unknown field "scopes"'],
  [[{ method: 'GET', path: '/a', operations: [], behind: [''] }], 'behind: element 0: name an'],
  [[{ method: 'GET', path: '/a', operations: [], also: 'x' }], 'also: pass a list of strings'],
])('rejects %o', (table, message) => {
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
])('rejects an unsupported app: %s', (app) => {
  expect(() => routesOf(app)).toThrow('routesOf: unsupported app. Pass an Express 5 app or router');
});

test('rejects more than 100,000 routes', () => {
  const list = Array.from({ length: 100_001 }, (_, at) => {
    return { method: 'GET', path: `/${at}`, operations: [] };
  });
  expect(() => routesOf(list)).toThrow('more than 100000 routes or routers');
});
