/** An insert that breaks off, is sent twice or is refused leaves no key that cannot be revoked. */
import type { Redis } from 'ioredis';
import type { KeyRecord, KeyStore } from 'keyscope';
import { type RedisClient, redisStore } from 'keyscope/stores/redis';
import { describe, expect, test } from 'vitest';
import { AUTHORITY, OTHER, OWN } from '../../support/keyring.ts';
import { outcome } from '../../support/outcome.ts';
import { describeWithRedis, keysOf, useRedis } from '../../support/redis-servers.ts';
import { unpeppered, unsealed } from '../../support/unsealed.ts';

/** What becomes of one command. */
const BREAKS = ['is not sent', 'is sent, and its answer lost', 'is sent twice'] as const;
type Break = (typeof BREAKS)[number];

const ended = () => new Error('the process has ended');

/** A client that breaks at the n-th command from `arm` on, as a process that ends there. */
function breaking(real: Redis, n: number, how: Break): { client: RedisClient; arm(): void } {
  let armed = false;
  let sent = 0;
  async function call(command: string, ...args: string[]): Promise<unknown> {
    const send = () => real.call(command, ...args);
    if (!armed) return send();
    sent += 1;
    if (sent < n) return send();
    if (how === 'is sent twice') {
      if (sent === n) await send();
      return send();
    }
    if (sent === n && how === 'is sent, and its answer lost') await send();
    throw ended();
  }
  return {
    client: { call },
    arm() {
      armed = true;
    },
  };
}

/** All keys that a store lists of an entity. */
async function listed(store: KeyStore, entityUuid: string): Promise<readonly KeyRecord[]> {
  return store.list({ entityUuid, after: null, limit: 10 });
}

const STEPS = [1, 2, 3, 4, 5];

describeWithRedis('an insert', () => {
  const suite = useRedis('--enable-debug-command', 'yes');
  const storeOf = () => redisStore(suite.client('ioredis'));

  /** Inserts with a client that breaks, and says what came of it. */
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

  /** What is left of an insert that wrote no record is in nobody's way. */
  async function expectUnhindered(key: string, record: KeyRecord): Promise<void> {
    const store = storeOf();
    const again = { ...record, keyId: crypto.randomUUID() };
    await store.insert(again);
    expect(await listed(store, OWN)).toEqual([again]);
    expect(await store.findById(record.keyId)).toBe(null);
    expect(await store.markEnded(record.keyId, { revokedAt: 5 })).toBe(false);
    await store.touch([{ keyId: record.keyId, lastUsedAt: 5, scopesUsed: {} }]);
    expect(await outcome(() => unpeppered(store).verify(key))).toBe('passed');
  }

  describe.each(BREAKS)('of which a command %s', (how) => {
    test.each(STEPS)('leaves no usable key that cannot be revoked: command %i', async (n) => {
      const store = storeOf();
      const keyring = unpeppered(store);
      const { key, record } = unsealed();
      const came = await insertBroken(record, n, how);
      const isWrittenLast = n === 4 && how !== 'is not sent';
      const isWrittenTwice = how === 'is sent twice' && n !== 1;
      const usable = n === 5 || isWrittenLast || isWrittenTwice;
      if (n === 5) expect(came).toBe('inserted');
      expect(await outcome(() => keyring.verify(key))).toBe(
        usable ? 'passed' : 'invalid_token unknown_key',
      );
      expect(await listed(store, OWN)).toEqual(usable ? [record] : []);
      expect(await store.findById(record.keyId)).toEqual(usable ? record : null);
      const line = { scheme: 's1', live: 1, lastUsedAt: null };
      expect(await store.summarize(5)).toEqual(usable ? [line] : []);
      if (!usable) return expectUnhindered(key, record);
      await keyring.revoke(record.keyId, AUTHORITY);
      expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
    });

    test.each([...STEPS, 6, 7])('leaves the owner of its digest alone: command %i', async (n) => {
      const store = storeOf();
      const { record } = unsealed();
      await store.insert(record);
      const keyId = crypto.randomUUID();
      const loser = { ...record, keyId, entityUuid: OTHER, accessibleEntities: [OTHER] };
      expect(await insertBroken(loser, n, how)).toMatch(/^Error: /);
      expect(await store.findById(record.keyId)).toEqual(record);
      expect(await store.findByDigest([record.digest])).toEqual([record]);
      expect(await listed(store, OWN)).toEqual([record]);
      expect(await store.findById(keyId)).toBe(null);
      expect(await listed(store, OTHER)).toEqual([]);
      expect(await store.markEnded(keyId, { revokedAt: 5 })).toBe(false);
      await store.touch([{ keyId, lastUsedAt: 5, scopesUsed: {} }]);
      expect(await store.findById(record.keyId)).toEqual(record);
    });
  });

  test('that is refused leaves nothing of its own and takes nothing of the other', async () => {
    const store = storeOf();
    const { record } = unsealed();
    await store.insert(record);
    const before = await suite.own.ask('DEBUG', 'DIGEST');
    const known = (await keysOf(suite.own, '*')).sort();
    const sameDigest = 'keyscope: a key with this digest exists already';
    const sameId = 'keyscope: a key with this id exists already';
    await expect(store.insert({ ...record, keyId: OTHER })).rejects.toThrow(sameDigest);
    await expect(store.insert({ ...record, digest: 's1$other' })).rejects.toThrow(sameId);
    await expect(store.insert(record)).rejects.toThrow(sameId);
    expect((await keysOf(suite.own, '*')).sort()).toEqual(known);
    expect(await suite.own.ask('ZCARD', `keyscope:entity:${OWN}`)).toBe(1);
    expect(await suite.own.ask('DEBUG', 'DIGEST')).toBe(before);
  });
});
