import type { KeyRecord } from 'keyscope';
import {
  migrate,
  type PgQuery,
  type PostgresClient,
  type PurgeOptions,
  postgresStore,
  purgeEnded,
} from 'keyscope/stores/postgres';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { OTHER, OWN, THIRD } from '../../support/keyring.ts';
import { pgClient, pgPool, sharedPglite } from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describeKind,
  describePostgres,
  KINDS,
  type PlaceWithStore,
  using,
  value,
} from '../../support/postgres-place.ts';

const NEVER_DELETED = 'keyscope: keys are revoked and never deleted; see purgeEnded';
/** The time of the purges in these tests; other times are relative to it. */
const THEN = 1_700_000_000_000;
const HOUR = 3_600_000;
/** The end of a key, long ago. */
const ENDED = { kind: 'revoke', at: 1, by: null, reason: null, seal: null } as const;

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

/** Inserts records that differ from the fixture in some fields, and returns their ids. */
async function insertAll(
  { store }: Pick<PlaceWithStore, 'store'>,
  all: readonly Partial<KeyRecord>[],
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, fields] of all.entries()) {
    const record = { ...another(index), ...fields };
    await store.insert(record);
    ids.push(record.keyId);
  }
  return ids;
}

function purge(client: PostgresClient, more?: Partial<PurgeOptions>): Promise<readonly string[]> {
  return purgeEnded(client, { endedBefore: new Date(THEN), ...more });
}

async function idsIn({ sql }: Pick<PlaceWithStore, 'sql'>): Promise<string[]> {
  const rows = await sql('SELECT key_id::text FROM keyscope_keys ORDER BY 1');
  return rows.map(({ key_id }) => String(key_id));
}

/** The most keys that one transaction deletes. */
const BATCH = 1000;

const INSERT = `
    INSERT INTO keyscope_keys (
      format, key_id, prefix, hint, name, digest, entity_id, accessible_entities, scopes,
      metadata, created_at, root_key_id, issued_under, withdrawn, scopes_used, revoked_at)
    SELECT 1, id, 'acme', 'KrPP', 'x', 's1$' || id, id::text, ARRAY[id::text], '{}', '{}', 1, id`;

/** Makes the SQL that inserts keys that ended at 1. */
function endedKeys(count: number): string {
  return `${INSERT}, NULL, '{}', '{}', 1
    FROM (SELECT md5(i::text)::uuid AS id FROM generate_series(1, ${count}) AS i) AS made`;
}

/** Inserts a live key under each key. */
const CHILD_OF_EACH = `${INSERT}, parent, '{}', '{}', NULL
    FROM (SELECT md5(key_id::text)::uuid AS id, key_id AS parent FROM keyscope_keys) AS made`;

describe.each(KINDS)('with %s', (kind) => {
  describeKind(kind)('purgeEnded', () => {
    const used = using(kind);

    test('deletes exactly the keys that ended before the time, to the millisecond', async () => {
      const gone = await insertAll(used, [
        { revokedAt: THEN - 1 },
        { retireAt: THEN - 1 },
        { expiresAt: THEN - 1 },
        { revokedAt: THEN + HOUR, expiresAt: THEN - HOUR },
        { retireAt: 1, suspendedAt: 1 },
        { createdAt: THEN - 1, revokedAt: 1 },
        { changedAt: THEN - 1, revokedAt: 1 },
      ]);
      const kept = [
        { ...another(100), revokedAt: THEN },
        { ...another(101), retireAt: THEN },
        { ...another(102), expiresAt: THEN },
        { ...another(103), suspendedAt: 1 },
        another(104),
        { ...another(105), lastUsedAt: 1, changedAt: 1, withdrawn: [OTHER] },
        { ...another(106), createdAt: THEN, expiresAt: 1 },
        { ...another(107), changedAt: THEN, revokedAt: 1 },
      ];
      for (const record of kept) await used.store.insert(record);
      expect(await purge(used.client)).toEqual(gone);
      expect(await idsIn(used)).toEqual(kept.map(({ keyId }) => keyId));
      for (const record of kept) expect(await used.store.findById(record.keyId)).toEqual(record);
      expect(await purge(used.client)).toEqual([]);
      const schema = 'SELECT purge_before FROM keyscope_schema';
      expect(await value(used.sql, schema)).toBe(null);
    });

    test('deletes in batches, and returns all ids', async () => {
      await migrate(used.client);
      const kept = await idsIn(used);
      for (const count of [BATCH - 1, BATCH, BATCH + 1, 2 * BATCH]) {
        await used.sql(endedKeys(count));
        const ended = (await idsIn(used)).filter((keyId) => !kept.includes(keyId));
        expect(ended).toHaveLength(count);
        expect(await purge(used.client)).toEqual(ended);
        expect(await idsIn(used)).toEqual(kept);
      }
    });
  });
});

