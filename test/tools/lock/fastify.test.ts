/** `routesOf` on real Fastify apps. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance } from 'fastify';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { createGuard } from '../../../examples/fastify/adapter.ts';
import { recordRoutes, routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';

const guard = createGuard(guarding);
const answer = async () => 'done';

function recorded(): FastifyInstance {
  const app = fastify();
  recordRoutes(app);
  return app;
}

test('lists each route with the guards that come first among its hooks', async () => {
  const app = recorded();
  app.get('/a', { onRequest: guard('one') }, answer);
  app.post('/a', { preHandler: [guard('one')], preParsing: async () => {} }, answer);
  app.put('/a', { preHandler: guard('one'), preValidation: guard('two') }, answer);
  app.route({ method: ['PATCH', 'DELETE'], url: '/b/:id', handler: answer });
  app.head('/c', { onRequest: guard('one') }, answer);
  app.get('/c', { onRequest: guard('two') }, answer);
  app.get('/d', { onSend: async () => {}, exposeHeadRoute: false }, answer);
  app.all('/f*', { onRequest: [guard('one'), async () => {}] }, answer);
  await app.ready();
  expect(linesOf(app)).toEqual([
    'GET /a: one',
    'POST /a: (one)',
    'PUT /a: two one',
    'DELETE /b/:id:',
    'PATCH /b/:id:',
    'GET /c: two',
    'HEAD /c: one',
    'GET /d:',
    'ALL /f*: one',
  ]);
});

test('does not count guards in plugin hooks, but lists them as hints', async () => {
  const app = recorded();
  await app.register(
    async (plugin) => {
      plugin.get('/', answer);
      plugin.addHook('onRequest', guard('one'));
      plugin.get('/a', { onRequest: guard('two') }, answer);
      plugin.register(async (inner) => void inner.get('/b', answer), { prefix: '/in' });
    },
    { prefix: '/v1' },
  );
  app.get('/', answer);
  app.addHook('onRoute', (options) => {
    if (options.url === '/late') Object.assign(options, { preHandler: [guard('three')] });
  });
  app.get('/late', answer);
  await app.ready();
  expect(linesOf(app)).toEqual([
    'GET /:',
    'GET /late: three',
    'GET /v1: (one)',
    'GET /v1/a: two',
    'GET /v1/in/b: (one)',
  ]);
});

test('counts a guard only if all hosts of a route have it', async () => {
  const app = recorded();
  app.get('/a', { onRequest: guard('one'), constraints: { host: 'a.example' } }, answer);
  app.get('/a', { constraints: { host: 'b.example' } }, answer);
  app.get('/b', { onRequest: guard('one'), exposeHeadRoute: false }, answer);
  app.head('/b', { onRequest: guard('one'), constraints: { host: 'a.example' } }, answer);
  app.head('/b', { constraints: { host: 'b.example' } }, answer);
  await app.ready();
  expect(linesOf(app)).toEqual(['GET /a: (one)', 'GET /b: one', 'HEAD /b: (one)']);
});

test('keeps the routes of different apps separate, and records each app once', async () => {
  const app = recorded();
  recordRoutes(app);
  app.get('/a', answer);
  await app.ready();
  expect(linesOf(app)).toEqual(['GET /a:']);
  const other = recorded();
  await other.ready();
  expect(linesOf(other)).toEqual([]);
});

test('rejects apps that were not recorded, were recorded too late, or are not ready', async () => {
  const app = fastify();
  const first = 'Call recordRoutes(app) right after fastify(), before the first route or plugin';
  expect(() => routesOf(app)).toThrow(`routesOf: no routes were recorded for this app. ${first}`);
  app.get('/a', answer);
  const late = 'recordRoutes: the app already has routes or plugins.';
  expect(() => recordRoutes(app)).toThrow(`${late} ${first}`);
  const older = Object.defineProperty(fastify(), 'version', { value: '4.29.0' });
  for (const other of [{} as FastifyInstance, older]) {
    expect(() => recordRoutes(other)).toThrow('recordRoutes: not a Fastify 5 app');
  }
  expect(() => routesOf(recorded())).toThrow('Await app.ready() first');
});

test('can record an app without changing its code, using the diagnostics channel', async () => {
  const record = (message: unknown) => {
    recordRoutes((message as { fastify: FastifyInstance }).fastify);
  };
  subscribe('fastify.initialization', record);
  const app = fastify();
  unsubscribe('fastify.initialization', record);
  app.get('/a', answer);
  await app.ready();
  expect(linesOf(app)).toEqual(['GET /a:']);
});

test('lists no hints if Fastify hides the hooks of a plugin', async () => {
  const app = recorded();
  app.addHook('onRequest', guard('one'));
  app.get('/a', answer);
  await app.ready();
  const symbols = Object.getOwnPropertySymbols(app);
  const key = symbols.find(({ description }) => description === 'fastify.hooks');
  expect(linesOf(app)).toEqual(['GET /a: (one)']);
  Reflect.deleteProperty(app, key as symbol);
  expect(linesOf(app)).toEqual(['GET /a:']);
});

// Regression: Fastify copies the hooks of a route once. Later ones were listed, but never ran.
test('does not count a guard that is added after Fastify has copied the hooks', async () => {
  const app = recorded();
  const routes: { onRequest?: unknown }[] = [];
  app.addHook('onRoute', (options) => void routes.push(options));
  app.get('/a', answer);
  app.addHook('onReady', async () => {
    for (const options of routes) options.onRequest = guard('one');
  });
  await app.ready();
  for (const options of routes) options.onRequest = [guard('two')];
  expect((await app.inject('/a')).statusCode).toBe(200);
  expect(linesOf(app)).toEqual(['GET /a:']);
});

test('rejects an app in which a hook moves a route', async () => {
  const moves: readonly Readonly<Record<string, unknown>>[] = [
    { url: '/b' },
    { method: ['GET', 'DELETE'] },
  ];
  for (const move of moves) {
    const app = recorded();
    app.addHook('onRoute', (options) => void Object.assign(options, move));
    app.get('/a', { exposeHeadRoute: false }, answer);
    await app.ready();
    expect(() => routesOf(app)).toThrow('a hook changed the method or url of a route');
  }
});

test('rejects an app that already has a plugin', async () => {
  const app = fastify();
  await app.register(async () => {});
  expect(() => recordRoutes(app)).toThrow('the app already has routes or plugins');
});

// Regression: it dropped the trailing slash of another route, and a HEAD declared by the user.
test('omits only the HEAD routes that Fastify adds', async () => {
  const app = recorded();
  app.get('/a', answer);
  app.route({ method: ['HEAD', 'DELETE'], url: '/a/', handler: answer });
  app.head('/b', async () => 'another');
  app.get('/b', answer);
  app.register(async (plugin) => void plugin.get('/', { onRequest: guard('one') }, answer), {
    prefix: '/c',
  });
  await app.ready();
  const lines = ['GET /a:', 'DELETE /a/:', 'HEAD /a/:', 'GET /b:', 'HEAD /b:', 'GET /c: one'];
  expect(linesOf(app)).toEqual(lines);
});

test('counts the handlers of a route without a guard on several hosts', async () => {
  const app = recorded();
  app.get('/a', { constraints: { host: 'a.example' } }, answer);
  app.get('/a', { constraints: { host: 'b.example' } }, async () => 'another');
  await app.ready();
  expect(routesOf(app).map(({ handlers }) => handlers)).toEqual([2]);
});
