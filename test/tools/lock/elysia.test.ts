/** Routes in the shape that Elysia 1 has; test/frameworks has the real one. */
import { expect, test } from 'vitest';
import { linesOf } from '../../support/route-lines.ts';

const MARK = Symbol.for('keyscope.operation');

const methods = { handle() {}, onBeforeHandle() {}, decorate() {}, guard() {} };
const routes = [
  { method: 'GET', path: '/a', handler: Object.assign(() => {}, { [MARK]: 'one' }) },
  { method: 'ALL', path: '/b', handler: () => {} },
  { method: 'GET', path: '/c', handler: 'static' },
];

test('lists handlers that a guard returned', () => {
  const lines = ['GET /a: one', 'ALL /b:', 'GET /c:'];
  expect(linesOf({ ...methods, routes })).toEqual(lines);
  expect(linesOf({ ...methods, routes, promisedModules: { size: 0 } })).toEqual(lines);
});

test('waits for plugins', () => {
  const loading = { ...methods, routes, promisedModules: { size: 1 } };
  expect(() => linesOf(loading)).toThrow('await app.modules before');
});
