import { migrate, type PgClient, postgresStore } from 'keyscope/stores/postgres';
import { MIGRATIONS, schemaSql } from 'keyscope/stores/schema';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { OWN } from '../../support/keyring.ts';
import {
  emptySchema,
  type Opened,
  pgPool,
  type Schema,
  sharedPglite,
} from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describePostgres,
  KINDS,
  open,
  RECORD,
  using,
} from '../../support/postgres-place.ts';

/** Everything that a schema holds. */
const CATALOG = `
  SELECT relname AS name, relkind::text AS what, reloptions::text FROM pg_class
    WHERE relnamespace = current_schema::regnamespace
  UNION ALL SELECT proname, 'function', prosrc FROM pg_proc
    WHERE pronamespace = current_schema::regnamespace
  UNION ALL SELECT tgname, 'trigger', pg_get_triggerdef(t.oid)
    FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    WHERE relnamespace = current_schema::regnamespace AND NOT tgisinternal
  UNION ALL SELECT conname, 'constraint', pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = current_schema::regnamespace
  ORDER BY 1, 2`;

/** Everything that a schema holds, as text without the schema's name. */
async function catalogOf(sql: Opened['sql'], schema: Schema): Promise<string> {
  return JSON.stringify(await sql(CATALOG), null, 2).replaceAll(schema.name, 'any');
}

// It takes seconds to start.
beforeAll(sharedPglite, 60_000);

