/** The schema without triggers, and servers that lack features of PostgreSQL. */
import { migrate, type PgClient, postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import { type SchemaOptions, schemaSql } from 'keyscope/stores/schema';
import { storeContract } from 'keyscope/testing';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { OTHER, OWN } from '../../support/keyring.ts';
import { CATALOG, catalogOf } from '../../support/postgres-catalog.ts';
import { emptySchema, pgPool, sharedPglite } from '../../support/postgres-clients.ts';
import {
  alone,
  another,
  describeKind,
  describeOwnPostgres,
  describePostgres,
  KINDS,
  open,
  RECORD,
  using,
  value,
} from '../../support/postgres-place.ts';
import { startPostgres } from '../../support/postgres-servers.ts';

const WITHOUT = { triggers: false } as const;
const LIMIT = { timeout: 60_000 };

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(KINDS)('%s, on a schema without triggers', (kind) => {
  describeKind(kind)('the store', () => {
    const used = using(kind);
    beforeAll(() => migrate(used.client, WITHOUT));
    storeContract(test, () => used.store);

    test('has created no triggers meanwhile', async () => {
      const what = (await used.sql(CATALOG)).map(({ what }) => what);
      expect(what).not.toContain('trigger');
      expect(what).not.toContain('function');
    });
  });
});

describePostgres('a schema without triggers', () => {
  test('has the same tables and the same version, and migrate leaves it unchanged', async () => {
    const expected = await alone('pg Pool of 10', async ({ client, sql, schema }) => {
      await migrate(client);
      const entries = JSON.parse(await catalogOf(sql, schema)) as { what: string }[];
      return entries.filter(({ what }) => what !== 'trigger' && what !== 'function');
    });
    await alone('pg Pool of 10', async ({ client, sql, schema }) => {
      await migrate(client, WITHOUT);
      expect(JSON.parse(await catalogOf(sql, schema))).toEqual(expected);
      await migrate(client);
      await postgresStore(client).insert(RECORD);
      expect(JSON.parse(await catalogOf(sql, schema))).toEqual(expected);
    });
    await alone('pg Pool of 10', async ({ client, sql, schema }) => {
      await sql(schemaSql('postgres', WITHOUT));
      await postgresStore(client).insert(RECORD);
      expect(JSON.parse(await catalogOf(sql, schema))).toEqual(expected);
    });
  });

  test('lets a purge delete keys without a living successor, with their pairs', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      await migrate(client, WITHOUT);
      const store = postgresStore(client);
      const accessibleEntities = [OWN, OTHER];
      const keyIds = [0, 1, 2, 3, 4].map((n) => another(n).keyId);
      const [, first, second, rotated, successor] = keyIds;
      await store.insert({ ...another(0), accessibleEntities, expiresAt: 50 });
      await store.insert({ ...another(1), accessibleEntities, expiresAt: 5 });
      await store.insert({ ...another(2), accessibleEntities, retireAt: 5 });
      await store.insert({ ...another(3), accessibleEntities, expiresAt: 5 });
      const lineage = { rootKeyId: String(rotated), rotatedFrom: String(rotated) };
      await store.insert({ ...another(4), accessibleEntities, expiresAt: null, ...lineage });
      const endedBefore = new Date(9);
      expect(await purgeEnded(client, { endedBefore, batchSize: 1 })).toEqual([first, second]);
      const left = [keyIds[0], rotated, successor];
      const ids = (table: string) =>
        value(sql, `SELECT array_agg(key_id ORDER BY 1) FROM ${table}`);
      expect(await ids('keyscope_keys')).toEqual(left);
      expect(await ids('keyscope_addressing')).toEqual(left);
    });
  });

  test('lets unsealed fields be rewritten, as the option says', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      await migrate(client, WITHOUT);
      await postgresStore(client).insert({ ...RECORD, revokedAt: 5 });
      await sql("UPDATE keyscope_keys SET revoked_at = NULL, name = 'other'");
      expect(await value(sql, 'SELECT name FROM keyscope_keys')).toBe('other');
      await sql('DELETE FROM keyscope_keys');
    });
  });

  test.each([{ trigger: false }, { triggers: 'no' }, { triggers: null }, null, 5])(
    'is not created for the options %j',
    async (options) => {
      await alone('pg Pool of 10', async ({ client, sql }) => {
        const asked = migrate(client, options as SchemaOptions);
        await expect(asked).rejects.toThrow(TypeError);
        await expect(asked).rejects.toThrow(/^migrate: /);
        expect(await sql(CATALOG)).toEqual([]);
      });
    },
  );

  // If DDL is not transactional, what an interrupted migration created stays.
  test('is completed after an interrupted migration', async () => {
    const statements = schemaSql('postgres', WITHOUT).split(';\n');
    for (let made = 1; made < statements.length - 2; made++) {
      await alone('pg Pool of 10', async ({ client, sql }) => {
        for (const statement of statements.slice(0, made)) await sql(statement);
        await migrate(client, WITHOUT);
        await postgresStore(client).insert(RECORD);
        expect(await value(sql, 'SELECT version FROM keyscope_schema')).toBe(1);
      });
    }
  });
});

