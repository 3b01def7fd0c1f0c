/** `routesOf` on real Hono apps. */
import type { MiddlewareHandler } from 'hono';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { createGuard } from '../../../examples/hono/adapter.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';

const guard = createGuard(guarding);
const answer = () => new Response('done');
const pass: MiddlewareHandler = (_c, next) => next();

test('lists each method and path with the guards that come first', () => {
  const app = new Hono();
  app.get('/a', guard('one'), answer);
  app.post('/a', pass, guard('two'), answer);
  app.on(['PUT', 'PURGE'], ['/a', '/b'], guard('one'), guard('two'), pass);
  app.delete('/a', answer);
  app.all('/c', guard('one'), answer);
  expect(linesOf(app)).toEqual([
    'DELETE /a:',
    'GET /a: one',
    'POST /a: (two)',
    'PURGE /a: one two',
    'PUT /a: one two',
    'PURGE /b: one two',
    'PUT /b: one two',
    'ALL /c: one',
  ]);
});

test('does not count guards of other paths or methods, but lists them as hints', () => {
  const app = new Hono();
  app.get('/v1/before', answer);
  app.use('/v1/*', guard('one'));
  app.get('/v1', answer).get('/v1/a/:id', guard('two'), answer).get('/v1/b', answer);
  app.use('/v2', guard('three')).get('/v2', answer).get('/v2/c', answer);
  app.get('/w', guard('one')).get('/w', answer).get('/x', answer).get('/x', guard('one'), answer);
  app.use(guard('two')).get('/y', answer);
  expect(linesOf(app)).toEqual([
    'ALL /*: two',
    'GET /v1: (one)',
    'ALL /v1/*: one',
    'GET /v1/a/:id: two',
    'GET /v1/b: (one)',
    'GET /v1/before:',
    'ALL /v2: three',
    'GET /v2: (three)',
    'GET /v2/c:',
    'GET /w: one',
    'GET /x: (one)',
    'GET /y: (two)',
  ]);
});

test('lists the routes of nested apps with and without onError', () => {
  const plain = new Hono().get('/a', guard('one'), answer);
  const own = new Hono().get('/b', guard('two'), pass, answer).get('/d', answer);
  own.onError(() => new Response());
  const outer = new Hono().route('/z', own).onError(() => new Response());
  const app = new Hono().basePath('/v1');
  app.route('/x', plain).route('/y', outer).get('/c', answer);
  expect(linesOf(app)).toEqual([
    'GET /v1/c:',
    'GET /v1/x/a: one',
    'GET /v1/y/z/b: two',
    'GET /v1/y/z/d:',
  ]);
});

test('lists middleware and mounted apps, which Hono stores as handlers of ALL', () => {
  const app = new Hono().use(pass).all('/p', (c, _next) => Promise.resolve(c.text('done')));
  app.mount('/m', answer).use('/n/*', guard('one')).mount('/n', answer);
  expect(linesOf(app)).toEqual(['ALL /*:', 'ALL /m/*:', 'ALL /n/*: one', 'ALL /p:']);
});

test('does not count wrapped guards or Proxies', () => {
  const app = new Hono();
  app.get('/a', answer, guard('one'), answer);
  app.get('/b', guard('one'));
  app.get('/c', (c, next) => guard('one')(c as never, next), answer);
  app.get('/d', new Proxy(guard('one'), {}) as MiddlewareHandler, answer);
  expect(linesOf(app)).toEqual(['GET /a: (one)', 'GET /b: one', 'GET /c:', 'GET /d:']);
});

test('rejects apps that do not look like Hono 4', () => {
  const usage = 'routesOf: this is not a plain Hono 4 app';
  for (const routes of [undefined, [null], [{ path: '/a' }], [{ path: '/a', method: 'GET' }]]) {
    expect(() => routesOf(Object.assign(new Hono(), { routes }))).toThrow(usage);
  }
  expect(() => routesOf(new Proxy(new Hono(), {}))).toThrow(usage);
});

// Regression: the reason for a logger silently covered a handler that was added later.
test('counts the handlers of a row without a guard', () => {
  const app = new Hono().use(async (_c, next) => next());
  const before = routesOf(app).map(({ handlers }) => handlers);
  app.all('*', (c) => c.text('done'));
  expect([before, routesOf(app).map(({ handlers }) => handlers)]).toEqual([[undefined], [2]]);
});
