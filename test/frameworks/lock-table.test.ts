/** The table of docs/lock.md, for frameworks that the lock cannot read. */
import { readFileSync } from 'node:fs';
import { routesOf } from 'keyscope/lock';
import { afterEach, expect, test } from 'vitest';
import { describeInstalled } from './installed.ts';
import { overHttp } from './served.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const PAGE = readFileSync(new URL('../../docs/lock.md', import.meta.url), 'utf8');
const [, TABLE = ''] = /With Koa:\n\n```js\n([\s\S]*?)```/.exec(PAGE) ?? [];

describeInstalled('the table of the lock', () => {
  test('declares and lists the routes of Koa', async () => {
    const { default: Koa } = await import('koa');
    const { default: Router } = await import('@koa/router');
    const { createGuard } = await import('./.project/koa/adapter.ts');
    const { keyring } = await import('./.project/keys.ts');
    const router = new Router();
    const answer = (ctx: { body: unknown }) => {
      ctx.body = 'done';
    };
    const given = {
      router,
      guard: createGuard({ keyring, realm: 'acme' }),
      listProjects: answer,
      healthz: answer,
      routesOf,
    };
    const run = new Function(...Object.keys(given), `${TABLE}\nreturn routes;`);
    expect(run(...Object.values(given))).toEqual([
      { method: 'GET', path: '/healthz', operations: [] },
      { method: 'GET', path: '/projects', operations: ['listProjects'] },
    ]);
    const { url, close } = await overHttp(new Koa().use(router.routes()).callback());
    closers.push(() => close?.());
    const statuses = ['/projects', '/healthz'].map(
      async (path) => (await fetch(url + path)).status,
    );
    expect(await Promise.all(statuses)).toEqual([401, 200]);
  });

  test('shows who else may call a route of Koa, Elysia and tRPC', async () => {
    const { keyring } = await import('./.project/keys.ts');
    const koa = await import('./.project/koa/adapter.ts');
    const elysia = await import('./.project/elysia/adapter.ts');
    const trpc = await import('./.project/trpc/adapter.ts');
    const also = 'people with a session';
    const procedure = trpc.createGuard({ keyring })('listProjects', { also });
    const routes = routesOf({
      'GET /koa': koa.createGuard({ keyring })('listProjects', { also }),
      'GET /elysia': elysia.createGuard({ keyring })('listProjects', { also })(() => 'done'),
      'GET /trpc': [...procedure._middlewares],
    });
    const entry = { method: 'GET', operations: ['listProjects'], also: [also] };
    expect(routes).toEqual(['/elysia', '/koa', '/trpc'].map((path) => ({ path, ...entry })));
  });

  test('accepts a handler that carries the mark of its guard, such as one of Next', async () => {
    const route = './.project/next/app/projects/route.ts';
    const projects = (await import(/* @vite-ignore */ route)) as { readonly GET: unknown };
    const routes = routesOf({ 'GET /projects': projects.GET });
    expect(routes).toEqual([{ method: 'GET', path: '/projects', operations: ['listProjects'] }]);
  });
});
