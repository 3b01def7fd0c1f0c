import type { KeyStore } from 'keyscope';
import { migrate, type PgClient, postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import { MIGRATIONS, schemaSql } from 'keyscope/stores/schema';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { CATALOG, catalogOf } from '../../support/postgres-catalog.ts';
import { emptySchema, pgPool, sharedPglite } from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describePostgres,
  KINDS,
  open,
  RECORD,
  using,
  value,
} from '../../support/postgres-place.ts';

/** How many of each there are. */
const TABLES = 3;
const INDEXES = 10;
const FUNCTIONS = 3;
const TRIGGERS = 5;
const CONSTRAINTS = 21;

/** The version in the schema. */
const CURRENT = [{ id: 1, version: 1, min_reader: 1, purge_before: null }];

/** The first page of a listing. */
const ALL = { prefix: 'acme', after: null, limit: 9 } as const;

/** The error about schema 3, which only its own releases can work with. */
const NEWER =
  'keyscope: the database has schema version 3, which needs a release that knows version 2 ' +
  'or later; this release knows 1. Upgrade keyscope';

/** Checks that every method of a store works, with a new key. */
async function expectUse(store: Required<KeyStore>, number: number): Promise<void> {
  const made = { ...another(number), expiresAt: number };
  const { keyId, digest, prefix } = made;
  await store.insert(made);
  expect(await store.summarize(0)).toContainEqual({ scheme: 's1', live: 1, lastUsedAt: null });
  await store.touch([{ keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
  const who = { by: 'ada', reason: 'lost' };
  const marks = [
    { kind: 'suspend', at: 2, ...who },
    { kind: 'resume', at: 3 },
    { kind: 'withdraw', at: 4, entityId: OTHER },
    { kind: 'retire', at: 5, retireAt: 6, ...who, withdrawn: [OTHER] },
  ] as const;
  for (const mark of marks) expect(await store.mark(keyId, mark), mark.kind).toBe(true);
  const expiring = await store.listExpiring({ before: number + 1, after: null, limit: 1 });
  expect(expiring.items.map((each) => each.keyId)).toEqual([keyId]);
  expect(await store.mark(keyId, { kind: 'revoke', at: 7, ...who, seal: 'ef' })).toBe(true);
  const row = {
    ...made,
    seal: 'ef',
    revokedAt: 7,
    retireAt: 6,
    withdrawn: [OTHER],
    endedBy: 'ada',
    endReason: 'lost',
    changedAt: 7,
    lastUsedAt: 5,
    scopesUsed: { 'a:b': 5 },
  };
  const listing = { prefix, after: null, limit: 9 };
  expect(await store.findById(keyId)).toEqual(row);
  expect(await store.findByDigest([digest])).toEqual([row]);
  expect(await store.findByDigest([digest, 's1$00'])).toEqual([row]);
  expect(await store.list({ ...listing, entityId: OWN })).toContainEqual(row);
  const addressing = { ...listing, entityId: OTHER, addressing: true };
  expect(await store.list(addressing)).toContainEqual(row);
  expect(await store.listLineage({ rootKeyId: keyId, after: null, limit: 9 })).toEqual([row]);
  expect((await store.listAll({ after: null, limit: 9 })).items).toContainEqual(row);
  expect(await store.listChanged({ since: 7, limit: 9 })).toContainEqual({ keyId, changedAt: 7 });
}

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describePostgres('migrate', () => {
  test.each(KINDS.filter((kind) => kind !== 'PGlite'))(
    'with %s is repeatable and keeps existing rows',
    async (kind) => {
      await alone(kind, async ({ client, sql }) => {
        await migrate(client);
        const store = postgresStore(client);
        await store.insert(RECORD);
        const schema = await sql(CATALOG);
        await migrate(client);
        expect(await sql(CATALOG)).toEqual(schema);
        expect(schema).toHaveLength(TABLES + INDEXES + FUNCTIONS + TRIGGERS + CONSTRAINTS);
        expect(await postgresStore(client).findById(RECORD.keyId)).toEqual(RECORD);
      });
    },
  );

  test.each(['read committed', 'serializable'])(
    'lets eight processes migrate an empty schema at once, %s',
    async (isolation) => {
      const schema = await emptySchema();
      const settings = { ...schema.settings, default_transaction_isolation: isolation };
      const kinds = Array.from({ length: 8 }, (_, i) => KINDS[i % 4] ?? '');
      const all = await Promise.all(kinds.map((kind) => open(kind, settings)));
      await Promise.all(all.map(({ client }) => migrate(client)));
      expect(await schema.sql('SELECT * FROM keyscope_schema')).toEqual(CURRENT);
      await Promise.all(all.map(({ client }) => postgresStore(client).summarize(0)));
      await Promise.all(all.map(({ end }) => end()));
      await schema.drop();
    },
  );

  test('equals schemaSql, run as one query or statement by statement', async () => {
    const expected = await alone('pg Client', async ({ client, sql, schema }) => {
      await migrate(client);
      return catalogOf(sql, schema);
    });
    const version = 'INSERT INTO keyscope_schema (id, version, min_reader) VALUES (1, 1, 1)';
    const asOneQuery = [schemaSql('postgres')];
    const oneByOne = [...MIGRATIONS.postgres.flat(), version];
    for (const statements of [asOneQuery, oneByOne]) {
      await alone('pg Pool of 10', async ({ client, sql, schema }) => {
        for (const statement of statements) await sql(statement);
        expect(await catalogOf(sql, schema)).toBe(expected);
        await migrate(client);
        await postgresStore(client).insert(RECORD);
        expect(await catalogOf(sql, schema)).toBe(expected);
      });
    }
  });

  test.each(KINDS)('with %s rejects a schema that this release cannot work with', async (kind) => {
    await alone(kind, async ({ client, sql }) => {
      await migrate(client);
      await sql('UPDATE keyscope_schema SET version = 3, min_reader = 2');
      const store = postgresStore(client);
      await expect(migrate(client)).rejects.toThrow(NEWER);
      await expect(async () => store.findById(OWN)).rejects.toThrow(NEWER);
      await expect(async () => store.insert(RECORD)).rejects.toThrow(NEWER);
      await expect(purgeEnded(client, { endedBefore: new Date(0) })).rejects.toThrow(NEWER);
      expect(await sql('SELECT version, min_reader FROM keyscope_schema')).toEqual([
        { version: 3, min_reader: 2 },
      ]);
      expect(await sql('SELECT * FROM keyscope_keys')).toEqual([]);
    });
  });

  // A roll-out or a roll-back has processes of both releases.
  test.each(KINDS)(
    'with %s leaves the schema of a newer release that it can work with',
    async (kind) => {
      await alone(kind, async ({ client, sql, schema }) => {
        const store = postgresStore(client);
        await expectUse(store, 1);
        await sql(`
        ALTER TABLE keyscope_keys ADD COLUMN region text;
        UPDATE keyscope_schema SET version = 2, min_reader = 1`);
        const before = await catalogOf(sql, schema);
        await migrate(client);
        await expectUse(store, 2);
        await expectUse(postgresStore(client), 3);
        expect(await purgeEnded(client, { endedBefore: new Date(9) })).toHaveLength(3);
        expect(await catalogOf(sql, schema)).toBe(before);
        const version = 'SELECT version, min_reader FROM keyscope_schema';
        expect(await sql(version)).toEqual([{ version: 2, min_reader: 1 }]);
      });
    },
  );

  test('does everything or nothing, and is retried at the next use', async () => {
    for (const kind of ['pg Client', 'postgres.js with one connection']) {
      await alone(kind, async ({ client, sql, schema }) => {
        // Another index has the name of ours, which comes after the table.
        await sql('CREATE TABLE mine (a int); CREATE INDEX keyscope_keys_listing ON mine (a)');
        const store = postgresStore(client);
        for (let i = 0; i < 2; i++) {
          await expect(async () => store.findById(OWN)).rejects.toThrow(/keyscope_keys_listing/);
        }
        const names = `
          SELECT relname FROM pg_class
          WHERE relnamespace = '${schema.name}'::regnamespace ORDER BY 1`;
        expect(await sql(names)).toEqual([
          { relname: 'keyscope_keys_listing' },
          { relname: 'mine' },
        ]);
        // No transaction was left open that would hold a lock.
        await sql('DROP TABLE mine');
        expect(await store.findById(OWN)).toBe(null);
      });
    }
  });

  test('is rejected if a newer release was faster', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const { query } = client as PgClient;
      const overtaken: PgClient = {
        connect: () => {},
        async query(asked) {
          if (asked.text.includes('CREATE TABLE')) {
            await sql(MIGRATIONS.postgres.flat()[0] ?? '');
            await sql('INSERT INTO keyscope_schema VALUES (1, 3, 2)');
          }
          return query.call(client, asked);
        },
      };
      await expect(migrate(overtaken)).rejects.toThrow(NEWER);
      expect(await value(sql, 'SELECT version FROM keyscope_schema')).toBe(3);
    });
  });

  // `function "keyscope_refuse" already exists`: someone who drops the tables by hand easily misses
  // the triggers' functions.
  test('starts over if the tables were dropped', async () => {
    await alone('pg Client', async ({ client, sql }) => {
      await migrate(client);
      await sql('DROP TABLE keyscope_keys, keyscope_addressing, keyscope_schema');
      await migrate(client);
      await postgresStore(client).insert(RECORD);
      await expect(sql("UPDATE keyscope_keys SET scopes = '{}'")).rejects.toThrow('only the marks');
    });
  });

  test('is rejected by a version table without a version', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const [table = ''] = MIGRATIONS.postgres.flat();
      await sql(table);
      await expect(migrate(client)).rejects.toThrow('relation "keyscope_schema" already exists');
    });
  });

  test('runs once for operations that start together', async () => {
    await alone('pg Pool of 10', async ({ client }) => {
      const asked = vi.fn((client as PgClient).query.bind(client));
      const store = postgresStore({ connect() {}, query: asked }, { batch: false });
      await Promise.all([
        store.findById(OWN),
        store.summarize(0),
        store.findByDigest(['x']),
        store.touch([]),
      ]);
      const texts = asked.mock.calls.map(([{ text }]) => text);
      // Once before, and once to find the tables.
      expect(texts.filter((text) => text.includes('to_regclass'))).toHaveLength(2);
      expect(texts.filter((text) => text.includes('CREATE TABLE'))).toHaveLength(1);
    });
  });

  test('is rejected on a replica', async () => {
    // The server is not a replica: a function of the same name, found first, says that it is.
    const schema = await emptySchema();
    await schema.sql(
      "CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    );
    const pool = pgPool({ search_path: `${schema.name},pg_catalog` });
    const refused = 'keyscope: this is a replica, which lags behind. Pass a client of the primary';
    await expect(migrate(pool)).rejects.toThrow(refused);
    await expect(async () => postgresStore(pool).findById(OWN)).rejects.toThrow(refused);
    await pool.end();
    await schema.drop();
  });

  // A client with several hosts moves on to the next when it loses one: it then accepted a key that
  // was revoked on the primary.
  test('of a client that later moves on to a replica answers no look-up', async () => {
    const schema = await emptySchema();
    await schema.sql('CREATE TABLE moved AS SELECT false AS away');
    await schema.sql(
      `CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql
        AS 'SELECT away FROM moved'`,
    );
    const pool = pgPool({ search_path: `${schema.name},pg_catalog` });
    const store = postgresStore(pool);
    const expiring = { ...RECORD, expiresAt: 5 };
    await store.insert(expiring);
    const asks = [
      async () => store.findByDigest([RECORD.digest]),
      async () => store.findByDigest([RECORD.digest, another(1).digest]),
      async () => [await store.findById(RECORD.keyId)],
      async () => store.list({ ...ALL, entityId: OWN }),
      async () => store.list({ ...ALL, entityId: OTHER, addressing: true }),
      async () => store.listLineage({ rootKeyId: RECORD.rootKeyId, after: null, limit: 9 }),
      async () => (await store.listAll({ after: null, limit: 9 })).items,
      async () => (await store.listExpiring({ before: 9, after: null, limit: 9 })).items,
    ];
    for (const ask of asks) expect(await ask()).toEqual([expiring]);
    await schema.sql('UPDATE moved SET away = true');
    // A polling channel would find no changes, and a key that has not arrived yet
    // would be taken for a bad one.
    const reports = [
      async () => store.findByDigest([another(1).digest]),
      async () => store.findByDigest([another(1).digest, another(2).digest]),
      async () => store.findById(another(1).keyId),
      async () => store.listLineage({ rootKeyId: another(1).keyId, after: null, limit: 9 }),
      async () => store.summarize(0),
      async () => store.listChanged({ since: 0, limit: 9 }),
    ];
    for (const ask of [...asks, ...reports]) {
      await expect(ask()).rejects.toThrow('keyscope: this is a replica, which lags behind');
    }
    await pool.end();
    await schema.drop();
  });
});

