/** The CORS recipe with the real packages, in front of the guards of three frameworks. */
import { createServer, type RequestListener, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import express, { type Express } from 'express';
import { type FastifyInstance, fastify } from 'fastify';
import { Hono } from 'hono';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createGuard as expressGuard } from '../../examples/express/adapter.ts';
import { createGuard as fastifyGuard } from '../../examples/fastify/adapter.ts';
import { type Guarded, createGuard as honoGuard } from '../../examples/hono/adapter.ts';
import { close, listen } from '../examples/http-harness.ts';
import { AUTHORITY, PLAIN, type Ring, setUp } from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

interface Printed {
  onExpress(app: Express): unknown;
  onFastify(app: FastifyInstance): Promise<unknown>;
  onHono(app: Hono<Guarded>): unknown;
}

const APP = 'https://app.example';
const STRANGERS = ['https://stranger.example', 'null', `${APP}:8443`, 'http://app.example'];

let printed: Printed;

const APPS = {
  async express(keyring: Ring): Promise<RequestListener> {
    const app = express();
    printed.onExpress(app);
    const guard = expressGuard({ keyring });
    app.get('/threats', guard('list'), (_req, res) => void res.send('rows'));
    app.delete('/threats', guard('remove'), (_req, res) => void res.send('gone'));
    return app;
  },
  async fastify(keyring: Ring): Promise<RequestListener> {
    const app = fastify();
    await printed.onFastify(app);
    const guard = fastifyGuard({ keyring });
    app.get('/threats', { onRequest: guard('list') }, async () => 'rows');
    app.delete('/threats', { onRequest: guard('remove') }, async () => 'gone');
    await app.ready();
    return (req, res) => app.routing(req, res);
  },
  async hono(keyring: Ring): Promise<RequestListener> {
    const app = new Hono<Guarded>();
    printed.onHono(app);
    const guard = honoGuard({ keyring });
    app.get('/threats', guard('list'), (c) => c.text('rows'));
    app.delete('/threats', guard('remove'), (c) => c.text('gone'));
    return getRequestListener(app.fetch);
  },
};

describe.each(Object.keys(APPS) as (keyof typeof APPS)[])('CORS on %s', (name) => {
  let recipes: Recipes;
  beforeAll(async () => {
    recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['cors.ts']);
    printed = (await recipes.load('cors.ts')) as Printed;
  });
  afterAll(() => recipes.remove());
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) await close(server);
  });

  async function start() {
    const { keyring, events } = setUp();
    const { key } = await keyring.issue(PLAIN, AUTHORITY);
    const server = createServer(await APPS[name](keyring));
    servers.push(server);
    const port = await listen(server);
    const ask = (headers: Record<string, string>, method = 'GET') =>
      fetch(`http://127.0.0.1:${port}/threats`, { method, headers });
    events.length = 0;
    return { ask, key, events };
  }

  /** A browser's request before it sends a key. It carries none. */
  const preflight = (origin: string, method = 'DELETE') => ({
    Origin: origin,
    'Access-Control-Request-Method': method,
    'Access-Control-Request-Headers': 'authorization',
  });
  const namesIn = (list: string | null) => (list ?? '').split(',').map((word) => word.trim());
  const of = (response: Response, what: string) => response.headers.get(`Access-Control-${what}`);

  test('answers a preflight without a key and without calling the guard', async () => {
    const { ask, events } = await start();
    const asked = await ask(preflight(APP), 'OPTIONS');
    expect([asked.status, await asked.text()]).toEqual([204, '']);
    expect(of(asked, 'Allow-Origin')).toBe(APP);
    expect(namesIn(of(asked, 'Allow-Headers'))).toEqual(['Authorization', 'Content-Type']);
    expect(namesIn(of(asked, 'Allow-Methods'))).toContain('DELETE');
    expect(of(asked, 'Max-Age')).toBe('600');
    expect(of(asked, 'Allow-Credentials')).toBeNull();
    expect(namesIn(asked.headers.get('Vary'))).toContain('Origin');
    expect(events).toEqual([]);
  });

  test('treats a preflight with a key as a preflight', async () => {
    const { ask, key, events } = await start();
    const headers = { ...preflight(APP), Authorization: `Bearer ${key}` };
    expect(await (await ask(headers, 'OPTIONS')).text()).toBe('');
    expect(events).toEqual([]);
  });

  test('lets a script send its key and read the answer', async () => {
    const { ask, key } = await start();
    const answer = await ask({ Origin: APP, Authorization: `Bearer ${key}` });
    expect([answer.status, await answer.text()]).toEqual([200, 'rows']);
    expect(of(answer, 'Allow-Origin')).toBe(APP);
    expect(of(answer, 'Allow-Credentials')).toBeNull();
    expect(answer.headers.get('Cache-Control')).toBe('no-store');
    expect(namesIn(answer.headers.get('Vary'))).toContain('Origin');
  });

  test('lets a script read why it was refused', async () => {
    const { ask, key } = await start();
    const refused = [
      [await ask({ Origin: APP }), 401],
      [await ask({ Origin: APP, Authorization: `Bearer ${key}x` }), 401],
      [await ask({ Origin: APP, Authorization: `Bearer ${key}` }, 'DELETE'), 403],
    ] as const;
    for (const [answer, status] of refused) {
      expect(answer.status).toBe(status);
      expect(answer.headers.get('WWW-Authenticate')).toMatch(/^Bearer realm="acme"/);
      expect(of(answer, 'Allow-Origin')).toBe(APP);
      expect(namesIn(of(answer, 'Expose-Headers'))).toEqual(['WWW-Authenticate', 'Retry-After']);
      expect(answer.headers.get('Cache-Control')).toBe('no-store');
      expect(namesIn(answer.headers.get('Vary'))).toContain('Origin');
    }
  });

  test.each(STRANGERS)('keeps other origins out: %s', async (origin) => {
    const { ask, key } = await start();
    expect(of(await ask(preflight(origin), 'OPTIONS'), 'Allow-Origin')).toBeNull();
    const answer = await ask({ Origin: origin, Authorization: `Bearer ${key}` });
    expect(of(answer, 'Allow-Origin')).toBeNull();
    expect(namesIn(answer.headers.get('Vary'))).toContain('Origin');
  });

  test('changes nothing for requests without an origin', async () => {
    const { ask, key } = await start();
    const answer = await ask({ Authorization: `Bearer ${key}` });
    expect([answer.status, of(answer, 'Allow-Origin')]).toEqual([200, null]);
    expect(namesIn(answer.headers.get('Vary'))).toContain('Origin');
  });
});