describe('purgeEnded', () => {
  const used = using('PGlite');

  test.each([undefined, null, 'yesterday', 5, new Date(Number.NaN), new Date(Date.now() + HOUR)])(
    'rejects %s as a time',
    async (endedBefore) => {
      const told = 'purgeEnded: endedBefore: pass a valid Date that is not in the future';
      const asked = purge(used.client, { endedBefore: endedBefore as Date });
      await expect(asked).rejects.toThrow(new TypeError(told));
    },
  );

  test('rejects other clients and other options', async () => {
    await expect(purge({} as PostgresClient)).rejects.toThrow(TypeError);
    const other = { endedBefore: new Date(THEN), batchSize: 5 };
    const asked = purgeEnded(used.client, other);
    await expect(asked).rejects.toThrow(TypeError);
    await expect(asked).rejects.toThrow('batchSize');
  });

  test('keeps the first of a chain while any key of it has not ended, and no other', async () => {
    const root = another(0).keyId;
    const [first, second, third] = [another(0), another(1), another(2)].map(({ keyId }) => keyId);
    const lineage: readonly Partial<KeyRecord>[] = [
      { retireAt: 1 },
      { retireAt: 2, rootKeyId: root, rotatedFrom: String(first) },
      { rootKeyId: root, rotatedFrom: String(second) },
    ];
    await insertAll(used, lineage);
    expect(await purge(used.client)).toEqual([second]);
    expect(await idsIn(used)).toEqual([first, third]);
    // It has ended, though after the time.
    await used.store.mark(String(third), { ...ENDED, at: THEN + 1 });
    expect(await purge(used.client)).toEqual([first]);
    expect(await purge(used.client, { endedBefore: new Date(THEN + 2) })).toEqual([third]);
  });

  test('keeps no other key of a chain under whose first a living key was issued', async () => {
    const root = another(0).keyId;
    const rotated = { rootKeyId: root, rotatedFrom: root, retireAt: 1 };
    const [first, second, child = '', odd = ''] = await insertAll(used, [
      { retireAt: 1 },
      rotated,
      { issuedUnder: root },
      // Edited by hand: it names a key that is not the first of its chain.
      { issuedUnder: another(1).keyId },
    ]);
    expect(await purge(used.client)).toEqual([second]);
    for (const keyId of [child, odd]) await used.store.mark(keyId, ENDED);
    expect(await purge(used.client)).toEqual([first, child, odd]);
  });

  test('reads past a full batch of keys under which living keys were issued', async () => {
    await migrate(used.client);
    await used.sql(endedKeys(BATCH));
    await used.sql(CHILD_OF_EACH);
    const [due = ''] = await insertAll(used, [{ revokedAt: 2 }]);
    expect(await purge(used.client)).toEqual([due]);
    const kept = await idsIn(used);
    expect(kept).toHaveLength(2 * BATCH);
    await used.sql('UPDATE keyscope_keys SET revoked_at = 3 WHERE revoked_at IS NULL');
    expect([...(await purge(used.client))].sort()).toEqual(kept);
  });

  test('keeps the first of a chain whose last is suspended, or will end later', async () => {
    const tomorrow = Date.now() + 24 * HOUR;
    const successors = [{ suspendedAt: 1 }, { expiresAt: tomorrow }, { retireAt: tomorrow }];
    for (const successor of successors) {
      const rootKeyId = another(0).keyId;
      await insertAll(used, [
        { expiresAt: 1 },
        { ...successor, rootKeyId, rotatedFrom: rootKeyId },
      ]);
      expect(await purge(used.client)).toEqual([]);
      await used.store.mark(another(1).keyId, ENDED);
      expect(await purge(used.client)).toEqual([another(0).keyId, another(1).keyId]);
    }
  });

  test('deletes the pairs of the keys', async () => {
    const accessibleEntities = [OWN, OTHER, THIRD];
    await insertAll(used, [
      { accessibleEntities, revokedAt: 1 },
      { accessibleEntities, prefix: 'other', expiresAt: 1 },
      { accessibleEntities: [OWN], retireAt: 1 },
      { accessibleEntities },
    ]);
    expect(await purge(used.client)).toHaveLength(3);
    const left = await used.sql('SELECT entity_id, key_id FROM keyscope_addressing ORDER BY 1');
    const { keyId } = another(3);
    expect(left).toEqual([OTHER, THIRD].map((entity) => ({ entity_id: entity, key_id: keyId })));
    await used.store.mark(keyId, { kind: 'revoke', at: 1, by: null, reason: null, seal: null });
    await purge(used.client);
    expect(await used.sql('SELECT * FROM keyscope_addressing')).toEqual([]);
  });
});

