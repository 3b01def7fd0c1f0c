/** How many commands a server gets at once. */
import type { Redis } from 'ioredis';
import type { KeyRecord } from 'keyscope';
import { purgeEnded, type RedisClient, redisStore } from 'keyscope/stores/redis';
import { describe, expect, test } from 'vitest';
import { formatField } from '../../../src/stores/redis/schema.js';
import { OWN } from '../../support/keyring.ts';
import { numbered, RECORD } from '../../support/records.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed, unsealedRecords } from '../../support/unsealed.ts';

/** A store over a client that counts its commands, and how many run at once. */
function counting(answer: (command: string, ...args: string[]) => unknown) {
  const counts = { asked: 0, most: 0 };
  let underWay = 0;
  async function call(command: string, ...args: string[]): Promise<unknown> {
    if (command === 'info') {
      return 'redis_version:7.0.0\r\nrole:master\r\nmaxmemory_policy:noeviction';
    }
    if (args[0] === 'keyscope:schema') return ['1', '1'];
    underWay += 1;
    counts.asked += 1;
    counts.most = Math.max(counts.most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return answer(command, ...args);
  }
  return { client: { call }, store: redisStore({ call }), counts };
}

const usageOf = ({ keyId }: { readonly keyId: string }) => ({
  keyId,
  lastUsedAt: 7,
  scopesUsed: {},
});

/** The text of an entry, as the store writes it. */
function entryOf(keyId: string): string {
  return `never:${keyId}:acme:s1$${keyId}:${OWN}`;
}

/** The entries of 1,200 records after a bound, as in the index by expiry. */
function entriesAfter(bound: string): string[] {
  const all = Array.from({ length: 1200 }, (_, index) => entryOf(numbered(RECORD)(index).keyId));
  return all.filter((entry) => bound === '-' || entry > bound.slice(1)).slice(0, 500);
}

/** Answers like a server with 1,200 records, each of which can be deleted. */
function holding(given: Partial<KeyRecord> = {}) {
  const { scopesUsed: _none, ...fields } = unsealed(given).record;
  return (command: string, ...words: string[]): unknown => {
    if (command !== 'eval') return null;
    // A script that reads takes two names of Redis keys, the question's number and a command.
    const [, , key = '', , , question = '', reading = '', ...args] = words;
    if (!READINGS.has(reading)) return 1;
    return [question, answerTo(reading, key, args)];
  };

  function answerTo(reading: string, key: string, args: readonly string[]): unknown {
    if (reading === 'ZRANGE') return key === 'keyscope:expiry' ? entriesAfter(args[0] ?? '') : [];
    if (reading === 'GET') return null;
    const keyId = key.replace('keyscope:rec:s1$', '');
    const row = { ...fields, keyId, rootKeyId: keyId, digest: `s1$${keyId}` };
    if (reading === 'HMGET') {
      return args.map((name) => formatField(row[name as keyof typeof row]));
    }
    return Object.entries(row).flatMap(([name, value]) => [name, formatField(value)]);
  }
}

const READINGS: ReadonlySet<string> = new Set(['GET', 'HGETALL', 'HMGET', 'ZRANGE']);

describe('a server', () => {
  test('gets a batch of usage 500 at a time, and the rest not at all if it is down', async () => {
    let away = false;
    const { store, counts } = counting((_command, ...words) => {
      if (away) throw new Error('away');
      const [, , key = '', , , question = '', reading = ''] = words;
      return reading === 'GET' ? [question, entryOf(key.slice('keyscope:id:'.length))] : 1;
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

  test('gets a record with 1,000 entities 500 entries at a time', async () => {
    const { store, counts } = counting((command) => (command === 'eval' ? null : 'OK'));
    const others = Array.from({ length: 999 }, () => crypto.randomUUID());
    await store.insert(unsealed({ accessibleEntities: [OWN, ...others] }).record);
    // Id, record, the entity's own listing, all keys by expiry, and the entities that it addresses.
    expect(counts).toEqual({ asked: 4 + 999, most: 500 });
  });

  // For 50 entities with 100 keys each it got 5,000 commands at once, and every request waited for
  // them.
  test('gets the reads of all records 500 commands at a time', async () => {
    const { store, counts } = counting(holding());
    const summary = await store.summarize(5);
    expect(summary).toEqual([{ scheme: 's1', live: 1200, lastUsedAt: null }]);
    // Three pages; the third is not full.
    expect(counts).toEqual({ asked: 3 + 1200, most: 500 });
    counts.most = 0;
    const all = await store.listAll({ after: null, limit: 1200 });
    expect(all.items).toHaveLength(1200);
    expect(counts.most).toBe(500);
  });

  test('gets deletions 500 commands at a time', async () => {
    const { client, counts } = counting(holding({ createdAt: 0, revokedAt: 5 }));
    expect(await purgeEnded(client, { endedBefore: new Date(6) })).toHaveLength(1200);
    // The record, others of its lineage, check, entries by owner, expiry and end, and the id.
    expect(counts.asked).toBeGreaterThan(6 * 1200);
    expect(counts.most).toBe(500);
  });
});

describeWithRedis('a dedicated server', () => {
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

  test.each(KINDS)('records usage of every key except damaged ones, with %s', async (kind) => {
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
