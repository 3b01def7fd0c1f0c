/**
 * A record keeps its place whatever an editor has made of it: a damaged row hides no other, and can
 * be revoked.
 */
import type { DamagedKey, IssuedKey, KeyInfo, ListPage } from 'keyscope';
import { digestKey } from 'keyscope';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { expect, test } from 'vitest';
import {
  AUTHORITY,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  type Ring,
  setUp,
  THIRD,
} from '../../support/keyring.ts';
import { outcome } from '../../support/outcome.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { describeWithRedis, useRedis } from '../../support/redis-servers.ts';

// ── Places ──────────────────────────────────────────────────────────────────────────────────────

/** The damaged field: JSON of another value, invalid JSON, or nothing. */
const DAMAGES = ['"other"', '5', '"0b0b0b0b-0000-4000-8000-00000000000b"', '[]', 'none', null];
const PLACES = ['keyId', 'entityId', 'prefix', 'createdAt', 'expiresAt', 'rootKeyId'] as const;

describeWithRedis.each(KINDS)('a damaged record, with %s,', (kind) => {
  const suite = useRedis();

  /** Three keys of one entity that address another one. The tests damage the second. */
  async function three() {
    const client: RedisClient = suite.client(kind);
    const store = redisStore(client);
    const { keyring, clock } = setUp({ store });
    const authority = { ...AUTHORITY, entities: [OWN, OTHER, THIRD] };
    const input = { ...PLAIN, accessibleEntities: [OTHER], expiresAt: new Date(clock.now() + 9e6) };
    const keys: IssuedKey[] = [];
    for (let i = 0; i < 3; i++) {
      clock.advance(1);
      keys.push(await keyring.issue(input, authority));
    }
    const second = keys[1] as IssuedKey;
    const hash = `keyscope:rec:${digestKey(second.key, PEPPER)}`;
    const ids = keys.map(({ info }) => info.keyId);
    return { store, keyring, keys, ids, second, hash, keyId: second.info.keyId };
  }

  async function damage(hash: string, field: string, to: string | null): Promise<void> {
    if (to === null) await suite.own.ask('HDEL', hash, field);
    else await suite.own.ask('HSET', hash, field, to);
  }

  /** Checks that it is listed as the second of three, newest first. */
  async function expectInPlace(keyring: Ring, ids: readonly string[], why: string): Promise<void> {
    const reversed = [...ids].reverse();
    const seen = [
      await keyring.list({}, AUTHORITY),
      await keyring.list({ addressing: true }, { entityId: OTHER }),
    ];
    for (const { keys } of seen) {
      expect(
        keys.map(({ state }) => state),
        why,
      ).toEqual(['live', 'damaged', 'live']);
      expect(
        keys.map(({ keyId }) => keyId),
        why,
      ).toEqual(reversed);
      expect(
        keys.map(({ entityId }) => entityId),
        why,
      ).toEqual([OWN, OWN, OWN]);
    }
  }

  /** The same, with one key on each page. */
  async function expectPages(keyring: Ring, ids: readonly string[], why: string): Promise<void> {
    const shown: string[] = [];
    let after: string | null = null;
    do {
      const page: ListPage<KeyInfo | DamagedKey> = await keyring.list(
        { limit: 1, after },
        AUTHORITY,
      );
      shown.push(...page.keys.map(({ keyId }) => keyId));
      after = page.next;
    } while (after !== null);
    expect(shown, why).toEqual([...ids].reverse());
  }

  test.each(PLACES)('keeps its place whatever its %s is', async (field) => {
    for (const to of DAMAGES) {
      const why = `${field} = ${to}`;
      await suite.own.ask('FLUSHALL');
      const { store, keyring, keys, ids, keyId, hash } = await three();
      await damage(hash, field, to);
      await expectInPlace(keyring, ids, why);
      await expectPages(keyring, ids, why);
      const shown = await keyring.get(keyId, AUTHORITY);
      expect(shown, why).toMatchObject({ state: 'damaged', keyId, entityId: OWN });
      const part = { after: null, limit: 10 };
      for (const { items } of [
        await store.listAll(part),
        await store.listExpiring({ ...part, before: 9e15 }),
      ]) {
        expect(items.map((row) => row.keyId).sort(), why).toEqual(ids.toSorted());
      }
      // It can still be revoked.
      await keyring.revoke(keyId, AUTHORITY);
      const ended = await keyring.get(keyId, AUTHORITY);
      expect(ended, why).toMatchObject({ state: 'revoked', keyId, entityId: OWN });
      for (const { key } of [keys[0], keys[2]] as IssuedKey[]) await keyring.verify(key);
    }
  });

  test('keeps its place if its id is that of another key', async () => {
    const { keyring, keys, ids, keyId, hash } = await three();
    await damage(hash, 'keyId', JSON.stringify(ids[0]));
    await expectInPlace(keyring, ids, 'the first id');
    await keyring.revoke(keyId, AUTHORITY);
    const shown = await keyring.get(keyId, AUTHORITY);
    expect(shown).toMatchObject({ state: 'revoked', keyId });
    await keyring.verify((keys[0] as IssuedKey).key);
  });

  test('keeps its place whatever entities it addresses', async () => {
    for (const to of [JSON.stringify([OWN]), JSON.stringify([OTHER]), '[]', '5', '"x"', null]) {
      await suite.own.ask('FLUSHALL');
      const { keyring, ids, hash } = await three();
      await damage(hash, 'accessibleEntities', to);
      await expectInPlace(keyring, ids, String(to));
    }
  });

  test('of another type costs one row of a listing', async () => {
    const { store, keyring, ids, keyId, hash } = await three();
    await suite.own.ask('DEL', hash);
    await suite.own.ask('LPUSH', hash, 'x');
    await expectInPlace(keyring, ids, 'a list');
    const { items } = await store.listAll({ after: null, limit: 10 });
    expect(items.map((row) => row.keyId).sort()).toEqual(ids.toSorted());
    expect(await store.summarize(0)).toMatchObject([{ live: 2 }]);
    expect(await outcome(() => keyring.get(keyId, AUTHORITY))).toBe('StoreError');
    expect(await outcome(() => keyring.revoke(keyId, AUTHORITY))).toBe('StoreError');
  });

  test('of a lineage is among its rows, even as the first key', async () => {
    const { keyring, store } = setUp({ store: redisStore(suite.client(kind)) });
    const { key, info } = await issue(keyring);
    const next = await keyring.rotate(info.keyId, { overlapMs: 5 }, AUTHORITY);
    const ids = [info.keyId, next.info.keyId].sort();
    const list = async (id: string) => store.listLineage({ rootKeyId: id, after: null, limit: 9 });
    for (const hashed of [key, next.key]) {
      const hash = `keyscope:rec:${digestKey(hashed, PEPPER)}`;
      const rootKeyId = (await suite.own.ask('HGET', hash, 'rootKeyId')) as string;
      await damage(hash, 'rootKeyId', 'none');
      const rows = await list(info.keyId);
      expect(rows.map((row) => row.keyId)).toEqual(ids);
      await damage(hash, 'rootKeyId', rootKeyId);
    }
    // The lineage of the second key has no first key.
    expect(await list(next.info.keyId)).toEqual([]);
    expect(await list(NOWHERE)).toEqual([]);
  });
});
