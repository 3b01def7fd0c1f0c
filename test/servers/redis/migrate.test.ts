/** The servers that can hold keys, and the version of the layout. */
import { generateKey } from 'keyscope';
import { migrate, type RedisClient, redisStore } from 'keyscope/stores/redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { issue, setUp } from '../../support/keyring.ts';
import { causeOf } from '../../support/outcome.ts';
import { connectTo, KINDS } from '../../support/redis-clients.ts';
import {
  commandsOf,
  describeWithRedis,
  keysOf,
  startRedis,
  useRedis,
} from '../../support/redis-servers.ts';

describeWithRedis('the start of a store', () => {
  const suite = useRedis();

  describe.each(KINDS)('with %s', (kind) => {
    test.each(['allkeys-lru', 'allkeys-lfu', 'allkeys-random'])(
      'rejects a server that may evict by %s',
      async (policy) => {
        const { own } = suite;
        const client = suite.client(kind);
        await own.ask('CONFIG', 'SET', 'maxmemory-policy', policy);
        const { keyring } = setUp({ store: redisStore(client) });
        const instead = 'it may evict keys. Set maxmemory-policy to noeviction';
        const message = `keyscope: a Redis server cannot hold keys: ${instead}`;
        expect(await causeOf(() => issue(keyring))).toContain(message);
        await expect(migrate(client)).rejects.toThrow(message);
        expect(await own.ask('DBSIZE')).toBe(0);
        // Once fixed, the store works without a restart.
        await own.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
        await issue(keyring);
      },
    );

    test.each(['volatile-lru', 'volatile-ttl'])(
      'accepts a server that evicts by %s, because no key has a time to live',
      async (policy) => {
        const { own } = suite;
        await own.ask('CONFIG', 'SET', 'maxmemory-policy', policy);
        const { keyring } = setUp({ store: redisStore(suite.client(kind)) });
        await issue(keyring);
        const keys = await keysOf(own, '*');
        expect(keys).toHaveLength(5);
        for (const key of keys) expect(await own.ask('TTL', key), key).toBe(-1);
      },
    );

    const tooNew =
      'the layout under keyscope: has schema version 2, which needs a release that knows version 2';
    test.each([
      [['version', '2', 'min_reader', '2'], tooNew],
      [['version', 'x', 'min_reader', '1'], 'keyscope:schema does not contain a version'],
      [['version', '2', 'min_reader', ''], 'keyscope:schema does not contain a version'],
      [['version', '2'], 'keyscope:schema does not contain a version'],
      [['min_reader', '1'], 'keyscope:schema does not contain a version'],
    ])('rejects keys of schema %j, and leaves them unchanged', async (fields, problem) => {
      const { own } = suite;
      const client = suite.client(kind);
      await own.ask('HSET', 'keyscope:schema', ...fields);
      await expect(migrate(client)).rejects.toThrow(problem);
      const { keyring } = setUp({ store: redisStore(client) });
      expect(await causeOf(() => issue(keyring))).toContain(problem);
      expect(await own.ask('HGETALL', 'keyscope:schema')).toEqual(fields);
      expect(await own.ask('DBSIZE')).toBe(1);
    });

    // A roll-out or a roll-back would lock processes out.
    test('works with keys of a later schema that allows it, and leaves its version', async () => {
      const { own } = suite;
      const client = suite.client(kind);
      const later = ['version', '7', 'min_reader', '1'];
      await own.ask('HSET', 'keyscope:schema', ...later);
      await migrate(client);
      const { keyring } = setUp({ store: redisStore(client) });
      const { key } = await issue(keyring);
      await keyring.verify(key);
      expect(await own.ask('HGETALL', 'keyscope:schema')).toEqual(later);
    });

    test('rejects a version of another type', async () => {
      await suite.own.ask('LPUSH', 'keyscope:schema', '1');
      await expect(migrate(suite.client(kind))).rejects.toThrow('WRONGTYPE');
    });

    test('writes the version if eight migrate at once, and later only reads', async () => {
      const { own } = suite;
      const client = suite.client(kind);
      await Promise.all(Array.from({ length: 8 }, () => migrate(client)));
      const version = await own.ask('HGETALL', 'keyscope:schema');
      expect(version).toEqual(['version', '1', 'min_reader', '1']);
      expect(await own.ask('DBSIZE')).toBe(1);
      expect(await commandsOf(own, () => migrate(client))).toEqual({ hmget: 1 });
    });
  });

  test('rejects a replica', async () => {
    const replica = await startRedis('--replicaof', '127.0.0.1', String(suite.own.port));
    onTestFinished(replica.remove);
    for (const kind of KINDS) {
      const { client, close } = await connectTo(kind, replica.url);
      const message = 'this is a replica. Connect to the primary';
      await expect(migrate(client)).rejects.toThrow(message);
      const { keyring } = setUp({ store: redisStore(client) });
      const verify = () => keyring.verify(generateKey({ prefix: 'acme' }));
      expect(await causeOf(verify)).toContain('this is a replica');
      close();
    }
  });
});

describe('the start of a store over a client that answers', () => {
  const old = 'redis_version:6.2.14\r\nrole:master\r\nmaxmemory_policy:noeviction';

  test.each([
    ['older than Redis 7', old, 'it must be Redis 7 or newer'],
    ['silent about its policy', 'redis_version:7.0.0\r\nrole:master', 'Set maxmemory-policy'],
    ['of another make', 'no lines', 'it must be Redis 7 or newer'],
  ])('rejects a server that is %s', async (_name, info, problem) => {
    const client = { call: async (command: string) => (command === 'info' ? info : null) };
    await expect(migrate(client)).rejects.toThrow(problem);
  });

  test('rejects a cluster whose client knows no primary', async () => {
    const silent: RedisClient = {
      masters: [],
      nodeClient: () => ({ sendCommand: async () => null }),
      sendCommand: async () => null,
    };
    const message = 'the client does not know any primary. Connect it';
    await expect(migrate(silent)).rejects.toThrow(message);
  });
});
