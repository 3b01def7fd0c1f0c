/** The recipes for rate limits with counters in Redis, which the instances of a service share. */
import type { HttpBindings } from '@hono/node-server';
import { Hono, type MiddlewareHandler } from 'hono';
import { type RateLimiterAbstract, RateLimiterRedis } from 'rate-limiter-flexible';
import { afterEach, expect, it } from 'vitest';
import { count, issueKey, startLimited } from '../support/rate-limit.ts';
import { writeRecipes } from '../support/recipes.ts';
import { deleteUnder, ioRedis } from '../support/redis-clients.ts';
import { describeOn, SERVERS } from '../support/servers.ts';

const describe = await describeOn('redis');

interface Printed {
  limitFailures(
    limiter: RateLimiterAbstract,
    clientAddress: () => string,
  ): MiddlewareHandler<{ Bindings: HttpBindings }>;
}

describe('a limit of 10 requests for each key, in Redis', () => {
  const keyPrefix = `keyscope-test-${crypto.randomUUID()}`;
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await deleteUnder(SERVERS.redis, keyPrefix);
  });

  async function start() {
    const { client, close } = ioRedis(SERVERS.redis);
    const limiter = new RateLimiterRedis({
      storeClient: client,
      keyPrefix,
      points: 10,
      // Longer than the test, so that no second window begins within it on a slow machine.
      duration: 3600,
    });
    const { ask, stop } = await startLimited(limiter);
    ends.push(stop, close);
    return { ask, client };
  }

  it('admits exactly 10 of 100 simultaneous requests to two instances', async () => {
    const one = await start();
    const two = await start();
    const first = await issueKey();
    const second = await issueKey();
    const both = await Promise.all([one.ask(50, first.key), two.ask(50, first.key)]);
    const answers = both.flat();
    expect(count(answers)).toEqual({ 200: 10, 429: 90 });
    for (const { status, retryAfter } of answers) {
      if (status !== 429) continue;
      const seconds = Number(retryAfter);
      expect(Number.isInteger(seconds)).toBe(true);
      expect(seconds).toBeGreaterThanOrEqual(1);
      expect(seconds).toBeLessThanOrEqual(3600);
    }
    expect(count(await two.ask(10, second.key))).toEqual({ 200: 10 });
    // Redis stores ids of keys.
    const names = await one.client.keys(`${keyPrefix}*`);
    const expected = [first, second].map(({ keyId }) => `${keyPrefix}:${keyId}`);
    expect(names.sort()).toEqual(expected.sort());
  });

  it('rejects requests that it cannot count', async () => {
    const { ask, client } = await start();
    const { key } = await issueKey();
    expect(count(await ask(1, key))).toEqual({ 200: 1 });
    client.disconnect();
    expect(count(await ask(3, key))).toEqual({ 500: 3 });
  });
});

describe('failures by address, in Redis', () => {
  const keyPrefix = `keyscope-test-${crypto.randomUUID()}`;
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
    await deleteUnder(SERVERS.redis, keyPrefix);
  });

  /** An instance that rejects every key. */
  async function start() {
    const { client, close } = ioRedis(SERVERS.redis);
    const recipes = writeRecipes('docs/recipes.md', 'test/recipes', ['failures.ts']);
    const { limitFailures } = (await recipes.load('failures.ts')) as Printed;
    recipes.remove();
    ends.push(close);
    const limiter = new RateLimiterRedis({
      storeClient: client,
      keyPrefix,
      points: 4,
      duration: 3600,
    });
    const app = new Hono<{ Bindings: HttpBindings }>();
    app.use(limitFailures(limiter, () => '203.0.113.7'));
    app.get('/', (c) => c.text('', 401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }));
    return async () => {
      const { status, headers } = await app.request('/', {}, { incoming: {} });
      return { status, retryAfter: headers.get('Retry-After') };
    };
  }

  it('are counted by all instances, and expire', async () => {
    const one = await start();
    const two = await start();
    const answers = [await one(), await two(), await one(), await two(), await one(), await two()];
    expect(count(answers)).toEqual({ 401: 4, 429: 2 });
    const seconds = Number(answers.at(-1)?.retryAfter);
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 3600).toBe(true);
  });
});
