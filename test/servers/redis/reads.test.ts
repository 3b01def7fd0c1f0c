/** Listings and summaries of the data on a server. */
import { redisStore } from 'keyscope/stores/redis';
import { expect, test } from 'vitest';
import { OWN } from '../../support/keyring.ts';
import { expectLooseCalls } from '../../support/loose.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, keysOf, useRedis } from '../../support/redis-servers.ts';
import { unsealed, unsealedRecords } from '../../support/unsealed.ts';

describeWithRedis.each(KINDS)('a store, with %s', (kind) => {
  const suite = useRedis();

  test('is separate from a store with another prefix', async () => {
    const first = redisStore(suite.client(kind), { prefix: 'a:' });
    const second = redisStore(suite.client(kind), { prefix: 'b:' });
    const { record } = unsealed();
    await first.insert(record);
    expect(await first.findById(record.keyId)).toEqual(record);
    expect(await second.findById(record.keyId)).toBe(null);
    await second.insert(record);
    expect(await keysOf(suite.own, 'a:*')).toHaveLength(5);
    expect(await keysOf(suite.own, 'b:*')).toHaveLength(5);
  });

  test('skips index entries without a record, however many', async () => {
    const { own } = suite;
    const store = redisStore(suite.client(kind));
    const records = unsealedRecords(30);
    for (const record of records) await store.insert(record);
    // Two of ten stay, so that a page can have more than are still needed.
    const orphans = records.filter((_, index) => index % 10 > 1);
    for (const { digest } of orphans) await own.ask('DEL', `keyscope:rec:${digest}`);
    await own.ask('ZADD', `keyscope:own:acme:${OWN}`, '0', 'what is this');
    const expected = records.filter((record) => !orphans.includes(record)).reverse();
    for (const limit of [1, 2, 3, 5, 100]) {
      const rows = await store.list({ prefix: 'acme', entityId: OWN, after: null, limit });
      expect(rows).toEqual(expected.slice(0, limit));
    }
    expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 6, lastUsedAt: null }]);
    for (const { keyId } of orphans) {
      expect(await store.findById(keyId)).toBe(null);
      expect(await store.mark(keyId, { kind: 'suspend', at: 5, by: null, reason: null })).toBe(
        false,
      );
    }
  });

  test('counts the keys of now without a time, and lists from the start', async () => {
    const store = redisStore(suite.client(kind));
    await store.insert(unsealed({ expiresAt: Date.now() - 1 }).record);
    await store.insert(unsealed({ expiresAt: Date.now() + 3_600_000 }).record);
    const summarize = store.summarize as () => unknown;
    expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
    await expectLooseCalls(store, OWN);
  });

  test('counts more keys than fit one page', async () => {
    const store = redisStore(suite.client(kind));
    const scattered = Array.from({ length: 130 }, (_, lastUsedAt) => {
      const entityId = crypto.randomUUID();
      return unsealed({ entityId, accessibleEntities: [entityId], lastUsedAt }).record;
    });
    const records = [...scattered, ...unsealedRecords(400)];
    await Promise.all(records.map((record) => store.insert(record)));
    expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 530, lastUsedAt: 129 }]);
  });

  test('does not count a key with an unreadable record', async () => {
    const store = redisStore(suite.client(kind));
    const { record } = unsealed({ retireAt: 9, expiresAt: 9 });
    const hash = `keyscope:rec:${record.digest}`;
    await store.insert(record);
    expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
    for (const field of ['keyId', 'digest', 'revokedAt', 'retireAt', 'expiresAt']) {
      const sound = String(await suite.own.ask('HGET', hash, field));
      for (const to of ['"text"', '[]', 'none', 'null ', '']) {
        await suite.own.ask('HSET', hash, field, to);
        expect(await store.summarize(5), `${field} = ${to}`).toEqual([]);
      }
      await suite.own.ask('HDEL', hash, field);
      expect(await store.summarize(5), field).toEqual([]);
      await suite.own.ask('HSET', hash, field, sound);
    }
    await suite.own.ask('HSET', hash, 'lastUsedAt', '"text"');
    expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
  });
});