describePostgres('a role without DDL', () => {
  const role = `keyscope_${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const used = using('pg Pool of 10');
  const pool = () => pgPool({ search_path: used.schema.name, role });
  beforeAll(() => used.sql(`CREATE ROLE ${role}`));
  afterAll(async () => {
    await used.sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  test('gets advice before the deploy step, and works after it', async () => {
    const restricted = pool();
    const store = postgresStore(restricted);
    await used.sql(`GRANT USAGE ON SCHEMA ${used.schema.name} TO ${role}`);
    const denied = 'permission denied for schema .*';
    const advice = 'Run migrate in a deploy step with a role that may create tables';
    const told = new RegExp(`${denied}\\. ${advice}`);
    await expect(async () => store.findById(OWN)).rejects.toThrow(told);

    await migrate(used.client);
    await used.sql(`
      GRANT SELECT ON keyscope_schema TO ${role};
      GRANT SELECT, INSERT ON keyscope_addressing TO ${role};
      GRANT SELECT, INSERT, UPDATE (seal, revoked_at, suspended_at, retire_at, withdrawn, ended_by,
        end_reason, changed_at, last_used_at, scopes_used) ON keyscope_keys TO ${role}`);
    await expectUse(store, 1);
    for (const sql of [
      "UPDATE keyscope_keys SET scopes = '{*:*}'",
      'DELETE FROM keyscope_keys',
      'TRUNCATE keyscope_keys',
      'DELETE FROM keyscope_addressing',
      'UPDATE keyscope_schema SET purge_before = 5',
    ]) {
      await expect(restricted.query(sql)).rejects.toThrow('permission denied');
    }
    const purge = () => purgeEnded(restricted, { endedBefore: new Date(9) });
    await expect(purge()).rejects.toThrow('permission denied for table keyscope_schema');
    await used.sql(`
      GRANT UPDATE (purge_before) ON keyscope_schema TO ${role};
      GRANT DELETE ON keyscope_keys, keyscope_addressing TO ${role}`);
    expect(await purge()).toEqual([another(1).keyId]);
    await restricted.end();
  });
});
