/** Routes of real Fastify apps. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import fc from 'fast-check';
import type { FastifyInstance } from 'fastify';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { createGuard } from '../../../examples/fastify/adapter.ts';
import { recordRoutes, routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';
import { expectAgreement, type Node, treesOf } from '../../support/route-trees.ts';
import { runs } from '../../support/runs.ts';

const guard = createGuard(guarding);
const answer = async () => 'done';

function recorded(): FastifyInstance {
  const app = fastify();
  recordRoutes(app);
  return app;
}

test('lists each route with the guards among its hooks, as they run', async () => {
  const app = recorded();
  app.get('/a', { onRequest: guard('one') }, answer);
  app.post('/a', { preHandler: [guard('one')], preParsing: async () => {} }, answer);
  app.put('/a', { preHandler: guard('one'), preValidation: guard('two') }, answer);
  app.route({ method: ['PATCH', 'DELETE'], url: '/b/:id', handler: answer });
  app.head('/c', { onRequest: guard('one') }, answer);
  app.get('/c', { onRequest: guard('two') }, answer);
  app.get('/d', { onSend: async () => {}, exposeHeadRoute: false }, answer);
  await app.ready();
  expect(linesOf(app)).toEqual([
    'GET /a: one',
    'POST /a: one',
    'PUT /a: two one',
    'DELETE /b/:id:',
    'PATCH /b/:id:',
    'GET /c: two',
    'HEAD /c: one',
    'GET /d:',
  ]);
});

test('counts hooks of plugins for the routes within', async () => {
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
    'GET /v1: one',
    'GET /v1/a: one two',
    'GET /v1/in/b: one',
  ]);
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
  expect(() => recordRoutes({} as FastifyInstance)).toThrow('recordRoutes: pass a Fastify 5 app');
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

test('lists a route without the hooks of its plugin where Fastify hides them', async () => {
  const app = recorded();
  app.addHook('onRequest', guard('one'));
  app.get('/a', { preHandler: guard('two') }, answer);
  await app.ready();
  const symbols = Object.getOwnPropertySymbols(app);
  const key = symbols.find(({ description }) => description === 'fastify.hooks');
  expect(linesOf(app)).toEqual(['GET /a: one two']);
  Reflect.deleteProperty(app, key as symbol);
  expect(linesOf(app)).toEqual(['GET /a: two']);
});

const trees = treesOf({
  routes: ['/r_#', '/:p_#', '/a/r_#', '/a/:p_#', '/r_#/*'],
  guards: ['/'],
  guardRoutes: ['/'],
  branches: ['/', '/a', '/:q', '/b'],
});

function build(app: FastifyInstance, nodes: readonly Node[], next: () => number): void {
  for (const node of nodes) {
    const { path } = node;
    if (node.kind === 'guard') app.addHook('onRequest', guard('one'));
    else if (node.kind === 'guard route') app.addHook('preHandler', guard('two'));
    else if (node.kind === 'branch') {
      app.register(async (plugin) => build(plugin, node.children, next), { prefix: path });
    } else {
      const number = next();
      const own = node.own ? { preValidation: guard('three') } : {};
      app[node.method === 'all' ? 'put' : node.method](
        // Two parameters at one place must have one name.
        path.replace(':p_#', `x_${number}/:p_${number}`).replace('#', `${number}`),
        own,
        (_request, reply) => reply.header('x-route', `${number}`).send(),
      );
    }
  }
}

test('lists no guard that a request can get past, and no route as open that has one', async () => {
  await fc.assert(
    fc.asyncProperty(trees, async (nodes) => {
      const app = recorded();
      let count = 0;
      build(app, nodes, () => count++);
      await app.ready();
      const routes = routesOf(app);
      await expectAgreement(routes, async (method, url) => {
        const { headers, statusCode } = await app.inject({ method: method as 'GET', url });
        const { 'x-route': route } = headers;
        return route === undefined ? `${statusCode}` : `route ${String(route)}`;
      });
      for (const { method, path, operations } of routes) {
        if (operations.length > 0) continue;
        const url = path.replaceAll(/:\w+|\*/g, 'x');
        const { statusCode } = await app.inject({ method: method as 'GET', url });
        expect(statusCode, `${method} ${url}`).toBe(200);
      }
    }),
    { numRuns: runs(50) },
  );
});
