/** Commands after a caller has given up, and commands that may delay others. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Awaitable, CallOptions, KeyStore } from 'keyscope';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { issue, OWN, setUp } from '../../support/keyring.ts';
import { outcome } from '../../support/outcome.ts';
import { connectTo, KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, useRedis } from '../../support/redis-servers.ts';

const INFO = 'redis_version:7.0.0\r\nrole:master\r\nmaxmemory_policy:noeviction';

/** A client that counts its commands after the start; `answer` has the answers. */
function counting(answer: (question: string) => Awaitable<unknown>) {
  const counts = { asked: 0 };
  const client: RedisClient = {
    async call(command, ...[, , , , , question = '']) {
      if (command === 'info') return INFO;
      if (command === 'hmget') return ['1', '1'];
      counts.asked += 1;
      return answer(question);
    },
  };
  return { client, store: redisStore(client), counts };
}

type Read = (store: Required<KeyStore>, options: CallOptions) => Awaitable<unknown>;

const part = { after: null, limit: 5 };
const READS: Readonly<Record<string, Read>> = {
  findByDigest: (store, options) => store.findByDigest(['s1$a'], options),
  findById: (store, options) => store.findById(OWN, options),
  list: (store, options) => store.list({ prefix: 'acme', entityId: OWN, ...part }, options),
  listLineage: (store, options) => store.listLineage({ rootKeyId: OWN, ...part }, options),
  listAll: (store, options) => store.listAll(part, options),
  listExpiring: (store, options) => store.listExpiring({ ...part, before: 5 }, options),
  listChanged: (store, options) => store.listChanged({ since: 0, limit: 5 }, options),
  summarize: (store, options) => store.summarize(5, options),
};

describe.each(Object.entries(READS))('%s', (_name, read) => {
  test('is not sent if its caller gave up while the store started', async () => {
    const { store, counts } = counting((question) => [question, []]);
    const caller = new AbortController();
    const answer = (async () => read(store, { signal: caller.signal }))();
    caller.abort();
    await expect(answer).rejects.toThrow('aborted');
    expect(counts.asked).toBe(0);
    await read(store, { signal: new AbortController().signal });
    expect(counts.asked).toBeGreaterThan(0);
  });
});

test('a listing stops in the middle if its caller has given up', async () => {
  const caller = new AbortController();
  const entries = Array.from({ length: 500 }, (_, index) => `never:${index}:acme:s1$a:${OWN}`);
  const pages = [entries];
  const { store, counts } = counting((question) => {
    caller.abort();
    return [question, pages.pop() ?? []];
  });
  const answer = async () => store.summarize(5, { signal: caller.signal });
  await expect(answer).rejects.toThrow('aborted');
  expect(counts.asked).toBe(1);
});

describe('usage', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  // ioredis without `autoResendUnfulfilledCommands` drops commands that were under way when its
  // connection was lost. The batch never ended, and no other was written until the process was
  // restarted.
  test('that a client never answers is given up, so that later usage is written', async () => {
    vi.useFakeTimers();
    const { store } = counting(() => new Promise(() => {}));
    const touched = (async () => store.touch([{ keyId: OWN, lastUsedAt: 5, scopesUsed: {} }]))();
    const refused = expect(touched).rejects.toThrow('redis: no answer within 30000 ms');
    await vi.advanceTimersByTimeAsync(30_000);
    await refused;
  });
});

describeWithRedis.each(KINDS)('a server that holds writes back, with %s,', (kind) => {
  const suite = useRedis();

  // One usage write that the server held back blocked every look-up behind it on the connection.
  test('still answers look-ups if usage has its own client', async () => {
    const { client: usageClient, close } = await connectTo(kind, suite.own.url);
    onTestFinished(async () => {
      await suite.own.ask('CLIENT', 'UNPAUSE');
      close();
    });
    const store = redisStore(suite.client(kind), { usageClient });
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    const { keyId } = info;
    await suite.own.ask('CLIENT', 'PAUSE', '60000', 'WRITE');
    const noted = (async () => store.touch([{ keyId, lastUsedAt: 5, scopesUsed: {} }]))();
    const first = await Promise.race([noted.then(() => 'noted'), sleep(200, 'held back')]);
    expect(first).toBe('held back');
    for (let i = 0; i < 20; i++) expect(await outcome(() => keyring.verify(key))).toBe('passed');
    await suite.own.ask('CLIENT', 'UNPAUSE');
    await noted;
    expect((await store.findById(keyId))?.lastUsedAt).toBe(5);
  });
});

test('a client for usage has to be a supported client', () => {
  const { client } = counting(() => null);
  const told = complaint(() => redisStore(client, { usageClient: {} as RedisClient }));
  expect(told).toMatch(/^redisStore: usageClient: pass a client, pool/);
});
