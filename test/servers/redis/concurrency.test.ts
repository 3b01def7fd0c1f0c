/** How many commands a server gets at once. */
import type { Redis } from 'ioredis';
import type { KeyRecord } from 'keyscope';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { describe, expect, test } from 'vitest';
import { KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed, unsealedRecords } from '../../support/unsealed.ts';

/** A store over a client that counts: how many commands it got, and how many at once. */
function counting(answer: (command: string, ...args: string[]) => unknown) {
  const counts = { asked: 0, most: 0 };
  let underWay = 0;
  async function call(command: string, ...args: string[]): Promise<unknown> {
    if (command === 'INFO') {
      return 'redis_version:7.0.0\r\nrole:master\r\nmaxmemory_policy:noeviction';
    }
    if (args[0] === 'keyscope:schema') return '1';
    underWay += 1;
    counts.asked += 1;
    counts.most = Math.max(counts.most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return answer(command, ...args);
  }
  return { store: redisStore({ call }), counts };
}

const usageOf = ({ keyId }: { readonly keyId: string }) => ({
  keyId,
  lastUsedAt: 7,
  scopesUsed: {},
});

describe('a server', () => {
  test('gets a batch of usage 500 at a time, and nothing more of it once it is away', async () => {
    let away = false;
    const { store, counts } = counting((command) => {
      if (away) throw new Error('away');
      return command === 'GET' ? 'a digest' : 1;
    });
    const entries = Array.from({ length: 1201 }, () => usageOf({ keyId: crypto.randomUUID() }));
    const touch = async () => store.touch(entries);
    await touch();
    expect(counts).toEqual({ asked: 2 * 1201, most: 500 });
    away = true;
    counts.asked = 0;
    await expect(touch()).rejects.toThrow('away');
    expect(counts.asked).toBe(500);
  });

  // Of 50 entities with 100 keys each it got 5,000 commands at once, and every request waited for
  // them.
  test('is asked for a summary 500 commands at a time', async () => {
    const live = ['digest', '"s1$x"', 'revokedAt', 'null', 'retireAt', 'null', 'expiresAt', 'null'];
    const { store, counts } = counting((command, key, from) => {
      if (command === 'HGETALL') return live;
      const isNextPage = from?.startsWith('(');
      if (isNextPage) return [];
      const length = key === 'keyscope:entities' ? 50 : 100;
      return Array.from({ length }, (_, index) => `${index}:x:s1$x`);
    });
    expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 5000, lastUsedAt: null }]);
    expect(counts).toEqual({ asked: 2 + 50 * 102, most: 500 });
  });
});

describeWithRedis('a server of its own', () => {
  const suite = useRedis();

  test('gets look-ups of several digests together', async () => {
    const client = suite.client('ioredis') as Redis;
    const { record } = unsealed();
    await redisStore(client).insert(record);
    let waiting = 0;
    let most = 0;
    const slow: RedisClient = {
      async call(command, ...args) {
        waiting += 1;
        most = Math.max(most, waiting);
        const answer = await client.call(command, ...args);
        waiting -= 1;
        return answer;
      },
    };
    expect(await redisStore(slow).findByDigest(['s1$a', 's1$b', record.digest])).toEqual([record]);
    expect(most).toBe(3);
  });

  test.each(KINDS)('notes usage of every key but the damaged ones, with %s', async (kind) => {
    const store = redisStore(suite.client(kind));
    const records = unsealedRecords(1201);
    await Promise.all(records.map((record) => store.insert(record)));
    const first = records.at(0) as KeyRecord;
    const second = records.at(1) as KeyRecord;
    const last = records.at(-1) as KeyRecord;
    for (const key of [`keyscope:id:${first.keyId}`, `keyscope:rec:${second.digest}`]) {
      await suite.own.ask('DEL', key);
      await suite.own.ask('LPUSH', key, 'x');
    }
    const touch = async () => store.touch(records.map(usageOf));
    await expect(touch()).rejects.toThrow('WRONGTYPE');
    expect((await store.findById(last.keyId))?.lastUsedAt).toBe(7);
    await suite.own.ask('DEL', `keyscope:id:${first.keyId}`);
    await touch();
  });
});
