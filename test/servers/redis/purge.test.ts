/**
 * The keys that `purgeEnded` deletes and keeps, and interruptions at every command.
 * `purge-lineage.test.ts` tests the first key of a chain.
 */
import type { Redis } from 'ioredis';
import type { KeyRecord, Mark } from 'keyscope';
import { type PurgeOptions, purgeEnded, type RedisClient, redisStore } from 'keyscope/stores/redis';
import { describe, expect, test, vi } from 'vitest';
import { NOWHERE, OTHER, OWN, THIRD, thrown, untyped } from '../../support/keyring.ts';
import { BREAKS, breaking } from '../../support/redis-breaks.ts';
import { KINDS } from '../../support/redis-clients.ts';
import { commandsOf, describeWithRedis, keysOf, useRedis } from '../../support/redis-servers.ts';
import { unsealed } from '../../support/unsealed.ts';

const DAY = 86_400_000;
/** Before now, with room for earlier times. */
const BEFORE = 1_000_000;
const ENDED_BEFORE: PurgeOptions = { endedBefore: new Date(BEFORE) };
const PART = { after: null, limit: 1000 } as const;

/** A record with these fields, that addresses two other entities. */
function recordOf(given: Partial<KeyRecord>): KeyRecord {
  return unsealed({ accessibleEntities: [OWN, OTHER, THIRD], ...given }).record;
}

/** The successor of a key. */
function successorOf({ keyId, rootKeyId }: KeyRecord, given: Partial<KeyRecord>): KeyRecord {
  return recordOf({ rotatedFrom: keyId, rootKeyId, ...given });
}

const idsOf = (records: readonly KeyRecord[]) => records.map(({ keyId }) => keyId).sort();

