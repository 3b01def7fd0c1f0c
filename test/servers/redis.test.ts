import type { Awaitable } from 'keyscope';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { storeContract } from 'keyscope/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Closing, deleteUnder, ioRedis, nodeRedis, nodeRedisPool, tenIoRedis } from '../support/redis.ts';
import { describeOn, SERVERS } from '../support/servers.ts';

const URL = SERVERS.redis;
const prefix = `keyscope-test-${crypto.randomUUID()}:`;
const CLIENTS: Readonly<Record<string, (url: string) => Awaitable<Closing<RedisClient>>>> = {
  'node-redis': nodeRedis,
  'node-redis over RESP2': (url) => nodeRedis(url, { RESP: 2 }),
  'a node-redis pool of 10': nodeRedisPool,
  ioredis: (url) => ioRedis(url),
  'ioredis with numbers as text, over RESP3': (url) => ioRedis(url, { stringNumbers: true, protocol: 3 }),
  'ioredis with automatic pipelines': (url) => ioRedis(url, { enableAutoPipelining: true }),
  'ten of ioredis': tenIoRedis,
};

const onRedis = await describeOn('redis');

// ── The contract ──────────────────────────────────────────────────────────────────────────────────────

onRedis('the contract', () => {
  afterAll(() => deleteUnder(URL, prefix));

  describe.each(Object.entries(CLIENTS))('with %s', (_name, connect) => {
    let opened: Closing<RedisClient>;
    beforeAll(async () => {
      opened = await connect(URL);
    });
    afterAll(() => opened.close());
    storeContract(test, () => redisStore(opened.client, { prefix }));
  });
});
