/** The store contract, with every kind of client that the store accepts. */
import type { Awaitable } from 'keyscope';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { storeContract } from 'keyscope/testing';
import { afterAll, beforeAll, describe, test } from 'vitest';
import {
  bufferingNodeRedis,
  type Closing,
  deleteUnder,
  ioRedis,
  nodeRedis,
  nodeRedisPool,
  tenIoRedis,
} from '../../support/redis-clients.ts';
import { describeOn, SERVERS } from '../../support/servers.ts';

const prefix = `keyscope-test-${crypto.randomUUID()}:`;

type Connect = (url: string) => Awaitable<Closing<RedisClient>>;

const CLIENTS: Readonly<Record<string, Connect>> = {
  'node-redis': nodeRedis,
  'node-redis over RESP2': (url) => nodeRedis(url, { RESP: 2 }),
  'node-redis with custom types': bufferingNodeRedis,
  'a node-redis pool of 10': nodeRedisPool,
  ioredis: (url) => ioRedis(url),
  'ioredis with numbers as text, over RESP3': (url) =>
    ioRedis(url, { stringNumbers: true, protocol: 3 }),
  'ioredis with automatic pipelines': (url) => ioRedis(url, { enableAutoPipelining: true }),
  'ioredis with a keyPrefix': (url) => ioRedis(url, { keyPrefix: `${prefix}own:` }),
  'ten of ioredis': tenIoRedis,
};

const onRedis = await describeOn('redis');

onRedis('the contract on Redis', () => {
  afterAll(() => deleteUnder(SERVERS.redis, prefix));

  describe.each(Object.entries(CLIENTS))('with %s', (name, connect) => {
    let opened: Closing<RedisClient>;
    beforeAll(async () => {
      opened = await connect(SERVERS.redis);
    });
    afterAll(() => opened.close());

    const own = prefix + Object.keys(CLIENTS).indexOf(name);
    storeContract(test, () => redisStore(opened.client, { prefix: own }));
  });
});
