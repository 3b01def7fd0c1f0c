/** Routes of real Hono apps. */
import fc from 'fast-check';
import type { MiddlewareHandler } from 'hono';
import { Hono } from 'hono';
import { TrieRouter } from 'hono/router/trie-router';
import { expect, test } from 'vitest';
import { createGuard } from '../../../examples/hono/adapter.ts';
import { routesOf } from '../../../src/tools/lock/index.js';
import { guarding } from '../../support/guarded.ts';
import { linesOf } from '../../support/route-lines.ts';
import { expectAgreement, expectSame, type Node, treesOf } from '../../support/route-trees.ts';
import { runs } from '../../support/runs.ts';

const guard = createGuard(guarding);
const answer = () => new Response('done');
const pass: MiddlewareHandler = (_c, next) => next();

test('lists each method of a route with the guards in front of its handler', () => {
  const app = new Hono();
  app.get('/a', guard('one'), answer);
  app.post('/a', pass, guard('two'), pass, answer);
  app.on(['PUT', 'PURGE'], ['/a', '/b'], guard('one'), guard('two'), pass);
  app.delete('/a', answer);
  app.all('/c', guard('one'), answer);
  expect(linesOf(app)).toEqual([
    'DELETE /a:',
    'GET /a: one',
    'POST /a: two',
    'PURGE /a: one two',
    'PUT /a: one two',
    'PURGE /b: one two',
    'PUT /b: one two',
    'ALL /c: one',
  ]);
});

test('counts guards that were declared before, for all that a route matches', () => {
  const app = new Hono();
  app.get('/v1/before', answer);
  app.use('/v1/*', guard('one'));
  app.get('/v1', answer).get('/v1/a/:id', guard('two'), answer).get('/:any/b', answer);
  app.get('/v2/:id', answer).get('/v2/:id{.+}', answer).get('/v2/', answer);
  app.use('/v3/:id', guard('one')).get('/v3/:id', answer).get('/v3/:id{.+}', answer);
  app.get('/v3/', answer).get('/v3/x', answer).get('/v3/:id?', answer).get('/v3/x/y', answer);
  app.use('/v4/*/x', guard('one')).get('/v4/a/x', answer);
  app.use(guard('three')).get('/w', answer).get('/w/*', answer);
  expect(linesOf(app)).toEqual([
    'GET /:any/b:',
    'GET /v1: one',
    'GET /v1/a/:id: one two',
    'GET /v1/before:',
    'GET /v2/:',
    'GET /v2/:id:',
    'GET /v2/:id{.+}:',
    'GET /v3/:',
    'GET /v3/:id: one',
    'GET /v3/:id?:',
    'GET /v3/:id{.+}:',
    'GET /v3/x: one',
    'GET /v3/x/y:',
    'GET /v4/a/x:',
    'GET /w: three',
    'GET /w/*: three',
  ]);
});

test('lists the routes of apps within apps, whether or not they have an onError', () => {
  const plain = new Hono().get('/a', guard('one'), answer);
  const own = new Hono().use(guard('two')).get('/b', pass, answer);
  own.onError(() => new Response());
  const app = new Hono().basePath('/v1');
  app.route('/x', plain).route('/y', new Hono().route('/z', own)).get('/c', answer);
  expect(linesOf(app)).toEqual(['GET /v1/c:', 'GET /v1/x/a: one', 'GET /v1/y/z/b: two']);
});

test('lists what is mounted as one route, and middleware as none', () => {
  const app = new Hono().use(pass).use('/s/*', pass).all('/p', pass);
  app.mount('/m', answer).use('/n/*', guard('one')).mount('/n', answer);
  expect(linesOf(app)).toEqual(['ALL /m/*:', 'ALL /n/*: one']);
});

test('takes no function for a guard, and no answer for middleware', () => {
  const app = new Hono();
  app.get('/a', answer, guard('one'), answer);
  app.get('/b', guard('one'));
  app.get('/c', (c, next) => guard('one')(c as never, next), answer);
  expect(linesOf(app)).toEqual(['GET /a:', 'GET /a: one', 'GET /c:']);
});

test('refuses what is not like version 4', () => {
  const app = Object.assign(new Hono(), { routes: [{ path: '/a' }] });
  expect(() => routesOf(app)).toThrow('of Hono it takes version 4; upgrade, or pass a table');
});

const trees = treesOf({
  routes: ['/r_#', '/:p_#', '/a/r_#', '/a/:p_#{[ab]}', '/:p/r_#', '/:p_#{.+}', '/a/:p_#?'],
  guards: ['*', '/a', '/a/*', '/:p', '/a/:p', '/*/a', '/:p/*'],
  guardRoutes: ['/a', '/a/:p', '/*', '/:p/*', '/:p?'],
  branches: ['/', '/a', '/:q', '/b', '/A', '/b/:q'],
});

function build(app: Hono, nodes: readonly Node[], next: () => number): Hono {
  for (const node of nodes) {
    const { path } = node;
    if (node.kind === 'guard') app.use(path, guard('one'));
    else if (node.kind === 'guard route') app.get(path, guard('two'));
    else if (node.kind === 'branch') {
      app.route(path.replace('#', `${next()}`), build(new Hono(), node.children, next));
    } else {
      const number = next();
      const own = node.own ? [guard('three')] : [];
      const answerIt = () => new Response(null, { headers: { 'x-route': `${number}` } });
      const at = [path.replace('#', `${number}`)];
      app.on([node.method.toUpperCase()], at, ...own, answerIt);
    }
  }
  return app;
}

const sendTo = (app: Hono) => async (method: string, url: string) => {
  const response = await app.request(`http://localhost${url}`, { method });
  const route = response.headers.get('x-route');
  return route === null ? `${response.status}` : `route ${route}`;
};

test.each([true, false])(
  'lists no guard that a request can get past, strict: %s',
  async (strict) => {
    await fc.assert(
      fc.asyncProperty(trees, async (nodes) => {
        let count = 0;
        const app = build(new Hono({ strict, router: new TrieRouter() }), nodes, () => count++);
        await expectAgreement(routesOf(app), async (method, url) => {
          const response = await app.request(`http://localhost${url}`, { method });
          const route = response.headers.get('x-route');
          return route === null ? `${response.status}` : `route ${route}`;
        });
      }),
      { numRuns: runs(100) },
    );
  },
);

const separate = treesOf({
  routes: ['/r_#', '/a/r_#', '/:p/r_#'],
  guards: ['*'],
  guardRoutes: ['/*'],
  branches: ['/', '/b_#', '/:p/b_#'],
});

test('lists a guard exactly where a request meets one', async () => {
  await fc.assert(
    fc.asyncProperty(separate, async (nodes) => {
      let count = 0;
      const app = build(new Hono(), nodes, () => count++);
      await expectSame(routesOf(app), sendTo(app));
    }),
    { numRuns: runs(100) },
  );
});
