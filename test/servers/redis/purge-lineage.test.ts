/** The first key of a chain, which stays while another key of its lineage has not ended. */
import type { KeyRecord } from 'keyscope';
import { type PurgeOptions, purgeEnded, redisStore } from 'keyscope/stores/redis';
import { expect, test } from 'vitest';
import { NOWHERE, OWN } from '../../support/keyring.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { commandsOf, describeWithRedis, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

const DAY = 86_400_000;
/** Before now, with room for earlier times. */
const BEFORE = 1_000_000;
const ENDED_BEFORE: PurgeOptions = { endedBefore: new Date(BEFORE) };

function recordOf(given: Partial<KeyRecord>): KeyRecord {
  return unsealed({ accessibleEntities: [OWN], ...given }).record;
}

/** The successor of a key. */
function successorOf({ keyId, rootKeyId }: KeyRecord, given: Partial<KeyRecord>): KeyRecord {
  return recordOf({ rotatedFrom: keyId, rootKeyId, ...given });
}

const idsOf = (records: readonly KeyRecord[]) => records.map(({ keyId }) => keyId).sort();

describeWithRedis.each(KINDS)('the first key of a chain, with %s,', (kind) => {
  const suite = useRedis();

  async function insertAll(records: readonly KeyRecord[]): Promise<void> {
    const store = redisStore(suite.client(kind));
    await Promise.all(records.map((record) => store.insert(record)));
  }

  async function purged(): Promise<readonly string[]> {
    const deleted = await purgeEnded(suite.client(kind), ENDED_BEFORE);
    return [...deleted].sort();
  }

  test('stays while another key of the chain has not ended, and no key between them', async () => {
    const heirs: readonly Partial<KeyRecord>[] = [
      { expiresAt: null },
      { suspendedAt: 5, changedAt: 5 },
      { retireAt: Date.now() + DAY, expiresAt: Date.now() + 2 * DAY },
    ];
    const chains = heirs.map((heir) => {
      const root = recordOf({ retireAt: 5 });
      const second = successorOf(root, { retireAt: 5 });
      return { root, second, last: successorOf(second, heir) };
    });
    await insertAll(chains.flatMap(({ root, second, last }) => [root, second, last]));
    expect(await purged()).toEqual(idsOf(chains.map(({ second }) => second)));
    const store = redisStore(suite.client(kind));
    for (const { root } of chains) expect(await store.findById(root.keyId)).toEqual(root);
    expect(await purged()).toEqual([]);
  });

  test('stays while a key that was issued under it has not ended', async () => {
    const parent = recordOf({ revokedAt: 5 });
    const child = recordOf({ issuedUnder: parent.keyId });
    const before = recordOf({ revokedAt: 5 });
    const over = recordOf({ issuedUnder: before.keyId, expiresAt: 7 });
    await insertAll([parent, child, before, over]);
    expect(await purged()).toEqual(idsOf([before, over]));
  });

  test('goes if the others have ended by now, though after the time', async () => {
    const ends: readonly Partial<KeyRecord>[] = [
      { revokedAt: BEFORE + 5 },
      { revokedAt: Date.now() + DAY },
      { retireAt: Date.now() - 1 },
      { expiresAt: Date.now() - 1 },
    ];
    const roots = ends.map(() => recordOf({ retireAt: 5 }));
    const heirs = ends.map((end, index) => successorOf(roots[index] as KeyRecord, end));
    await insertAll([...roots, ...heirs]);
    expect(await purged()).toEqual(idsOf(roots));
  });

  test('stays while the end of another key is not a time, as that key does', async () => {
    const { own } = suite;
    const roots = Array.from({ length: 7 }, () => recordOf({ revokedAt: 5 }));
    // The first one lives.
    const heirs = roots.map((root, index) =>
      successorOf(root, { revokedAt: index === 0 ? null : 5 }),
    );
    await insertAll([...roots, ...heirs]);
    const damages = [
      ['HSET', 'rotatedFrom', 'none'],
      ['HDEL', 'revokedAt'],
      ['HSET', 'revokedAt', '"5"'],
      ['HSET', 'expiresAt', '5 '],
      ['HSET', 'format', '2'],
      ['HSET', 'keyId', JSON.stringify(NOWHERE)],
    ];
    for (const [index, [command = '', ...args]] of damages.entries()) {
      await own.ask(command, `keyscope:rec:${heirs[index]?.digest}`, ...args);
    }
    const replaced = `keyscope:rec:${heirs[6]?.digest}`;
    await own.ask('DEL', replaced);
    await own.ask('LPUSH', replaced, 'x');
    // A later format, or an edited id, does not prove that it was not revoked in time.
    expect(await purged()).toEqual(idsOf([roots[4], roots[5]] as KeyRecord[]));
    for (const { digest } of heirs) {
      expect(await own.ask('EXISTS', `keyscope:rec:${digest}`)).toBe(1);
    }
  });

  test('stays for one living key behind hundreds that have ended', async () => {
    const root = recordOf({ retireAt: 5 });
    const kin = Array.from({ length: 320 }, () => successorOf(root, { revokedAt: BEFORE }));
    const last = kin.toSorted((one, other) => (one.keyId < other.keyId ? 1 : -1))[0] as KeyRecord;
    const others = kin.filter((record) => record !== last);
    await insertAll([root, ...others, { ...last, revokedAt: null }]);
    expect(await purged()).toEqual([]);
    await suite.own.ask('HSET', `keyscope:rec:${last.digest}`, 'revokedAt', String(BEFORE));
    expect(await purged()).toEqual([root.keyId]);
  });

  test('costs no more commands with 1,000 living keys than with 200', async () => {
    const root = recordOf({ retireAt: 5 });
    const kin = Array.from({ length: 1000 }, () => successorOf(root, {}));
    await insertAll([root, ...kin.slice(0, 200)]);
    const few = await commandsOf(suite.own, purged);
    await insertAll(kin.slice(200));
    expect(await commandsOf(suite.own, purged)).toEqual(few);
  });

  // Its time stays, under which it is not filed.
  test('is found by a later purge if it was marked by hand and then revoked', async () => {
    const store = redisStore(suite.client(kind));
    const root = recordOf({ seal: 'ab' });
    const heir = successorOf(root, {});
    await insertAll([root, heir]);
    await suite.own.ask('HSET', `keyscope:rec:${root.digest}`, 'revokedAt', '5');
    const revoke = { kind: 'revoke', at: 6, by: null, reason: null, seal: null } as const;
    expect(await store.mark(root.keyId, { ...revoke, replaces: 'ab' })).toBe(true);
    expect(await purged()).toEqual([]);
    await store.mark(heir.keyId, revoke);
    expect(await purged()).toEqual(idsOf([root, heir]));
  });
});
