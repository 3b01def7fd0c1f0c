/**
 * The recipe that counts failures by address, in front of a guard: which requests count, which
 * clients it stops, and that no header written by a client stops or admits anyone.
 */
import { createServer, type Server } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { generateKey, type KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { type RateLimiterAbstract, RateLimiterMemory } from 'rate-limiter-flexible';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createGuard, type Guarded } from '../../examples/hono/adapter.ts';
import { type ClientAddress, readClientAddress } from '../../examples/more/client-address.ts';
import { close, exchange, listen } from '../examples/http-harness.ts';
import { AUTHORITY, OTHER, PLAIN, setUp, wrap } from '../support/keyring.ts';
import { type Recipes, writeRecipes } from '../support/recipes.ts';

interface Printed {
  limitFailures(
    limiter: RateLimiterAbstract,
    clientAddress: ClientAddress,
  ): MiddlewareHandler<{ Bindings: HttpBindings }>;
}

const POINTS = 5;
const DURATION = 600;

let recipes: Recipes;
let printed: Printed;
beforeAll(async () => {
  recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['failures.ts']);
  printed = (await recipes.load('failures.ts')) as Printed;
});
afterAll(() => recipes.remove());

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server);
});

const HOME = '203.0.113.7';
const ELSEWHERE = '198.51.100.8';

async function start(more: { store?: KeyStore; limiter?: RateLimiterAbstract } = {}) {
  const limiter =
    more.limiter ?? new RateLimiterMemory({ points: POINTS, duration: DURATION, keyPrefix: '' });
  const lookUps = { count: 0 };
  const store = wrap(more.store ?? memoryStore(), (method, _args, call) => {
    if (method === 'findByDigest') lookUps.count += 1;
    return call();
  });
  const { keyring } = setUp({ store });
  const { key } = await keyring.issue(PLAIN, AUTHORITY);
  const guard = createGuard({ keyring, realm: 'error="invalid_token' });
  const app = new Hono<Guarded & { Bindings: HttpBindings }>();
  app.use(printed.limitFailures(limiter, readClientAddress('x-forwarded-for:1')));
  const entity = { entity: (c: { req: { queries(name: string): unknown } }) => c.req.queries('e') };
  app.get('/threats', guard('list', entity), (c) => c.text('rows'));
  app.get('/triage', guard('triage'), (c) => c.text('rows'));
  app.get('/free', (c) => c.text('for all'));
  app.onError((_error, c) => c.text('Something went wrong.', 500));
  const server = createServer(getRequestListener(app.fetch));
  servers.push(server);
  const port = await listen(server);

  /** Sends a request as the proxy forwards it, with the proxy's entry last. */
  async function ask(credential: string | null, address = HOME, path = '/threats', before = '') {
    const lines = credential === null ? [] : [`Authorization: Bearer ${credential}`];
    const head = [`GET ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...lines];
    head.push(`X-Forwarded-For: ${before}${address}`);
    return exchange(port, `${head.join('\r\n')}\r\n\r\n`);
  }
  async function statuses(times: number, ...[credential, ...rest]: Parameters<typeof ask>) {
    const found: number[] = [];
    for (let index = 0; index < times; index += 1) {
      found.push((await ask(credential, ...rest)).status);
    }
    return found;
  }
  return { key, ask, statuses, lookUps, limiter };
}

const stranger = () => generateKey({ prefix: 'acme' });
const all = (status: number, times: number) => Array.from({ length: times }, () => status);

describe('failures by address', () => {
  test('are allowed up to the limit, and then requests are no longer looked up', async () => {
    const { ask, statuses, lookUps } = await start();
    expect(await statuses(POINTS, stranger())).toEqual(all(401, POINTS));
    const before = lookUps.count;
    expect(before).toBe(POINTS);
    const { status, headers } = await ask(stranger());
    expect(status).toBe(429);
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['www-authenticate']).toBeUndefined();
    const seconds = Number(headers['retry-after']);
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= DURATION).toBe(true);
    expect(await statuses(20, stranger())).toEqual(all(429, 20));
    expect(lookUps.count).toBe(before);
  });

  test('also stop a good key from the same address, and no other address', async () => {
    const { key, ask, statuses } = await start();
    expect((await ask(key)).status).toBe(200);
    await statuses(POINTS, stranger());
    expect((await ask(key)).status).toBe(429);
    expect((await ask(key, HOME, '/free')).status).toBe(429);
    expect((await ask(key, ELSEWHERE)).status).toBe(200);
  });

  test('include refused keys of every kind', async () => {
    const { key, statuses } = await start();
    for (const credential of ['x', `${key}x`, stranger(), 'a.b.c', key.toUpperCase()]) {
      expect(await statuses(1, credential)).toEqual([401]);
    }
    expect(await statuses(1, key)).toEqual([429]);
  });

  test('include nothing else', async () => {
    const { key, statuses } = await start();
    expect(await statuses(20, key)).toEqual(all(200, 20));
    expect(await statuses(20, null)).toEqual(all(401, 20));
    expect(await statuses(20, 'two words')).toEqual(all(400, 20));
    expect(await statuses(20, key, HOME, '/triage')).toEqual(all(403, 20));
    expect(await statuses(20, key, HOME, `/threats?e=${OTHER}`)).toEqual(all(403, 20));
    expect(await statuses(20, key, HOME, '/nowhere')).toEqual(all(404, 20));
    expect(await statuses(1, key)).toEqual([200]);
  });

  test('do not include outages', async () => {
    const store = memoryStore();
    const { key, statuses, limiter } = await start({
      store: wrap(store, (method, _args, call) => {
        if (method === 'findByDigest') throw new Error('away');
        return call();
      }),
    });
    expect(await statuses(20, key)).toEqual(all(503, 20));
    expect(await limiter.get(HOME)).toBeNull();
  });

  test('are counted individually, even if they arrive at once', async () => {
    const { ask, limiter, key } = await start();
    const answers = await Promise.all(Array.from({ length: 30 }, () => ask(stranger())));
    const refused = answers.filter(({ status }) => status === 401);
    expect(refused.length).toBeGreaterThanOrEqual(POINTS);
    expect((await limiter.get(HOME))?.consumedPoints).toBe(refused.length);
    expect((await ask(key)).status).toBe(429);
  });
});

describe('an X-Forwarded-For header from the client', () => {
  test("yields no extra addresses, and uses up nobody else's", async () => {
    const { key, ask, statuses } = await start();
    for (let index = 0; index < POINTS; index += 1) {
      const invented = `${ELSEWHERE}, 192.0.2.${index}, `;
      expect(await statuses(1, stranger(), HOME, '/threats', invented)).toEqual([401]);
    }
    expect(await statuses(1, stranger(), HOME, '/threats', '192.0.2.99, ')).toEqual([429]);
    expect((await ask(key, ELSEWHERE)).status).toBe(200);
  });

  test('counts as one address in every spelling', async () => {
    const { ask, statuses } = await start();
    for (const spelt of ['::ffff:203.0.113.7', '::ffff:cb00:7107', HOME, HOME, `${HOME}:4711`]) {
      expect(await statuses(1, stranger(), spelt)).toEqual([401]);
    }
    expect((await ask(stranger())).status).toBe(429);
  });
});

test('a client that cannot be counted does not get in', async () => {
  const limiter = new RateLimiterMemory({ points: POINTS, duration: DURATION });
  limiter.get = () => Promise.reject(new Error('the limiter is away'));
  const { key, statuses, lookUps } = await start({ limiter });
  expect(await statuses(3, key)).toEqual(all(500, 3));
  expect(lookUps.count).toBe(0);
});