describeWithRedis.each(KINDS)('a purge, with %s,', (kind) => {
  const suite = useRedis();
  const storeOf = () => redisStore(suite.client(kind));

  async function insertAll(records: readonly KeyRecord[]): Promise<void> {
    const store = storeOf();
    await Promise.all(records.map((record) => store.insert(record)));
  }

  /** Purges, and expects that only these records are left, in every listing. */
  async function expectLeft(left: readonly KeyRecord[], all: readonly KeyRecord[]): Promise<void> {
    const store = storeOf();
    const deleted = await purgeEnded(suite.client(kind), ENDED_BEFORE);
    const gone = all.filter((record) => !left.includes(record));
    expect([...deleted].sort()).toEqual(idsOf(gone));
    expect(idsOf((await store.listAll(PART)).items)).toEqual(idsOf(left));
    for (const { keyId, digest } of gone) {
      expect(await store.findById(keyId)).toBe(null);
      expect(await store.findByDigest([digest])).toEqual([]);
    }
    for (const record of left) expect(await store.findById(record.keyId)).toEqual(record);
    expect(await purgeEnded(suite.client(kind), ENDED_BEFORE)).toEqual([]);
  }

  test('deletes exactly the keys that ended, and last changed, before the time', async () => {
    const early = BEFORE - 1;
    const gone = [
      recordOf({ revokedAt: early }),
      recordOf({ retireAt: early }),
      recordOf({ expiresAt: early }),
      recordOf({ revokedAt: early, retireAt: BEFORE, expiresAt: BEFORE + 1 }),
      recordOf({ revokedAt: BEFORE, retireAt: -5, expiresAt: BEFORE }),
      recordOf({ revokedAt: BEFORE, retireAt: BEFORE, expiresAt: 0 }),
      recordOf({ expiresAt: early, suspendedAt: 5 }),
      recordOf({ expiresAt: early, createdAt: early, changedAt: early }),
    ];
    const left = [
      recordOf({}),
      recordOf({ suspendedAt: 5, changedAt: 5 }),
      recordOf({ lastUsedAt: 5, withdrawn: [OTHER] }),
      recordOf({ revokedAt: BEFORE }),
      recordOf({ retireAt: BEFORE }),
      recordOf({ expiresAt: BEFORE }),
      recordOf({ revokedAt: BEFORE, retireAt: BEFORE + 1, expiresAt: Date.now() + DAY }),
      recordOf({ expiresAt: early, createdAt: BEFORE }),
      recordOf({ expiresAt: early, changedAt: BEFORE }),
      recordOf({ revokedAt: early, changedAt: BEFORE + 1 }),
    ];
    await insertAll([...gone, ...left]);
    await expectLeft(left, [...gone, ...left]);
  });

  test('leaves no trace of the deleted keys', async () => {
    const store = storeOf();
    const root = recordOf({ expiresAt: 5 });
    const next = successorOf(root, { expiresAt: 7 });
    await insertAll([root, next]);
    const marks: readonly Mark[] = [
      { kind: 'suspend', at: 8, by: null, reason: null },
      { kind: 'resume', at: 9 },
      { kind: 'withdraw', at: 10, entityId: OTHER },
      { kind: 'revoke', at: 11, by: null, reason: null, seal: null },
      // Writes only its entry.
      { kind: 'revoke', at: 12, by: null, reason: null, seal: null },
    ];
    for (const mark of marks) await store.mark(next.keyId, mark);
    await store.touch([{ keyId: root.keyId, lastUsedAt: 6, scopesUsed: { 'a:b': 6 } }]);
    const deleted = await purgeEnded(suite.client(kind), ENDED_BEFORE);
    expect([...deleted].sort()).toEqual(idsOf([root, next]));
    expect(await keysOf(suite.own, '*')).toEqual(['keyscope:schema']);
  });

  test('leaves the entries of marks that could still be written, or count', async () => {
    const store = storeOf();
    const record = recordOf({});
    await store.insert(record);
    const { keyId } = record;
    const suspend = { kind: 'suspend', by: null, reason: null } as const;
    await store.mark(keyId, { ...suspend, at: 5 });
    // Each writes only its entry.
    for (const at of [4, 6, Date.now() - 60_000]) await store.mark(keyId, { ...suspend, at });
    await purgeEnded(suite.client(kind), { endedBefore: new Date() });
    expect(await suite.own.ask('ZCARD', 'keyscope:changes')).toBe(2);
    expect(await store.listChanged({ since: 0, limit: 9 })).toEqual([{ keyId, changedAt: 5 }]);
  });

  test('continues over more than one page', async () => {
    const many = Array.from({ length: 1100 }, (_, index) =>
      recordOf({ createdAt: 0, expiresAt: index, accessibleEntities: [OWN] }),
    );
    await insertAll(many);
    const left = many.filter(({ expiresAt }) => Number(expiresAt) >= 1050);
    const endedBefore = new Date(1050);
    const deleted = await purgeEnded(suite.client(kind), { endedBefore });
    expect(deleted).toHaveLength(1050);
    expect(idsOf((await storeOf().listAll(PART)).items)).toEqual(idsOf(left));
  });

  // It read every record: 100 times as many commands for 100 times the keys.
  test('sends as few commands for 1,000 keys as for 10', async () => {
    const client = suite.client(kind);
    const live = Array.from({ length: 990 }, (_, index) =>
      recordOf({ expiresAt: index % 2 === 0 ? null : BEFORE + index, suspendedAt: 5 }),
    );
    const commands = async () => {
      await purgeEnded(client, ENDED_BEFORE);
      return commandsOf(suite.own, async () => purgeEnded(client, ENDED_BEFORE));
    };
    await insertAll(live.slice(0, 10));
    const few = await commands();
    await insertAll(live.slice(10));
    expect(await commands()).toEqual(few);
  });

  test('deletes only under its own prefix', async () => {
    const client = suite.client(kind);
    const other = redisStore(client, { prefix: 'other:' });
    const record = recordOf({ revokedAt: 5 });
    await other.insert(record);
    expect(await purgeEnded(client, ENDED_BEFORE)).toEqual([]);
    expect(await purgeEnded(client, ENDED_BEFORE, { prefix: 'other:' })).toEqual([record.keyId]);
  });

  test('works while memory is full', async () => {
    const record = recordOf({ revokedAt: 5 });
    await insertAll([record]);
    await suite.own.ask('CONFIG', 'SET', 'maxmemory', '1');
    expect(await purgeEnded(suite.client(kind), ENDED_BEFORE)).toEqual([record.keyId]);
  });

  test('rejects keys of a layout that it does not know', async () => {
    const record = recordOf({ revokedAt: 5 });
    await insertAll([record]);
    await suite.own.ask('HSET', 'keyscope:schema', 'version', '2', 'min_reader', '2');
    const purge = purgeEnded(suite.client(kind), ENDED_BEFORE);
    await expect(purge).rejects.toThrow('has schema version 2');
    expect(await suite.own.ask('EXISTS', `keyscope:rec:${record.digest}`)).toBe(1);
  });
});

