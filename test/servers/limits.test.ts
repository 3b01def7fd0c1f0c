/** The same recipe with its counts in Redis, which several instances of a service share. */
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { afterEach, expect, it } from 'vitest';
import { count, issueKey, startLimited } from '../support/rate-limit.ts';
import { deleteUnder, ioRedis } from '../support/redis-clients.ts';
import { describeOn, SERVERS } from '../support/servers.ts';

const describe = await describeOn('redis');

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
      // Longer than the test, so that on a slow machine no second window begins within it.
      duration: 3600,
    });
    const { ask, stop } = await startLimited(limiter);
    ends.push(stop, close);
    return { ask, client };
  }

  it('lets exactly 10 of 100 requests pass that come to two instances at once', async () => {
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
    // What stands in Redis are ids of keys.
    const names = await one.client.keys(`${keyPrefix}*`);
    const expected = [first, second].map(({ keyId }) => `${keyPrefix}:${keyId}`);
    expect(names.sort()).toEqual(expected.sort());
  });

  it('lets nobody pass who cannot be counted', async () => {
    const { ask, client } = await start();
    const { key } = await issueKey();
    expect(count(await ask(1, key))).toEqual({ 200: 1 });
    client.disconnect();
    expect(count(await ask(3, key))).toEqual({ 500: 3 });
  });
});
