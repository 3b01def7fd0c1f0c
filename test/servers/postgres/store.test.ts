import type { UsageEntry } from 'keyscope';
import { postgresStore } from 'keyscope/stores/postgres';
import { storeContract } from 'keyscope/testing';
import postgres from 'postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import { OTHER, OWN, START } from '../../support/keyring.ts';
import { expectNoKeyIn } from '../../support/leaks.ts';
import { expectLooseCalls } from '../../support/loose.ts';
import {
  emptySchema,
  type Opened,
  ofPg,
  ofPostgresJs,
  pgClient,
  pgPool,
  postgresJs,
  type Settings,
  sharedPglite,
} from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describeKind,
  describePostgres,
  KINDS,
  RECORD,
  using,
} from '../../support/postgres-place.ts';

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(KINDS)('%s', (kind) => {
  describeKind(kind)('the store', () => {
    const used = using(kind);
    storeContract(test, () => used.store);
  });
});

describePostgres('without batches or prepared statements, with unusual settings', () => {
  const used = using('pg Pool of 10', {
    TimeZone: 'America/St_Johns',
    DateStyle: 'SQL, DMY',
    standard_conforming_strings: 'off',
    extra_float_digits: '-15',
    array_nulls: 'off',
    transform_null_equals: 'on',
    quote_all_identifiers: 'on',
    plan_cache_mode: 'force_generic_plan',
    synchronous_commit: 'off',
  });
  storeContract(test, () => postgresStore(used.client, { batch: false, prepare: false }));
});

/** The first page of a listing. */
const FIRST = { prefix: 'acme', after: null, limit: 3 } as const;

/** Configurations of a client that could change an answer. */
const CONFIGURED: Readonly<Record<string, (settings: Settings) => Promise<Opened>>> = {
  'pg with integers as bigint and JSON as text': async (settings) => {
    function getTypeParser(oid: number): (raw: string) => unknown {
      const isInteger = oid === 20;
      return (raw) => (isInteger ? BigInt(raw) : raw);
    }
    return ofPg(pgPool(settings, { types: { getTypeParser: getTypeParser as never } }));
  },
  'pg with a pipeline': async (settings) => ofPg(await pgClient(settings, { pipeline: true })),
  'pg in another client encoding': async (settings) =>
    ofPg(pgPool(settings, { client_encoding: 'LATIN1' })),
  'postgres.js with columns in camel case': async (settings) =>
    ofPostgresJs(postgresJs(settings, { transform: postgres.camel })),
  'postgres.js with columns in kebab case': async (settings) =>
    ofPostgresJs(postgresJs(settings, { transform: postgres.kebab })),
  'postgres.js with integers as bigint': async (settings) =>
    ofPostgresJs(postgresJs(settings, { types: { bigint: postgres.BigInt } as never })),
  'postgres.js without types and prepared statements': async (settings) =>
    ofPostgresJs(
      postgresJs(settings, { fetch_types: false, prepare: false, connection: settings }),
    ),
};

describePostgres.each(Object.entries(CONFIGURED))('%s', (_name, opener) => {
  test('reads and writes like every other client', async () => {
    const schema = await emptySchema();
    const { client, end } = await opener(schema.settings);
    const store = postgresStore(client);
    const max = 8_640_000_000_000_000;
    const record = { ...RECORD, createdAt: max };
    await store.insert(record);
    const read = [
      await store.findById(record.keyId),
      ...(await store.findByDigest([record.digest])),
      ...(await store.findByDigest([record.digest, another(1).digest, another(2).digest])),
      ...(await store.list({ ...FIRST, entityId: OWN })),
      ...(await store.list({ ...FIRST, entityId: OTHER, addressing: true })),
      ...(await store.listLineage({ rootKeyId: record.rootKeyId, after: null, limit: 3 })),
      ...(await store.listAll({ after: null, limit: 3 })).items,
      ...(await store.list({
        ...FIRST,
        entityId: OWN,
        after: { createdAt: max, keyId: OTHER.replace('0b', 'ff') },
      })),
    ];
    expect(read).toEqual(Array.from({ length: 8 }, () => record));
    const retire = { kind: 'retire', at: max, retireAt: max, by: 'ada é🦊', reason: null } as const;
    const ended = [await store.mark(record.keyId, retire), await store.mark(record.keyId, retire)];
    expect(ended).toEqual([true, false]);
    const ending = { retireAt: max, changedAt: max, endedBy: 'ada é🦊' };
    await store.touch([
      { keyId: record.keyId, lastUsedAt: max, scopesUsed: { 'a:b': max, 'c:d': 1 } },
    ]);
    const scopesUsed = { 'a:b': max, 'c:d': 1 };
    expect(await store.findById(record.keyId)).toEqual({
      ...record,
      ...ending,
      lastUsedAt: max,
      scopesUsed,
    });
    expect(await store.summarize(0)).toEqual([{ scheme: 's1', live: 1, lastUsedAt: max }]);
    const changed = { keyId: record.keyId, changedAt: max };
    expect(await store.listChanged({ since: max, limit: 3 })).toEqual([changed]);
    await expect(async () => store.insert(record)).rejects.toThrow('duplicate key value');
    await end();
    await schema.drop();
  });
});

test('summarizes now by default, and lists from the newest key by default', async () => {
  await alone('PGlite', async ({ client }) => {
    const store = postgresStore(client);
    await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
    await store.insert({ ...another(2), expiresAt: Date.now() + 60_000 });
    const summarize = store.summarize as () => unknown;
    expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
    await expectLooseCalls(store, OWN);
  });
});

test('writes no key into the table', async () => {
  await alone('PGlite', async ({ client, sql }) => {
    await expectNoKeyIn(postgresStore(client), async () =>
      JSON.stringify(await sql('SELECT * FROM keyscope_keys')),
    );
  });
});

describePostgres('touch', () => {
  const used = using('pg Pool of 10');
  const records = Array.from({ length: 60 }, (_, i) => another(i));
  beforeAll(async () => {
    for (const record of records) await used.store.insert(record);
  });

  test('never ends in a deadlock, whatever the order of many batches at once', async () => {
    /** Usage of all keys, in a random order. */
    function batchOf(index: number): UsageEntry[] {
      const usage = {
        lastUsedAt: START + index,
        scopesUsed: { 'a:b': START + index, [`only:s${index}`]: index },
      };
      const shuffled = records.map(({ keyId }, place) => {
        const order = Math.imul(place + 1, 2_654_435_761 + index * 40_503) >>> 0;
        return { keyId, order };
      });
      shuffled.sort((first, second) => first.order - second.order);
      return shuffled.map(({ keyId }) => ({ keyId, ...usage }));
    }
    const batches = Array.from({ length: 80 }, (_, index) => batchOf(index));
    /** Retries failed writes, as a keyring does. */
    async function touchUntilWritten(batch: readonly UsageEntry[]): Promise<void> {
      try {
        await used.store.touch(batch);
      } catch (error) {
        // On a busy machine, others may hold a row for longer than a write waits.
        if (!String(error).includes('lock timeout')) throw error;
        await touchUntilWritten(batch);
      }
    }
    await Promise.all(batches.map(touchUntilWritten));
    const scopesUsed = Object.fromEntries(batches.map((_, index) => [`only:s${index}`, index]));
    for (const { keyId } of records) {
      const row = await used.store.findById(keyId);
      expect(row).toMatchObject({
        lastUsedAt: START + 79,
        scopesUsed: { ...scopesUsed, 'a:b': START + 79 },
      });
    }
  });
});
