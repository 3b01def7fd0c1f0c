/** Errors of a client: they say what is wrong, and contain no digest. */
import { inspect } from 'node:util';
import type { Awaitable } from 'keyscope';
import {
  type IoRedis,
  purgeEnded,
  type RedisClient,
  redisInvalidation,
  redisStore,
} from 'keyscope/stores/redis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OWN, thrown } from '../../support/keyring.ts';
import { ioRedis, KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, startRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

describeWithRedis.each(KINDS)('an error of a server, with %s', (kind) => {
  const suite = useRedis();

  test('says what is wrong without a digest', async () => {
    const store = redisStore(suite.client(kind));
    const { record } = unsealed();
    const { digest, keyId } = record;
    await store.insert(record);
    await suite.own.ask('DEL', `keyscope:rec:${digest}`);
    await suite.own.ask('LPUSH', `keyscope:rec:${digest}`, 'x');
    await suite.own.ask('ACL', 'SETUSER', 'default', '-eval');
    onTestFinished(async () => {
      await suite.own.ask('ACL', 'SETUSER', 'default', '+eval');
    });
    const acts: readonly (() => Awaitable<unknown>)[] = [
      () => store.findByDigest([digest]),
      () => store.findById(keyId),
      () => store.insert(unsealed({ digest }).record),
      () => store.mark(keyId, { kind: 'resume', at: 5 }),
      () => store.list({ prefix: 'acme', entityId: OWN, after: null, limit: 5 }),
    ];
    for (const act of acts) {
      const error = await thrown(async () => act());
      const shown = inspect(error, { showHidden: true, depth: 9 });
      expect(shown).toMatch(/redis: (?:WRONGTYPE|NOPERM)/);
      expect(shown).not.toContain(digest.slice(-16));
    }
  });
});

// Before 5.9, ioredis added no `keyPrefix` to the keys of a command in capitals: two services
// shared their keys, and an update lost all of them.
describeWithRedis('every command', () => {
  const suite = useRedis();

  test('has its name in lower case', async () => {
    const client = suite.client('ioredis') as IoRedis;
    const names = new Set<string>();
    const spy: RedisClient = {
      async call(name, ...args) {
        names.add(name);
        return client.call(name, ...args);
      },
    };
    const store = redisStore(spy);
    const { record } = unsealed();
    await store.insert(record);
    // With a digest that exists, so that its entries are removed.
    await expect(async () =>
      store.insert(unsealed({ digest: record.digest }).record),
    ).rejects.toThrow('exists');
    await store.mark(record.keyId, { kind: 'revoke', at: 5, by: null, reason: null, seal: null });
    await store.touch([{ keyId: record.keyId, lastUsedAt: 5, scopesUsed: {} }]);
    await store.summarize();
    await purgeEnded(spy, { endedBefore: new Date(6) });
    const { client: subscriber, close } = ioRedis(suite.own.url);
    onTestFinished(() => close());
    await redisInvalidation({ publisher: spy, subscriber }).publish(record.keyId);
    const used = ['del', 'eval', 'hmget', 'info', 'publish', 'set', 'zadd', 'zrem'];
    expect([...names].toSorted()).toEqual(used);
  });
});

describe('an error of a client', () => {
  test('quotes a key without the digest', async () => {
    const { digest } = unsealed().record;
    const message = `ERR nobody may read 'keyscope:rec:${digest}'`;
    const quoting = { call: () => Promise.reject(new Error(message)) };
    const error = await thrown(async () => redisStore(quoting).findByDigest([digest]));
    expect(String(error)).toMatch(/^Error: redis: ERR nobody may read 'keyscope:rec:/);
    expect(String(error)).not.toContain(digest.slice(-16));
  });
});

// A client of node-redis 6.3 that is destroyed and connected again does so: good keys were unknown.
describeWithRedis('a client that returns the answers to other commands', () => {
  test('is an outage, and never a source of unknown or wrong keys', async () => {
    const own = await startRedis();
    onTestFinished(own.remove);
    const { client, close } = ioRedis(own.url);
    onTestFinished(() => close());
    let isLate = false;
    let held: unknown = null;
    const shifting: RedisClient = {
      async call(command, ...args) {
        const answer = await client.call(command, ...args);
        const before = held;
        held = answer;
        return isLate ? before : answer;
      },
    };
    const store = redisStore(shifting);
    const { record } = unsealed();
    await store.insert(record);
    const revoked = { kind: 'revoke', at: 5, by: null, reason: null, seal: 'end' } as const;
    const calls = {
      findByDigest: async () => store.findByDigest([record.digest]),
      findById: async () => store.findById(record.keyId),
      mark: async () => store.mark(record.keyId, revoked),
    };
    isLate = true;
    for (const [name, call] of Object.entries(calls)) {
      // The same command twice, so that the answer could be one of its own.
      await call().catch(() => {});
      await expect(call(), name).rejects.toThrow(
        'the client returned the answer to another command',
      );
    }
    isLate = false;
    expect(await store.findById(record.keyId)).toEqual(record);
  });
});

describeWithRedis('a server that does not know a command', () => {
  test('is reported without the arguments', async () => {
    const bare = await startRedis('--rename-command', 'EVAL', '');
    onTestFinished(bare.remove);
    const { client, close } = ioRedis(bare.url);
    const error = await thrown(async () => redisStore(client).insert(unsealed().record));
    expect(String(error)).toBe("Error: redis: ERR unknown command 'eval'…");
    close();
  });
});
