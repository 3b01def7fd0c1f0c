/** Listings over all entities: their cursors, and entries that lead nowhere. */
import type { KeyRecord, Slice } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { describe, expect, test } from 'vitest';
import { OTHER, OWN, untyped } from '../../support/keyring.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

type Read = (after: string | null, limit: number) => PromiseLike<Slice<KeyRecord>>;

/** All parts of a listing: their records, and the size of each. */
async function readAll(read: Read, limit: number) {
  const items: KeyRecord[] = [];
  const sizes: number[] = [];
  const cursors: string[] = [];
  let after: string | null = null;
  do {
    const part: Slice<KeyRecord> = await read(after, limit);
    items.push(...part.items);
    sizes.push(part.items.length);
    after = part.next;
    if (after !== null) cursors.push(after);
  } while (after !== null);
  return { items, sizes, cursors };
}

const REVOKE = { kind: 'revoke', by: null, reason: null, seal: null } as const;

describeWithRedis.each(KINDS)('the listings over all entities, with %s,', (kind) => {
  const suite = useRedis();
  const storeOf = () => redisStore(suite.client(kind));

  /** Of three entities: two of each expiry, and some that never end. */
  async function insertEach(times: readonly (number | null)[]): Promise<KeyRecord[]> {
    const store = storeOf();
    const records: KeyRecord[] = [];
    for (const [index, expiresAt] of times.entries()) {
      const entityId = index % 2 === 0 ? OWN : crypto.randomUUID();
      const { record } = unsealed({ entityId, accessibleEntities: [entityId], expiresAt });
      records.push(record);
    }
    await Promise.all(records.map((record) => store.insert(record)));
    return records;
  }

  test('have parts of every size, and the last part says so', async () => {
    const store = storeOf();
    const records = await insertEach([5, 5, null, -7, 0, null, 8e15, 5]);
    const ended = records.filter(({ expiresAt }) => expiresAt !== null && expiresAt < 8e15);
    const inOrder = ended.toSorted(
      (first, second) =>
        Number(first.expiresAt) - Number(second.expiresAt) || (first.keyId < second.keyId ? -1 : 1),
    );
    const readExpiring: Read = async (after, limit) =>
      store.listExpiring({ before: 8e15, after, limit });
    const readEvery: Read = async (after, limit) => store.listAll({ after, limit });
    for (let limit = 1; limit <= 9; limit++) {
      const expiring = await readAll(readExpiring, limit);
      expect(expiring.items).toEqual(inOrder);
      expect(expiring.sizes).not.toContain(0);
      const all = await readAll(readEvery, limit);
      expect(new Set(all.items.map(({ keyId }) => keyId)).size).toBe(8);
      expect(all.sizes).toHaveLength(Math.ceil(8 / limit));
      // A cursor contains no digest.
      for (const cursor of [...expiring.cursors, ...all.cursors]) {
        expect(cursor).toMatch(/^(?:\d{17}|never):[0-9a-f-]{36}$/);
      }
    }
  });

  test('continue after a record was deleted, or one was added before it', async () => {
    const store = storeOf();
    await insertEach([10, 20, 30, 40]);
    const first = await store.listAll({ after: null, limit: 2 });
    for (const { digest } of first.items) await suite.own.ask('DEL', `keyscope:rec:${digest}`);
    await insertEach([15]);
    const rest = await store.listAll({ after: first.next, limit: 9 });
    expect(rest.items.map(({ expiresAt }) => expiresAt)).toEqual([30, 40]);
    const again = await store.listAll({ after: null, limit: 9 });
    expect(again.items.map(({ expiresAt }) => expiresAt)).toEqual([15, 30, 40]);
  });

  test('skip revoked or missing records, however many', async () => {
    const store = storeOf();
    const records = await insertEach(Array.from({ length: 30 }, (_, index) => index));
    for (const { keyId, digest, expiresAt } of records) {
      if (expiresAt === 29) continue;
      if (Number(expiresAt) % 2 === 0) await store.mark(keyId, { ...REVOKE, at: 5 });
      else await suite.own.ask('DEL', `keyscope:rec:${digest}`);
    }
    await suite.own.ask('ZADD', 'keyscope:expiry', '0', 'what is this');
    const part = await store.listExpiring({ before: 100, after: null, limit: 1 });
    expect(part).toEqual({ items: [records[29]], next: null });
  });

  test('of marks contain each key once, by its newest mark', async () => {
    const store = storeOf();
    const records = await insertEach([null, null, null]);
    const ids = records.map(({ keyId }) => keyId) as [string, string, string];
    const nobody = { by: null, reason: null } as const;
    await store.mark(ids[0], { kind: 'suspend', at: 10, ...nobody });
    await store.mark(ids[1], { ...REVOKE, at: 20 });
    await store.mark(ids[0], { kind: 'resume', at: 30 });
    await store.mark(ids[2], { kind: 'retire', at: 15, retireAt: 90, ...nobody });
    // They write nothing: the first is not suspended, the second is revoked.
    await store.mark(ids[0], { kind: 'resume', at: 40 });
    await store.mark(ids[1], { ...REVOKE, at: 50 });
    // From a clock that was behind.
    await store.mark(ids[2], { kind: 'withdraw', at: 12, entityId: OTHER });
    const third = { keyId: ids[2], changedAt: 15 };
    const second = { keyId: ids[1], changedAt: 20 };
    const first = { keyId: ids[0], changedAt: 30 };
    const read = async (since: number, limit = 9) => store.listChanged({ since, limit });
    expect(await read(0)).toEqual([third, second, first]);
    expect(await read(15, 2)).toEqual([third, second]);
    expect(await read(16)).toEqual([second, first]);
    expect(await read(30)).toEqual([first]);
    expect(await read(31)).toEqual([]);
    expect(await store.listChanged({ since: 0, after: second, limit: 9 })).toEqual([first]);
    await suite.own.ask('HSET', `keyscope:rec:${records[1]?.digest}`, 'changedAt', 'none');
    expect(await read(0)).toEqual([third, first]);
  });
});

describe('a cursor', () => {
  test('that the store has not written is rejected before anything is sent', async () => {
    const store = redisStore({
      async call(command) {
        if (command === 'hmget') return ['1', '1'];
        if (command === 'eval') throw new Error('was asked');
        return 'redis_version:7.0.0\r\nrole:master\r\nmaxmemory_policy:noeviction';
      },
    });
    const time = '09007199254740992';
    const odd = ['', 'x', '0', time, `${time}:`, `${time}:a:b`, `never:`, `x${time}:a`, 5, {}, []];
    for (const after of odd) {
      const query = { after: untyped<string>(after), limit: 5 };
      const told = 'after: pass `next` of the previous part, or null';
      await expect(async () => store.listAll(query)).rejects.toThrow(told);
      await expect(async () => store.listExpiring({ ...query, before: 5 })).rejects.toThrow(told);
    }
    const left = untyped<string>(undefined);
    await expect(async () => store.listAll({ after: left, limit: 5 })).rejects.toThrow('was asked');
  });
});