/** Deletes everything as a purge does, in one transaction. */
async function deleteAll({ sql }: Pick<PlaceWithStore, 'sql'>, before: string): Promise<unknown> {
  return sql(`
    UPDATE keyscope_schema SET purge_before = ${before};
    DELETE FROM keyscope_keys;
    UPDATE keyscope_schema SET purge_before = NULL`);
}

describe.each(['PGlite', 'pg Pool of 10'])('with %s', (kind) => {
  describeKind(kind)('the table', () => {
    test('allows no DELETE or TRUNCATE, whether the key has ended or not', async () => {
      await alone(kind, async ({ client, sql }) => {
        const ids = await insertAll({ store: postgresStore(client) }, [{}, { revokedAt: 1 }]);
        for (const keyId of ids) {
          const remove = sql(`DELETE FROM keyscope_keys WHERE key_id = '${keyId}'`);
          await expect(remove).rejects.toThrow(NEVER_DELETED);
        }
        await expect(sql('TRUNCATE keyscope_keys')).rejects.toThrow(NEVER_DELETED);
        expect(await idsIn({ sql })).toEqual(ids);
      });
    });

    test('allows deleting only keys that ended before a given time, or nothing', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        const ids = await insertAll({ store }, [{}, { revokedAt: 1 }]);
        for (const time of ['NULL', '1', '9223372036854775807']) {
          await expect(deleteAll({ sql }, time), time).rejects.toThrow(NEVER_DELETED);
        }
        await store.mark(another(0).keyId, {
          kind: 'retire',
          at: 2,
          retireAt: 2,
          by: null,
          reason: null,
        });
        await expect(deleteAll({ sql }, '2')).rejects.toThrow(NEVER_DELETED);
        expect(await idsIn({ sql })).toEqual(ids);
        await deleteAll({ sql }, '3');
        expect(await idsIn({ sql })).toEqual([]);
      });
    });

    test("allows nothing if the schema's row is missing", async () => {
      await alone(kind, async ({ client, sql }) => {
        await insertAll({ store: postgresStore(client) }, [{ revokedAt: 1 }]);
        await sql('DELETE FROM keyscope_schema');
        const remove = sql('DELETE FROM keyscope_keys');
        await expect(remove).rejects.toThrow(NEVER_DELETED);
      });
    });
  });
});

