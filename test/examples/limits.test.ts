/** The recipe for rate limits, on a real server: a limiter next to keyscope counts each key. */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { count, issueKey, type LimitedServer, startLimited } from '../support/rate-limit.ts';

describe('a limit of 10 requests a minute for each key', () => {
  const options = { points: 10, duration: 60 };
  let limiter: RateLimiterMemory;
  let server: LimitedServer;
  beforeEach(async () => {
    limiter = new RateLimiterMemory(options);
    server = await startLimited(limiter);
  });
  afterEach(() => server.stop());

  it('lets 10 of 100 simultaneous requests pass, and tells the others when to retry', async () => {
    const { key } = await issueKey();
    const answers = await server.ask(100, key);
    expect(count(answers)).toEqual({ 200: 10, 429: 90 });
    for (const { status, retryAfter } of answers) {
      if (status === 200) expect(retryAfter).toBeNull();
      else
        expect(Number(retryAfter)).toSatisfy(
          (s: number) => Number.isInteger(s) && s >= 1 && s <= options.duration,
        );
    }
  });

  it('counts each key separately, even in the same entity', async () => {
    const first = await issueKey();
    const second = await issueKey();
    const [spent, fresh] = await Promise.all([
      server.ask(30, first.key),
      server.ask(10, second.key),
    ]);
    expect([count(spent), count(fresh)]).toEqual([{ 200: 10, 429: 20 }, { 200: 10 }]);
    expect((await limiter.get(first.keyId))?.consumedPoints).toBe(30);
    expect((await limiter.get(second.keyId))?.consumedPoints).toBe(10);
  });

  it('does not count requests that the guard refuses', async () => {
    const { key } = await issueKey();
    const powerless = await issueKey([]);
    expect(count(await server.ask(20, `${key}x`))).toEqual({ 401: 20 });
    expect(count(await server.ask(20, powerless.key))).toEqual({ 403: 20 });
    expect(await limiter.get(powerless.keyId)).toBeNull();
    expect(count(await server.ask(11, key))).toEqual({ 200: 10, 429: 1 });
  });
});
