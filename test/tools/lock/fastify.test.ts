/** Routes of real Fastify apps. */
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

test('lists each route with the guards that are first among its hooks', async () => {
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

test('counts no hook of a plugin, and hints at it', async () => {
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

test('counts of two hosts of a route what both have', async () => {
  const app = recorded();
  app.get('/a', { onRequest: guard('one'), constraints: { host: 'a.example' } }, answer);
  app.get('/a', { constraints: { host: 'b.example' } }, answer);
  app.get('/b', { onRequest: guard('one'), exposeHeadRoute: false }, answer);
  app.head('/b', { onRequest: guard('one'), constraints: { host: 'a.example' } }, answer);
  app.head('/b', { constraints: { host: 'b.example' } }, answer);
  await app.ready();
  expect(linesOf(app)).toEqual(['GET /a: (one)', 'GET /b: one', 'HEAD /b: (one)']);
});

test('keeps the routes of each app by itself, and once', async () => {
  const app = recorded();
  recordRoutes(app);
  app.get('/a', answer);
  await app.ready();
  expect(linesOf(app)).toEqual(['GET /a:']);
  const other = recorded();
  await other.ready();
  expect(linesOf(other)).toEqual([]);
});

test('refuses apps that were not recorded, not in time, or are not ready', async () => {
  const app = fastify();
  const first = 'call recordRoutes(app), right after the app is made and before its first route';
  expect(() => routesOf(app)).toThrow(`routesOf: ${first}`);
  app.get('/a', answer);
  expect(() => recordRoutes(app)).toThrow(`recordRoutes: too late; ${first}`);
  const older = Object.defineProperty(fastify(), 'version', { value: '4.29.0' });
  for (const other of [{} as FastifyInstance, older]) {
    expect(() => recordRoutes(other)).toThrow('recordRoutes: pass a Fastify 5 app');
  }
  expect(() => routesOf(recorded())).toThrow('await app.ready() before');
});

test('records the app of a service that is not changed, by the channel of Fastify', async () => {
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

test('has no hint where Fastify hides the hooks of a plugin', async () => {
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

// Fastify takes the hooks of a route once; what came later was listed, and never ran.
test('counts no guard that is put on a route once Fastify has taken its hooks', async () => {
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

test('refuses an app in which a hook moves a route', async () => {
  const moves: readonly Readonly<Record<string, unknown>>[] = [
    { url: '/b' },
    { method: ['GET', 'DELETE'] },
  ];
  for (const move of moves) {
    const app = recorded();
    app.addHook('onRoute', (options) => void Object.assign(options, move));
    app.get('/a', { exposeHeadRoute: false }, answer);
    await app.ready();
    expect(() => routesOf(app)).toThrow('a hook changes the method or the url of a route');
  }
});

test('refuses an app that has a plugin before it is recorded', async () => {
  const app = fastify();
  await app.register(async () => {});
  expect(() => recordRoutes(app)).toThrow('too late');
});

// The slash of another route was taken from it, and a HEAD of the user's own was passed over.
test('leaves out no HEAD but the one that Fastify adds', async () => {
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

test('counts the hosts of a route without a guard', async () => {
  const app = recorded();
  app.get('/a', { constraints: { host: 'a.example' } }, answer);
  app.get('/a', { constraints: { host: 'b.example' } }, async () => 'another');
  await app.ready();
  expect(routesOf(app).map(({ handlers }) => handlers)).toEqual([2]);
});