describeWithRedis('a purge', () => {
  const suite = useRedis();

  test('checks again before it deletes', async () => {
    const real = suite.client('ioredis') as Redis;
    const store = redisStore(real);
    const edits = [
      ['revokedAt', 'null'],
      ['revokedAt', String(BEFORE)],
      ['changedAt', String(BEFORE)],
      ['createdAt', String(BEFORE)],
      ['revokedAt', '5.0'],
      ['revokedAt', '0x5'],
      ['expiresAt', 'none'],
      ['keyId', JSON.stringify(NOWHERE)],
    ];
    for (const [field = '', to = ''] of edits) {
      const record = recordOf({ revokedAt: 5 });
      await store.insert(record);
      const hash = `keyscope:rec:${record.digest}`;
      // Edited after it was read: the lineage is read in between.
      const client: RedisClient = {
        async call(command, ...args) {
          const isLineage = args[2] === `keyscope:lineage:${record.keyId}`;
          if (isLineage) await real.hset(hash, field, to);
          return real.call(command, ...args);
        },
      };
      expect(await purgeEnded(client, ENDED_BEFORE), `${field} = ${to}`).toEqual([]);
      expect(await real.hget(hash, field)).toBe(to);
      await real.del(hash);
    }
  });

  const STEPS = Array.from({ length: 24 }, (_, index) => index + 1);
  const breaks = BREAKS.flatMap((how) => STEPS.map((n) => [n, how] as const));

  test.each(breaks)(
    'that is interrupted at command %i, which %s, leaves nothing half deleted',
    async (n, how) => {
      const real = suite.client('ioredis') as Redis;
      const store = redisStore(real);
      const root = recordOf({ revokedAt: 5, changedAt: 5 });
      const next = successorOf(root, { revokedAt: 6 });
      const live = recordOf({});
      for (const record of [root, next, live]) await store.insert(record);
      const { client, arm } = breaking(real, n, how);
      arm();
      const first = await purgeEnded(client, ENDED_BEFORE).catch(() => []);
      const left: KeyRecord[] = [];
      for (const record of [root, next, live]) {
        const row = await store.findById(record.keyId);
        expect(await store.findByDigest([record.digest])).toEqual(row === null ? [] : [record]);
        if (row !== null) left.push(record);
      }
      expect(left).toContain(live);
      const query = { prefix: 'acme', entityId: OTHER, addressing: true, ...PART };
      expect(idsOf(await store.list(query))).toEqual(idsOf(left));
      expect(idsOf(await store.listLineage({ rootKeyId: root.keyId, ...PART }))).toEqual(
        idsOf(left.filter((record) => record !== live)),
      );
      expect(idsOf((await store.listAll(PART)).items)).toEqual(idsOf(left));
      // The next purge finishes.
      const second = await purgeEnded(real, ENDED_BEFORE);
      expect(idsOf((await store.listAll(PART)).items)).toEqual([live.keyId]);
      const both = [...first, ...second].sort();
      expect(idsOf([root, next])).toEqual(expect.arrayContaining(both));
    },
  );
});

describe('the time of a purge', () => {
  const silent: RedisClient = { call: async () => Promise.reject(new Error('was asked')) };

  async function told(options: unknown): Promise<string> {
    const error = await thrown(() => purgeEnded(silent, untyped<PurgeOptions>(options)));
    return String(error);
  }

  test('must be a valid date that is not in the future', async () => {
    const instead = 'endedBefore: pass a valid Date that is not in the future';
    const soon = new Date(Date.now() + 1000);
    const odd = [
      new Date(Number.NaN),
      soon,
      5,
      '2020-01-01',
      null,
      undefined,
      { getTime: () => 5 },
    ];
    for (const endedBefore of odd) {
      expect(await told({ endedBefore })).toBe(`TypeError: purgeEnded: ${instead}`);
    }
    expect(await told({})).toContain(instead);
    expect(await told(undefined)).toMatch(/^TypeError: purgeEnded: pass an object/);
    const more = { endedBefore: new Date(0), prefix: 'a' };
    expect(await told(more)).toMatch(/^TypeError: purgeEnded: unknown field "prefix"/);
    expect(await told({ endedBefore: new Date(0) })).toBe('Error: redis: was asked');
    const client = purgeEnded(untyped<RedisClient>({}), { endedBefore: new Date(0) });
    await expect(client).rejects.toThrow(/^purgeEnded: pass a client/);
  });

  test('may be now', async () => {
    const now = new Date();
    vi.setSystemTime(now);
    expect(await told({ endedBefore: now })).toBe('Error: redis: was asked');
    vi.useRealTimers();
  });
});
