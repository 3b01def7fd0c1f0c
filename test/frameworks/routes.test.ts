/** Routes of the frameworks that are installed here alone, and the marks of their guards. */
import type { Middleware } from 'koa';
import { expect, test } from 'vitest';
import { routesOf } from '../../src/tools/lock/index.js';
import { describeInstalled, FRAMEWORKS } from './installed.ts';
import { overHttp } from './served.ts';

const THREATS = [{ method: 'GET', path: '/threats', operations: ['listThreats'] }];

/** What a guard needs; nobody asks it anything here. */
async function guardFor(framework: keyof typeof FRAMEWORKS) {
  const { createGuard } = await FRAMEWORKS[framework]();
  const { keyring, policy } = await import('./.project/keys.ts');
  return createGuard({ keyring, policy, realm: 'test' });
}

describeInstalled('routesOf', () => {
  test('lists the examples', async () => {
    const koa = await import('./.project/koa/server.ts');
    expect(routesOf(koa.app)).toEqual(THREATS);
    const elysia = await import('./.project/elysia/server.ts');
    expect(routesOf(elysia.app)).toEqual(THREATS);
    const nest = await import('./.project/nest/server.ts');
    const app = await nest.createApp();
    expect(routesOf(app)).toEqual(THREATS);
    await app.close();
  });

  test('lists routers of Koa', async () => {
    const { default: Router } = await import('@koa/router');
    const { default: Koa } = await import('koa');
    const make = (await guardFor('Koa')) as (operation: string) => Middleware;
    const guard = make('listThreats');
    const answer: Middleware = (ctx) => {
      ctx.body = 'done';
    };
    const pass: Middleware = (_ctx, next) => next();
    const inner = new Router().get('/z/:id', answer).get('/y', guard, answer);
    const router = new Router({ prefix: '/p' });
    router.get('/before', answer).use(pass).use('/q', guard);
    router.get('/q/a', answer).post('/b', pass, guard, answer).all('/c', answer);
    router.get(['/m', '/n'], guard, answer).use('/in', inner.routes());
    const app = new Koa().use(pass).use(router.routes()).use(router.allowedMethods());
    const lines = linesOf(routesOf(app));
    expect(lines).toEqual([
      'POST /p/b: listThreats',
      'GET /p/before:',
      'ALL /p/c:',
      'GET /p/in/y: listThreats',
      'GET /p/in/z/:id:',
      'GET /p/m: listThreats',
      'GET /p/n: listThreats',
      'GET /p/q/a: listThreats',
    ]);
    expect(linesOf(routesOf(router))).toEqual(lines);
    const guarded = new Koa().use(guard).use(router.routes());
    expect(routesOf(guarded).filter(({ operations }) => operations.length === 0)).toEqual([]);
    // The router writes a prefix as an expression that /P/a does not match, and the route does.
    const prefixed = new Router({ prefix: '/p' }).use(guard).get('/a', answer);
    expect(linesOf(routesOf(prefixed))).toEqual(['GET /p/a:']);
    const { url, close } = await overHttp(new Koa().use(prefixed.routes()).callback());
    expect((await fetch(`${url}/p/a`)).status).toBe(401);
    expect((await fetch(`${url}/P/a`)).status).toBe(200);
    await close?.();
    expect(linesOf(routesOf(new Router().use(guard).get('/a', answer)))).toEqual([
      'GET /a: listThreats',
    ]);
  });

  test('lists plugins of Elysia', async () => {
    const { Elysia } = await import('elysia');
    const make = (await guardFor('Elysia')) as (
      operation: string,
    ) => (handler: () => string) => () => Promise<string>;
    const answer = () => 'done';
    const guarded = make('listThreats')(answer);
    const plugin = new Elysia({ prefix: '/sub' }).get('/a', guarded);
    plugin.group('/g', (group) => group.post('/b/:id', guarded));
    const app = new Elysia().use(plugin).all('/c', answer).get('/d', 'static');
    app.mount('/m', () => new Response());
    expect(linesOf(routesOf(app))).toEqual([
      'ALL /c:',
      'GET /d:',
      'ALL /m:',
      'ALL /m/*:',
      'GET /sub/a: listThreats',
      'POST /sub/g/b/:id: listThreats',
    ]);
    const late = new Elysia().use(Promise.resolve({ default: plugin }));
    expect(() => routesOf(late)).toThrow('await app.modules before');
    await late.modules;
    expect(routesOf(late).length).toBe(2);
  });

  test.each([false, true])('lists modules of Nest, with a guard of all: %s', async (isGlobal) => {
    const { createTree } = await import('./nest-tree.ts');
    const mark = Symbol.for('keyscope.operation');
    const guard = (name: string) => ({ canActivate: () => false, [mark]: name });
    const app = await createTree(guard, isGlobal);
    const all = isGlobal ? ' ofApp' : '';
    await app.init();
    expect(linesOf(routesOf(app))).toEqual([
      `ALL /v1/b:${all}`,
      `GET /v1/b/x:${all}`,
      `ALL /v1/c:${all}`,
      `GET /v1/c/x:${all}`,
      `GET /v1/in/a:${all} ofController`,
      `POST /v1/in/a/:id:${all} ofController ofHandler`,
      `POST /v1/in/a/by/:name:${all} ofController ofHandler`,
      `GET /v1/in/a/inherited:${all} ofController`,
    ]);
    // What Nest has declared on Express, whose guards are within its handlers.
    const paths = (routes: ReturnType<typeof routesOf>) =>
      routes.map(({ method, path }) => `${method} ${path}`);
    const declared = paths(routesOf(app.getHttpAdapter().getInstance()));
    const notFound = 'ALL /v1*path';
    expect(paths(routesOf(app))).toEqual(declared.filter((route) => route !== notFound));
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    expect((await fetch(`${url}/v1/in/a`)).status).toBe(403);
    expect((await fetch(`${url}/v1/b/x`)).status).toBe(isGlobal ? 403 : 200);
    await app.close();
  });

  test('lists procedures of tRPC', async () => {
    const { initTRPC } = await import('@trpc/server');
    const make = (await guardFor('tRPC')) as (operation: string) => never;
    const t = initTRPC.context<object>().create();
    const guarded = t.procedure.use(make('listThreats'));
    const inner = t.router({ b: guarded.mutation(() => 1), c: t.procedure.query(() => 1) });
    const router = t.router({ a: guarded.query(() => 1), inner });
    expect(linesOf(routesOf(router))).toEqual([
      'QUERY a: listThreats',
      'MUTATION inner.b: listThreats',
      'QUERY inner.c:',
    ]);
  });
});

function linesOf(routes: ReturnType<typeof routesOf>): readonly string[] {
  return routes.map(({ method, path, operations }) =>
    `${method} ${path}: ${operations.join(' ')}`.trimEnd(),
  );
}