describePostgres('migrate', () => {
  test.each(KINDS.filter((kind) => kind !== 'PGlite'))(
    'with %s is repeatable and keeps what is there',
    async (kind) => {
      await alone(kind, async ({ client, sql }) => {
        await migrate(client);
        const store = postgresStore(client);
        await store.insert(RECORD);
        const schema = await sql(CATALOG);
        await migrate(client);
        expect(await sql(CATALOG)).toEqual(schema);
        expect(schema).toHaveLength(2 + 4 + 1 + 4 + 7);
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
      expect(await schema.sql('SELECT * FROM keyscope_schema')).toEqual([{ id: 1, version: 1 }]);
      await Promise.all(all.map(({ client }) => postgresStore(client).summarize(0)));
      await Promise.all(all.map(({ end }) => end()));
      await schema.drop();
    },
  );

  test('is what schemaSql says, run as one query or statement by statement', async () => {
    const expected = await alone('pg Client', async ({ client, sql, schema }) => {
      await migrate(client);
      return catalogOf(sql, schema);
    });
    const version = 'INSERT INTO keyscope_schema (id, version) VALUES (1, 1)';
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

  test.each(KINDS)('with %s refuses a schema of a newer release', async (kind) => {
    await alone(kind, async ({ client, sql }) => {
      await migrate(client);
      await sql('UPDATE keyscope_schema SET version = 2');
      const store = postgresStore(client);
      const newer = 'keyscope: the database has schema 2 and this release knows 1; upgrade it';
      await expect(migrate(client)).rejects.toThrow(newer);
      await expect(async () => store.findById(OWN)).rejects.toThrow(newer);
      await expect(async () => store.insert(RECORD)).rejects.toThrow(newer);
      expect(await sql('SELECT * FROM keyscope_schema')).toEqual([{ id: 1, version: 2 }]);
      expect(await sql('SELECT * FROM keyscope_keys')).toEqual([]);
    });
  });

  test('does all of it or nothing, and is tried again at the next use', async () => {
    for (const kind of ['pg Client', 'postgres.js with one connection']) {
      await alone(kind, async ({ client, sql, schema }) => {
        // Somebody has the name of the index, which comes after the table.
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

  test('is refused if a newer release was faster', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const { query } = client as PgClient;
      const overtaken: PgClient = {
        connect: () => {},
        async query(asked) {
          if (asked.text.includes('CREATE TABLE')) {
            await sql(MIGRATIONS.postgres.flat()[0] ?? '');
            await sql('INSERT INTO keyscope_schema VALUES (1, 2)');
          }
          return query.call(client, asked);
        },
      };
      await expect(migrate(overtaken)).rejects.toThrow('the database has schema 2');
      expect(await sql('SELECT * FROM keyscope_schema')).toEqual([{ id: 1, version: 2 }]);
    });
  });

  // `function "keyscope_refuse" already exists`: tables go by hand more easily than what their
  // triggers called.
  test('begins anew where somebody has dropped the tables', async () => {
    await alone('pg Client', async ({ client, sql }) => {
      await migrate(client);
      await sql('DROP TABLE keyscope_keys, keyscope_schema');
      await migrate(client);
      await postgresStore(client).insert(RECORD);
      await expect(sql("UPDATE keyscope_keys SET scopes = '{}'")).rejects.toThrow(
        'only revoked_at',
      );
    });
  });

  test('is refused by a version table without a version', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const [table = ''] = MIGRATIONS.postgres.flat();
      await sql(table);
      await expect(migrate(client)).rejects.toThrow('relation "keyscope_schema" already exists');
    });
  });

  test('runs once for operations that begin together', async () => {
    await alone('pg Pool of 10', async ({ client }) => {
      const asked = vi.spyOn(client as pg.Pool, 'query');
      const store = postgresStore(client, { batch: false });
      await Promise.all([
        store.findById(OWN),
        store.summarize(0),
        store.findByDigest(['x']),
        store.touch([]),
      ]);
      const texts = asked.mock.calls.map(([query]) => (query as unknown as { text: string }).text);
      expect(texts.filter((text) => text.includes('to_regclass'))).toHaveLength(3);
      expect(texts.filter((text) => text.includes('CREATE TABLE'))).toHaveLength(1);
      asked.mockRestore();
    });
  });

  test('is refused on a replica', async () => {
    // The server is none: a function of the same name in front of its own says that it is.
    const schema = await emptySchema();
    await schema.sql(
      "CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    );
    const pool = pgPool({ search_path: `${schema.name},pg_catalog` });
    const refused = 'keyscope: this is a replica, which lags behind; pass a client of the primary';
    await expect(migrate(pool)).rejects.toThrow(refused);
    await expect(async () => postgresStore(pool).findById(OWN)).rejects.toThrow(refused);
    await pool.end();
    await schema.drop();
  });

  // A client with several hosts moves on to the next when it loses one: a key passed that was
  // revoked on the primary.
  test('of a client that later moves on to a replica answers no look-up', async () => {
    const schema = await emptySchema();
    await schema.sql('CREATE TABLE moved AS SELECT false AS away');
    await schema.sql(
      `CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql
        AS 'SELECT away FROM moved'`,
    );
    const pool = pgPool({ search_path: `${schema.name},pg_catalog` });
    const store = postgresStore(pool);
    await store.insert(RECORD);
    const asks = [
      async () => store.findByDigest([RECORD.digest]),
      async () => store.findByDigest([RECORD.digest, another(1).digest]),
      async () => [await store.findById(RECORD.keyId)],
      async () => store.list({ entityUuid: OWN, after: null, limit: 9 }),
    ];
    for (const ask of asks) expect(await ask()).toEqual([RECORD]);
    await schema.sql('UPDATE moved SET away = true');
    for (const ask of asks) {
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

  test('is told what to do before the deploy step, and works after it', async () => {
    const restricted = pool();
    const store = postgresStore(restricted);
    await used.sql(`GRANT USAGE ON SCHEMA ${used.schema.name} TO ${role}`);
    const denied = 'permission denied for schema .*';
    const advice = 'run migrate in a deploy step with a role that may create tables';
    const told = new RegExp(`${denied}; ${advice}`);
    await expect(async () => store.findById(OWN)).rejects.toThrow(told);

    await migrate(used.client);
    await used.sql(`
      GRANT SELECT ON keyscope_schema TO ${role};
      GRANT SELECT, INSERT, UPDATE (revoked_at, retire_at, last_used_at, scopes_used)
        ON keyscope_keys TO ${role}`);
    await store.insert(RECORD);
    await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    expect(await store.markEnded(RECORD.keyId, { retireAt: 6 })).toBe(true);
    expect(await store.markEnded(RECORD.keyId, { revokedAt: 7 })).toBe(true);
    expect(await store.summarize(0)).toEqual([]);
    const [row] = await store.list({ entityUuid: OWN, after: null, limit: 1 });
    expect(row).toEqual({
      ...RECORD,
      retireAt: 6,
      revokedAt: 7,
      lastUsedAt: 5,
      scopesUsed: { 'a:b': 5 },
    });
    for (const sql of [
      "UPDATE keyscope_keys SET scopes = '{*:*}'",
      'DELETE FROM keyscope_keys',
      'TRUNCATE keyscope_keys',
    ]) {
      await expect(restricted.query(sql)).rejects.toThrow('permission denied');
    }
    await restricted.end();
  });
});
