/** An insert that is interrupted, sent twice or rejected leaves no key that cannot be revoked. */
import type { Redis } from 'ioredis';
import type { KeyRecord, KeyStore } from 'keyscope';
import { redisStore } from 'keyscope/stores/redis';
import { describe, expect, test } from 'vitest';
import { AUTHORITY, NOWHERE, OTHER, OWN, THIRD } from '../../support/keyring.ts';
import { outcome } from '../../support/outcome.ts';
import { BREAKS, type Break, breaking } from '../../support/redis-breaks.ts';
import { describeWithRedis, keysOf, useRedis } from '../../support/redis-servers.ts';
import { unpeppered, unsealed } from '../../support/unsealed.ts';

const REVOKE = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;
const PART = { after: null, limit: 10 } as const;

/** A record that is in every index: it addresses another entity, and was rotated. */
function filedEverywhere() {
  const accessibleEntities = [OWN, OTHER];
  return unsealed({ accessibleEntities, rotatedFrom: NOWHERE, rootKeyId: NOWHERE });
}

/** The listings of the keys of these entities. */
async function listed(
  store: Required<KeyStore>,
  entities: readonly string[],
): Promise<readonly (readonly KeyRecord[])[]> {
  const lists: (readonly KeyRecord[])[] = [];
  for (const entityId of entities) {
    for (const addressing of [false, true]) {
      lists.push(await store.list({ prefix: 'acme', entityId, addressing, ...PART }));
    }
  }
  const all = await store.listAll(PART);
  return [...lists, await store.listLineage({ rootKeyId: NOWHERE, ...PART }), all.items];
}

/** Id, four entries, record. At the next command nothing breaks. */
const STEPS = [1, 2, 3, 4, 5, 6, 7];
const RECORD_STEP = 6;
const NO_STEP = 7;

describeWithRedis('an insert', () => {
  const suite = useRedis('--enable-debug-command', 'yes');
  const storeOf = () => redisStore(suite.client('ioredis'));

  /** Inserts with a client that breaks, and returns the outcome. */
  async function insertBroken(record: KeyRecord, n: number, how: Break): Promise<string> {
    const { client, arm } = breaking(suite.client('ioredis') as Redis, n, how);
    const store = redisStore(client);
    // The start is over before it breaks.
    await store.findById(OTHER);
    arm();
    try {
      await store.insert(record);
      return 'inserted';
    } catch (error) {
      return String(error);
    }
  }

  /** The remains of an insert that wrote no record block nothing. */
  async function expectUnhindered(key: string, record: KeyRecord): Promise<void> {
    const store = storeOf();
    const again = { ...record, keyId: crypto.randomUUID() };
    await store.insert(again);
    expect(await listed(store, [OWN, OTHER])).toEqual([[again], [], [], [again], [again], [again]]);
    expect(await store.findById(record.keyId)).toBe(null);
    expect(await store.mark(record.keyId, REVOKE)).toBe(false);
    expect(await store.listChanged({ since: 0, limit: 10 })).toEqual([]);
    await store.touch([{ keyId: record.keyId, lastUsedAt: 5, scopesUsed: {} }]);
    expect(await outcome(() => unpeppered(store).verify(key))).toBe('passed');
  }

  describe.each(BREAKS)('one of whose commands %s', (how) => {
    test.each(STEPS)('leaves no usable key that cannot be revoked: command %i', async (n) => {
      const store = storeOf();
      const keyring = unpeppered(store);
      const { key, record } = filedEverywhere();
      const came = await insertBroken(record, n, how);
      const isWrittenLast = n === RECORD_STEP && how !== 'is not sent';
      const isWrittenTwice = how === 'is sent twice' && n !== 1;
      const usable = n === NO_STEP || isWrittenLast || isWrittenTwice;
      if (n === NO_STEP) expect(came).toBe('inserted');
      expect(await outcome(() => keyring.verify(key))).toBe(
        usable ? 'passed' : 'invalid_token unknown_key',
      );
      const rows = usable ? [record] : [];
      expect(await listed(store, [OWN, OTHER])).toEqual([rows, [], [], rows, rows, rows]);
      expect(await store.findById(record.keyId)).toEqual(usable ? record : null);
      const line = { scheme: 's1', live: 1, lastUsedAt: null };
      expect(await store.summarize(5)).toEqual(usable ? [line] : []);
      if (!usable) return expectUnhindered(key, record);
      await keyring.revoke(record.keyId, AUTHORITY);
      expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
    });

    // Then the entries, the id, and nothing.
    const cleaning = [8, 9, 10, 11, 12];
    test.each([...STEPS, ...cleaning])(
      'does not affect the owner of its digest: command %i',
      async (n) => {
        const store = storeOf();
        const { record } = filedEverywhere();
        await store.insert(record);
        const keyId = crypto.randomUUID();
        const entities = { entityId: OTHER, accessibleEntities: [OTHER, THIRD] };
        const loser = { ...record, keyId, ...entities };
        expect(await insertBroken(loser, n, how)).toMatch(/^Error: /);
        expect(await store.findById(record.keyId)).toEqual(record);
        expect(await store.findByDigest([record.digest])).toEqual([record]);
        const own = [record];
        const lists = [own, [], [], own, [], [], own, own];
        expect(await listed(store, [OWN, OTHER, THIRD])).toEqual(lists);
        expect(await store.summarize(5)).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
        expect(await store.findById(keyId)).toBe(null);
        expect(await store.mark(keyId, REVOKE)).toBe(false);
        await store.touch([{ keyId, lastUsedAt: 5, scopesUsed: {} }]);
        expect(await store.findById(record.keyId)).toEqual(record);
      },
    );
  });

  test('leaves nothing, and takes nothing of the other key, if it is rejected', async () => {
    const store = storeOf();
    const { record } = filedEverywhere();
    await store.insert(record);
    const before = await suite.own.ask('DEBUG', 'DIGEST');
    const known = (await keysOf(suite.own, '*')).sort();
    const sameDigest = 'keyscope: a key with this digest exists already';
    const sameId = 'keyscope: a key with this id exists already';
    await expect(store.insert({ ...record, keyId: OTHER })).rejects.toThrow(sameDigest);
    await expect(store.insert({ ...record, digest: 's1$other' })).rejects.toThrow(sameId);
    await expect(store.insert(record)).rejects.toThrow(sameId);
    expect((await keysOf(suite.own, '*')).sort()).toEqual(known);
    expect(await suite.own.ask('ZCARD', `keyscope:own:acme:${OWN}`)).toBe(1);
    expect(await suite.own.ask('DEBUG', 'DIGEST')).toBe(before);
  });

  // Its entries could not be read again, so it could not be revoked.
  test('rejects a key id, a prefix or a digest with a colon or a NUL', async () => {
    const store = storeOf();
    await store.findById(OTHER);
    const known = await keysOf(suite.own, '*');
    for (const field of ['keyId', 'prefix', 'digest']) {
      for (const text of ['a:b', 'a\0b']) {
        const { record } = unsealed({ [field]: text });
        await expect(store.insert(record)).rejects.toThrow('has a colon or NUL');
      }
    }
    expect(await keysOf(suite.own, '*')).toEqual(known);
  });
});