/** The errors of servers without advisory locks: YugabyteDB before 2025.1, and others. */
const REFUSALS = ['feature_not_supported', 'undefined_function'];

/** Hides the server's own functions from anyone whose search path starts here. */
function noLocks(code: string): string {
  return `
    CREATE FUNCTION pg_advisory_xact_lock(key bigint) RETURNS void LANGUAGE plpgsql AS
      'BEGIN RAISE EXCEPTION ''no locks here'' USING ERRCODE = ''${code}''; END'`;
}

describePostgres.each(REFUSALS)('a server whose advisory locks are an error: %s', (code) => {
  test.each([{}, WITHOUT])('lets eight processes migrate at once, %j', LIMIT, async (options) => {
    for (let round = 0; round < 5; round++) {
      const schema = await emptySchema();
      await schema.sql(noLocks(code));
      const settings = { search_path: `${schema.name},pg_catalog` };
      const kinds = Array.from({ length: 8 }, (_, i) => KINDS[i % 4] ?? '');
      const all = await Promise.all(kinds.map((kind) => open(kind, settings)));
      await Promise.all(all.map(({ client }) => migrate(client, options)));
      expect(await schema.sql('SELECT version, min_reader FROM keyscope_schema')).toEqual([
        { version: 1, min_reader: 1 },
      ]);
      for (const [n, { client }] of all.entries()) await postgresStore(client).insert(another(n));
      await Promise.all(all.map(({ end }) => end()));
      await schema.drop();
    }
  });

  test('reports the failure if it was not the lock', async () => {
    const schema = await emptySchema();
    await schema.sql(noLocks(code));
    await schema.sql('CREATE TABLE mine (a int); CREATE INDEX keyscope_keys_listing ON mine (a)');
    const pool = pgPool({ search_path: `${schema.name},pg_catalog` });
    await expect(migrate(pool)).rejects.toThrow('"keyscope_keys_listing" already exists');
    await pool.end();
    await schema.drop();
  });
});

/** A client of a server where each statement is a separate transaction. */
function oneByOne(client: PgClient): PgClient {
  return {
    connect: () => {},
    async query(asked) {
      const statements = asked.values === undefined ? asked.text.split(';\n') : [asked.text];
      let answer: { readonly rows: readonly unknown[] } = { rows: [] };
      for (const text of statements) answer = await client.query({ ...asked, text });
      return answer;
    },
  };
}

describePostgres('a server whose DDL is not transactional', () => {
  test('lets four processes migrate at once', LIMIT, async () => {
    for (let round = 0; round < 10; round++) {
      const schema = await emptySchema();
      await schema.sql(noLocks('feature_not_supported'));
      const settings = { search_path: `${schema.name},pg_catalog` };
      const pools = [1, 2, 3, 4].map(() => pgPool(settings));
      const clients = pools.map((pool) => oneByOne(pool as PgClient));
      await Promise.all(clients.map((client) => migrate(client, WITHOUT)));
      for (const [n, client] of clients.entries()) await postgresStore(client).insert(another(n));
      await Promise.all(pools.map((pool) => pool.end()));
      await schema.drop();
    }
  });
});

// An event trigger rejects what some versions of CockroachDB lack.
describeOwnPostgres('a server that has no triggers', () => {
  test('is recognized by its error, and is used without triggers', LIMIT, async () => {
    const server = await startPostgres();
    try {
      await server.sql(`
        CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS
          'BEGIN RAISE EXCEPTION ''not here'' USING ERRCODE = ''feature_not_supported''; END';
        CREATE EVENT TRIGGER refuse ON ddl_command_start
          WHEN TAG IN ('CREATE TRIGGER', 'CREATE FUNCTION') EXECUTE FUNCTION refuse()`);
      const pool = new pg.Pool({ connectionString: server.url }).on('error', () => {});
      const advice =
        'If the server has no triggers, run migrate(client, { triggers: false }) first';
      await expect(async () => postgresStore(pool).findById(OWN)).rejects.toThrow(advice);
      await migrate(pool, WITHOUT);
      await postgresStore(pool).insert(RECORD);
      expect(await postgresStore(pool).findById(RECORD.keyId)).toEqual(RECORD);
      await pool.end();
    } finally {
      await server.remove();
    }
  });
});