describePostgres('purges', () => {
  test.each(['read committed', 'repeatable read', 'serializable'])(
    'at once delete each row once: %s',
    async (isolation) => {
      const settings = { default_transaction_isolation: isolation };
      await alone(
        'pg Pool of 10',
        async ({ client, sql }) => {
          await migrate(client);
          await sql(endedKeys(5 * BATCH));
          const [live] = await insertAll({ store: postgresStore(client) }, [{}]);
          const purges = Array.from({ length: 5 }, () => purge(client));
          const ids = (await Promise.all(purges)).flat();
          expect(ids).toHaveLength(5 * BATCH);
          expect(new Set(ids).size).toBe(5 * BATCH);
          expect(await idsIn({ sql })).toEqual([live]);
          expect(await value(sql, 'SELECT purge_before FROM keyscope_schema')).toBe(null);
        },
        settings,
      );
    },
  );

  test('wait for no row that another transaction holds, and leave it for the next', async () => {
    await alone('pg Pool of 10', async ({ client, schema }) => {
      const ended = Array.from({ length: 3 }, () => ({ revokedAt: 1 }));
      const [first, held, last] = await insertAll({ store: postgresStore(client) }, ended);
      const holder = await pgClient(schema.settings);
      await holder.query('BEGIN');
      await holder.query(`UPDATE keyscope_keys SET last_used_at = 5 WHERE key_id = '${held}'`);
      expect(await purge(client)).toEqual([first, last]);
      await holder.query('COMMIT');
      await holder.end();
      expect(await purge(client)).toEqual([held]);
    });
  });

  test('keep a key under which another is issued after they have found it', async () => {
    await alone('pg Pool of 10', async ({ client, schema }) => {
      const store = postgresStore(client);
      const [first] = await insertAll({ store }, [{ revokedAt: 1 }, { revokedAt: 1 }]);
      const pool = pgPool(schema.settings);
      let issued = 0;
      const purging = {
        connect() {},
        async query(asked: PgQuery) {
          if (asked.text.includes('keyscope_purge(')) {
            issued += 1;
            const issuedUnder = another(1).keyId;
            await store.insert({ ...another(1 + issued), issuedUnder });
          }
          return pool.query(asked);
        },
      };
      expect(await purge(purging)).toEqual([first]);
      expect(issued).toBe(1);
      await pool.end();
    });
  });

  test('let no other transaction delete what they may', async () => {
    await alone('pg Pool of 10', async ({ client, sql, schema }) => {
      await insertAll({ store: postgresStore(client) }, [{ revokedAt: 1 }, { revokedAt: 1 }]);
      const purging = await pgClient(schema.settings);
      await purging.query('BEGIN');
      await purging.query('UPDATE keyscope_schema SET purge_before = 5');
      await expect(sql('DELETE FROM keyscope_keys')).rejects.toThrow(NEVER_DELETED);
      await purging.query('ROLLBACK');
      await purging.end();
    });
  });

  // The time that is set for a batch is never committed.
  test('that are killed within a batch leave its rows, and no time that is set', async () => {
    await alone('pg Pool of 10', async ({ client, sql, schema }) => {
      await migrate(client);
      await sql(endedKeys(2 * BATCH));
      const ids = await idsIn({ sql });
      await sql(`
        CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
        CREATE TRIGGER linger AFTER DELETE ON keyscope_keys
          FOR EACH ROW WHEN (OLD.key_id = '${ids[BATCH]}') EXECUTE FUNCTION linger()`);
      const doomed = pgPool({ ...schema.settings, application_name: schema.name });
      const killed = expect(purge(doomed)).rejects.toThrow('PostgreSQL');
      const lingering = `
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = '${schema.name}' AND wait_event = 'PgSleep'`;
      await vi.waitFor(async () => expect(await sql(lingering)).toHaveLength(1), 20_000);
      await killed;
      await doomed.end();
      // The first batch stays deleted.
      expect(await idsIn({ sql })).toEqual(ids.slice(BATCH));
      expect(await value(sql, 'SELECT purge_before FROM keyscope_schema')).toBe(null);
      await expect(sql('DELETE FROM keyscope_keys')).rejects.toThrow(NEVER_DELETED);
      await sql('DROP TRIGGER linger ON keyscope_keys');
      expect(await purge(client)).toEqual(ids.slice(BATCH));
    });
  });
});
