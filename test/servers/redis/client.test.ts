/** The clients and options that the store accepts, and its errors for others. */
import { Cluster, Redis } from 'ioredis';
import { migrate, type RedisClient, redisStore } from 'keyscope/stores/redis';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { describe, expect, test } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { OWN, thrown } from '../../support/keyring.ts';
import { SERVERS } from '../../support/servers.ts';

const URL = SERVERS.redis;
const SENTINEL = { name: 'mymaster', sentinelRootNodes: [{ host: '127.0.0.1', port: 1 }] };

const REJECTED = /^redisStore: pass a client, pool, cluster or sentinel of redis/;

describe('the client', () => {
  // With `stage:` and `prod:` on one server, each service accepted the other's keys.
  test('of node-redis needs a prefix if it has a keyPrefix, which raw commands lack', () => {
    const settings = { url: URL, keyPrefix: 'stage:' };
    const clients: readonly unknown[] = [
      createClient(settings),
      createClientPool(settings),
      createCluster({ rootNodes: [], keyPrefix: 'a' }),
      createSentinel({ ...SENTINEL, keyPrefix: 'a' }),
    ];
    const ignored = 'node-redis does not apply its keyPrefix to raw commands';
    for (const client of clients as readonly RedisClient[]) {
      const told = complaint(() => redisStore(client));
      expect(told).toBe(`redisStore: prefix: pass one; ${ignored}`);
      const store = redisStore(client, { prefix: 'stage:keyscope:' });
      expect(store).toHaveProperty('findById');
    }
  });

  test('is rejected if it is not a client', async () => {
    const odd: readonly unknown[] = [
      undefined,
      null,
      URL,
      5,
      {},
      [],
      { call: 5 },
      redisStore,
      Redis,
      // A client that a createSentinel lends.
      { sendCommand: () => null, release: () => null },
    ];
    for (const client of odd as readonly RedisClient[]) {
      expect(complaint(() => redisStore(client))).toMatch(REJECTED);
      expect(await thrown(() => migrate(client))).toBeInstanceOf(TypeError);
    }
  });

  // Some answer with nothing or with themselves, and legacy() ended the process at the first use.
  test('is rejected if it only collects commands, or calls callbacks', () => {
    const one = createClient();
    const lazy = new Redis({ lazyConnect: true });
    const cluster = new Cluster([], { lazyConnect: true });
    const parts: readonly unknown[] = [
      one.multi(),
      one.legacy(),
      createClientPool().multi(),
      createCluster({ rootNodes: [] }).multi(),
      createSentinel(SENTINEL).multi(),
      lazy.pipeline(),
      lazy.multi(),
      cluster.pipeline(),
    ];
    for (const part of parts as readonly RedisClient[]) {
      expect(complaint(() => redisStore(part))).toMatch(REJECTED);
      expect(complaint(() => redisStore(lazy, { usageClient: part }))).toMatch(/usageClient: pass/);
    }
    for (const client of [one, lazy, cluster]) redisStore(client);
  });

  test('of ioredis is rejected if it asks Sentinel for a replica', () => {
    const sentinels = [{ host: '127.0.0.1', port: 1 }];
    const found = { sentinels, name: 'keys', lazyConnect: true } as const;
    redisStore(new Redis(found));
    const told = "redisStore: role must be 'master'; a replica would accept revoked keys";
    expect(complaint(() => redisStore(new Redis({ ...found, role: 'slave' })))).toBe(told);
  });

  test('is asked nothing before the first operation', () => {
    const calls: string[] = [];
    redisStore({ call: async (command) => calls.push(command) });
    expect(calls).toEqual([]);
  });

  // node-redis reports that it is closed, but not what to do.
  test('of node-redis has to be connected first', async () => {
    for (const client of [createClient(), createClientPool()]) {
      const told = 'redis: The client is closed. Await client.connect() first';
      await expect(async () => redisStore(client).findById(OWN)).rejects.toThrow(told);
    }
  });

  test('of a single server of a cluster is rejected in favour of one of the cluster', async () => {
    const moved = 'MOVED 13111 10.0.0.1:6379';
    const client = { call: () => Promise.reject(new Error(moved)) };
    const told = `redis: ${moved}. This server belongs to a cluster: pass a client of the cluster`;
    await expect(async () => redisStore(client).findById(OWN)).rejects.toThrow(told);
  });

  // Some look-ups failed, those that were sent together, and no error said what to do.
  test('of a cluster must not pipeline automatically before ioredis 5.11', async () => {
    const refused = 'All keys in the pipeline should belong to the same slots allocation group';
    const client = { call: () => Promise.reject(new Error(refused)) };
    const told = `redis: ${refused}. Leave enableAutoPipelining off, or use ioredis 5.11 or newer`;
    await expect(async () => redisStore(client).findById(OWN)).rejects.toThrow(told);
  });

  test('accepts a prefix of printable characters, and no unknown option', () => {
    const client = { call: async () => null };
    for (const odd of ['', ' ', 'a b', 'ключ', 'a\n', 'x'.repeat(101), 5, null]) {
      const told = complaint(() => redisStore(client, { prefix: odd as string }));
      expect(told).toMatch(/^redisStore: prefix: pass 1 to 100/);
    }
    const misspelt = { prefx: 'a' } as object;
    const unknown = 'unknown field "prefx"; known fields are prefix, usageClient';
    expect(() => redisStore(client, misspelt)).toThrow(unknown);
    for (const prefix of ['a', 'x'.repeat(100), '{keyscope}:', undefined]) {
      redisStore(client, { prefix });
    }
  });
});
