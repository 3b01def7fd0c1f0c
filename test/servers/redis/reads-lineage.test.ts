/** The parts of a lineage: by key id, full while keys are left, however many were deleted. */
import type { KeyRecord } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { expect, test } from 'vitest';
import { KINDS } from '../../support/redis-clients.ts';
import { commandsOf, describeWithRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

/** The smallest key id, and the greatest. */
const FIRST = '00000000-0000-4000-8000-000000000000';
const LAST = 'ffffffff-ffff-4fff-bfff-ffffffffffff';

function byKeyId(records: readonly KeyRecord[]): KeyRecord[] {
  return records.toSorted((one, other) => (one.keyId < other.keyId ? -1 : 1));
}

describeWithRedis.each(KINDS)('a lineage, with %s,', (kind) => {
  const suite = useRedis();
  const storeOf = () => redisStore(suite.client(kind));

  /** Inserts a first key and the keys of its lineage, half of them issued under it. */
  async function insertLineage(rootKeyId: string, count: number): Promise<KeyRecord[]> {
    const kin = Array.from({ length: count }, (_, index) => {
      return unsealed(index % 2 === 0 ? { rootKeyId } : { issuedUnder: rootKeyId }).record;
    });
    const records = byKeyId([unsealed({ keyId: rootKeyId, rootKeyId }).record, ...kin]);
    const store = storeOf();
    await Promise.all(records.map((record) => store.insert(record)));
    return records;
  }

  async function listParts(rootKeyId: string, limit: number): Promise<KeyRecord[][]> {
    const store = storeOf();
    const parts: KeyRecord[][] = [];
    let after: string | null = null;
    do {
      const part: readonly KeyRecord[] = await store.listLineage({ rootKeyId, after, limit });
      parts.push([...part]);
      after = part.at(-1)?.keyId ?? null;
    } while (parts.at(-1)?.length === limit && parts.length < 100);
    return parts;
  }

  test.each([FIRST, crypto.randomUUID(), LAST])(
    'has full parts though most of its keys were deleted: the first key is %s',
    async (rootKeyId) => {
      const all = await insertLineage(rootKeyId, 40);
      // One of eight stays, and the first key.
      const left = all.filter(({ keyId }, index) => index % 8 === 3 || keyId === rootKeyId);
      for (const record of all) {
        if (left.includes(record)) continue;
        await suite.own.ask('DEL', `keyscope:rec:${record.digest}`);
      }
      await suite.own.ask('ZADD', `keyscope:lineage:${rootKeyId}`, '0', 'what is this');
      for (const limit of [1, 2, 3, left.length, 100]) {
        const parts = await listParts(rootKeyId, limit);
        expect(parts.flat(), `limit ${limit}`).toEqual(left);
        expect(parts).toHaveLength(Math.floor(left.length / limit) + 1);
      }
    },
  );

  test('lists a key once that was rotated from the first key and issued under it', async () => {
    const [root] = await insertLineage(crypto.randomUUID(), 0);
    const { keyId: rootKeyId } = root as KeyRecord;
    const { record } = unsealed({ rootKeyId, issuedUnder: rootKeyId });
    await storeOf().insert(record);
    expect(await listParts(rootKeyId, 9)).toEqual([byKeyId([root as KeyRecord, record])]);
  });

  test('of 1,000 keys reads one record more than a part has, at most', async () => {
    const store = storeOf();
    const rootKeyId = crypto.randomUUID();
    const all = await insertLineage(rootKeyId, 1000);
    for (const after of [null, all[500]?.keyId ?? '', all[990]?.keyId ?? '']) {
      const query = { rootKeyId, after, limit: 10 };
      const commands = await commandsOf(suite.own, () => store.listLineage(query));
      const { zrange, hgetall } = commands;
      expect(zrange).toBe(1);
      // The first key, too, if it may be in this part or a later one.
      expect(hgetall).toBeLessThanOrEqual(10 + 1);
    }
  });

  test('begins at the start without a position', async () => {
    const rootKeyId = crypto.randomUUID();
    const all = await insertLineage(rootKeyId, 3);
    const list = storeOf().listLineage as (query: object) => PromiseLike<readonly KeyRecord[]>;
    expect(await list({ rootKeyId, limit: 9 })).toEqual(all);
    expect(await list({ rootKeyId, after: undefined, limit: 9 })).toEqual(all);
  });
});
