import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import type { KeyRecord, KeyStore } from 'keyscope';
import { digestKey, generateKey, isAccessError, isStoreError } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import type {
  PgClient,
  PostgresChannel,
  PostgresClient,
  PostgresJsClient,
  PostgresStoreOptions,
} from 'keyscope/stores/postgres';
import { migrate, postgresInvalidation, postgresStore } from 'keyscope/stores/postgres';
import { MIGRATIONS, schemaSql } from 'keyscope/stores/schema';
import { storeContract } from 'keyscope/testing';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';
import {
  AUTHORITY,
  denied,
  HOUR,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  START,
  setUp,
  storeError,
} from '../support/keyring.ts';
import { expectLooseCalls } from '../support/loose.ts';
import type { Opened, Schema, Settings } from '../support/postgres.ts';
import {
  CLIENTS,
  emptySchema,
  ofPg,
  ofPostgresJs,
  pgClient,
  pgPool,
  postgresJs,
  proxy,
  sharedPglite,
  url,
} from '../support/postgres.ts';
import { RECORD as BASE, numbered } from '../support/records.ts';
import { describeOn } from '../support/servers.ts';

const describePostgres = await describeOn('postgres');
const KINDS = Object.keys(CLIENTS);
const on = (kind: string) => (kind === 'PGlite' ? describe : describePostgres);
const open = (kind: string, settings: Settings): Promise<Opened> => {
  const opener = CLIENTS[kind];
  if (opener === undefined) throw new Error(`no client ${kind}`);
  return opener(settings);
};

const RECORD: KeyRecord = {
  ...BASE,
  accessibleEntities: [OWN, OTHER],
  metadata: { a: 'é🦊', some_name: 'x' },
};
const another = numbered(RECORD);

type Place = Opened & { readonly schema: Schema };

/** A client on an empty schema, and SQL in there as its owner types it. */
async function place(kind: string, settings: Settings = {}): Promise<Place> {
  const schema = await emptySchema(kind);
  const opened = await open(kind, { ...settings, ...schema.settings });
  const end = async () => {
    await opened.end();
    await schema.drop();
  };
  return { client: opened.client, sql: schema.sql, end, schema };
}

/** Runs `act` in a place of its own. */
async function alone<T>(kind: string, act: (own: Place) => Promise<T>, settings?: Settings) {
  const own = await place(kind, settings);
  try {
    return await act(own);
  } finally {
    await own.end();
  }
}

/** A place with a store for a group of tests. */
function using(kind: string, settings?: Settings) {
  const used = {} as Place & { store: KeyStore };
  beforeAll(async () => {
    const own = await place(kind, settings);
    Object.assign(used, own, { store: postgresStore(own.client) });
  });
  afterAll(() => used.end());
  return used;
}

const value = async (sql: Opened['sql'], text: string): Promise<unknown> =>
  Object.values((await sql(text))[0] ?? {})[0];

beforeAll(sharedPglite, 60_000);
afterAll(async () => (await sharedPglite()).close());

// ── The contract ──────────────────────────────────────────────────────────────────────────────────────

describe.each(KINDS)('%s', (kind) => {
  on(kind)('keeps the contract', () => {
    const used = using(kind);
    storeContract(test, () => used.store);
  });
});

describePostgres(
  'without batches and without prepared statements, where every setting is another',
  () => {
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
  },
);

/** What a client can be told that could change an answer. */
const TOLD: Readonly<Record<string, (settings: Settings) => Promise<Opened>>> = {
  'pg with integers as bigint and JSON as text': async (settings) => {
    const getTypeParser = ((oid: number) => (raw: string) =>
      oid === 20 ? BigInt(raw) : raw) as never;
    return ofPg(pgPool(settings, { types: { getTypeParser } }));
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

describePostgres.each(Object.entries(TOLD))('%s', (_name, opener) => {
  test('reads and writes as every other', async () => {
    const schema = await emptySchema();
    const { client, end } = await opener(schema.settings);
    const store = postgresStore(client);
    const max = Number.MAX_SAFE_INTEGER;
    const record = { ...RECORD, createdAt: max };
    await store.insert(record);
    const read = [
      await store.findById(record.keyId),
      ...(await store.findByDigest([record.digest])),
      ...(await store.findByDigest([record.digest, another(1).digest, another(2).digest])),
      ...(await store.list({ entityUuid: OWN, after: null, limit: 3 })),
      ...(await store.list({
        entityUuid: OWN,
        after: { createdAt: max, keyId: OTHER.replace('0b', 'ff') },
        limit: 3,
      })),
    ];
    expect(read).toEqual([record, record, record, record, record]);
    const ending = { retireAt: max };
    const ended = [
      await store.markEnded(record.keyId, ending),
      await store.markEnded(record.keyId, ending),
    ];
    expect(ended).toEqual([true, false]);
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
    await expect(async () => store.insert(record)).rejects.toThrow('duplicate key value');
    await end();
    await schema.drop();
  });
});

// ── The client ────────────────────────────────────────────────────────────────────────────────────────

const NO_CLIENT =
  'postgresStore: pass a Pool or Client of pg, what postgres() returned, or a PGlite; no transaction';

describe('a client', () => {
  test('is told where it is none', async () => {
    const odd = [
      undefined,
      null,
      url,
      {},
      { query() {} },
      { connect() {} },
      () => {},
      pg,
      postgres,
      postgresStore,
    ];
    for (const client of odd) {
      expect(
        complaint(() => postgresStore(client as unknown as PostgresClient)),
        inspect(client),
      ).toBe(NO_CLIENT);
      await expect(migrate(client as unknown as PostgresClient)).rejects.toThrow(NO_CLIENT);
    }
  });

  // Before 8.21 pg cannot say whether a Client is in a transaction: it was taken for a Pool.
  test('of an older pg is told to be a Pool', () => {
    for (const own of [{ processID: null }, { native: {} }]) {
      const client = { connect() {}, query() {}, ...own } as unknown as PostgresClient;
      const told = 'postgresStore: a Client wants pg 8.21 or newer; pass a Pool';
      expect(complaint(() => postgresStore(client))).toBe(told);
    }
  });

  // It was asked a hundred times within a millisecond, or on and on once nobody waited.
  test('that is taken back each time is asked again with pauses, for five seconds', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    try {
      let sent = 0;
      const query = async () => {
        sent += 1;
        throw Object.assign(new Error('could not serialize access'), { code: '40001' });
      };
      const refused = expect(migrate({ connect: () => {}, query })).rejects.toThrow(
        'keyscope: PostgreSQL: could not serialize access',
      );
      await vi.advanceTimersByTimeAsync(4_900);
      const before = sent;
      expect(before).toBeGreaterThan(20);
      expect(before).toBeLessThan(1000);
      await vi.advanceTimersByTimeAsync(10_000);
      await refused;
      expect(sent).toBeLessThan(2 * before);
    } finally {
      vi.useRealTimers();
    }
  });

  // pg-promise and TypeORM's QueryRunner have both methods: "Cannot read properties of undefined".
  test('that answers without rows is told so', async () => {
    const told = 'keyscope: PostgreSQL: the client must return rows as objects, and text as it is';
    for (const answer of [{}, { rows: 'x' }, [], null, undefined]) {
      const client = { connect() {}, query: async () => answer } as unknown as PostgresClient;
      await expect(migrate(client)).rejects.toThrow(told);
    }
  });

  test('takes no unknown option', () => {
    const pool = new pg.Pool();
    expect(complaint(() => postgresStore(pool, { batches: true } as object))).toContain('batches');
    const said = 'postgresStore: batch and prepare are true or false';
    for (const odd of [{ batch: 1 }, { prepare: null }]) {
      expect(complaint(() => postgresStore(pool, odd as object))).toBe(said);
    }
  });

  test('is asked nothing before the store is used', async () => {
    // Nothing listens there.
    const pool = new pg.Pool({ host: '127.0.0.1', port: 1 });
    postgresStore(pool);
    expect(pool.totalCount).toBe(0);
    await pool.end();
  });

  // It was asked, and answered nobody: "did not answer within 2000 ms", and not why.
  on('pg')('of pg that nobody has connected', () => {
    test('is told so, and works once it is connected', async () => {
      const client = new pg.Client(url);
      const store = postgresStore(client);
      const told =
        'keyscope: PostgreSQL: the Client is not connected; await client.connect() first';
      await expect(async () => store.findById(OWN)).rejects.toThrow(told);
      await expect(migrate(client)).rejects.toThrow(told);
      const schema = await emptySchema();
      await client.connect();
      await client.query(`SET search_path = ${schema.name}`);
      expect(await store.findById(OWN)).toBe(null);
      await client.end();
      await schema.drop();
    });
  });

  test('of PGlite is not what its transaction hands out', async () => {
    const db = await sharedPglite();
    await db.transaction(async (tx) => {
      // @ts-expect-error Its writes could be rolled back.
      expect(complaint(() => postgresStore(tx))).toBe(NO_CLIENT);
    });
  });
});

describePostgres('a client in a transaction', () => {
  test('of postgres.js is refused', async () => {
    const sql = postgresJs();
    await sql.begin((tx) => {
      // @ts-expect-error Its writes could be rolled back.
      expect(complaint(() => postgresStore(tx))).toBe(NO_CLIENT);
    });
    await sql.end();
  });

  test('of pg is written nothing that could be rolled back', async () => {
    await alone('pg Client', async ({ client, sql }) => {
      const store = postgresStore(client);
      const own = client as pg.Client;
      await store.insert(RECORD);
      for (const sqls of [['BEGIN'], ['BEGIN', 'SELECT 1/0']]) {
        for (const text of sqls) await own.query(text).catch(() => {});
        const refused = 'the Client is in the middle of a transaction';
        await expect(async () => store.insert(another(1))).rejects.toThrow(refused);
        await expect(async () => store.markEnded(RECORD.keyId, { revokedAt: 5 })).rejects.toThrow(
          refused,
        );
        await own.query('COMMIT');
      }
      expect(await store.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(true);
      expect(await value(sql, 'SELECT count(*)::int FROM keyscope_keys')).toBe(1);
    });
  });

  test('of pg is asked one query at a time, which is all that it will take', async () => {
    await alone('pg Client', async ({ client }) => {
      const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const store = postgresStore(client, { batch: false });
      await Promise.all(
        Array.from({ length: 20 }, async (_, i) => store.findById(another(i).keyId)),
      );
      const warnings = warned.mock.calls.flat().map(String);
      warned.mockRestore();
      expect(warnings).toEqual([]);
    });
  });
});

// ── Schema ────────────────────────────────────────────────────────────────────────────────────────────

const CHANGING = ['revoked_at', 'retire_at', 'last_used_at', 'scopes_used'];
const IS_FIXED =
  'keyscope: only revoked_at, retire_at, last_used_at and scopes_used of a key ever change';
const NEVER = 'keyscope: keys are revoked and never deleted';

/** Other values of each column that never changes. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`],
  name: ["'other'", 'upper(name)', "name || ' '", "''"],
  digest: ["'s1$00'", 'upper(digest)', "digest || ' '"],
  seal: ["'00'", 'upper(seal)', 'NULL'],
  entity_uuid: [`'${OTHER}'`],
  accessible_entities: [
    `ARRAY['${OWN}']::uuid[]`,
    "'{}'",
    `accessible_entities || '${OTHER}'::uuid`,
  ],
  scopes: ["ARRAY['*:*']", "'{}'", "scopes || 'threats:write'::text", 'array_append(scopes, NULL)'],
  justification: ["'because'", "' '", 'NULL'],
  metadata: ["'{}'", `'{"a":"é🦊","some_name":"y"}'`],
  created_at: ['created_at + 1', '0'],
  expires_at: ['1', '0'],
  rotated_from: [`'${OTHER}'`],
};
const FIXED = Object.keys(OTHERS);

describe.each(['PGlite', 'pg Pool of 10'])('the table in %s', (kind) => {
  on(kind)('holds', () => {
    const used = using(kind);
    const table = () => used.sql('SELECT * FROM keyscope_keys ORDER BY key_id');
    beforeAll(() => used.store.insert(RECORD));

    test('a column for each field of a record', async () => {
      const columns = await used.sql(`SELECT attname FROM pg_attribute
        WHERE attrelid = 'keyscope_keys'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`);
      const snake = (field: string) =>
        field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      expect(columns.map(({ attname }) => attname)).toEqual(Object.keys(RECORD).map(snake));
      expect([...FIXED, ...CHANGING].sort()).toEqual(Object.keys(RECORD).map(snake).sort());
    });

    test('digests that are compared and sorted byte for byte', async () => {
      const collation = `SELECT collname FROM pg_attribute JOIN pg_collation c ON c.oid = attcollation
        WHERE attrelid = 'keyscope_keys'::regclass AND attname = 'digest'`;
      expect(await value(used.sql, collation)).toBe('C');
    });

    test.each(FIXED)('%s against every UPDATE', async (column) => {
      const before = await table();
      for (const to of OTHERS[column] ?? []) {
        const others = to.replace(
          /^(?=\w+ (?:\|\||\+))|(?<=^(?:upper|array_append)\()/,
          'keyscope_keys.',
        );
        const own = `WHERE key_id = '${RECORD.keyId}'`;
        for (const update of [
          `UPDATE keyscope_keys SET ${column} = ${to} ${own}`,
          `UPDATE keyscope_keys SET revoked_at = 5, ${column} = ${to} ${own}`,
          `INSERT INTO keyscope_keys SELECT * FROM keyscope_keys ${own}
            ON CONFLICT (key_id) DO UPDATE SET ${column} = ${others}`,
        ]) {
          await expect(used.sql(update), update).rejects.toThrow(IS_FIXED);
        }
      }
      expect(await table()).toEqual(before);
    });

    test('nothing against an UPDATE of the four others, nor one that changes nothing', async () => {
      await used.store.insert(another(1));
      const where = `WHERE key_id = '${another(1).keyId}'`;
      await used.sql(`UPDATE keyscope_keys SET name = name, scopes = scopes, expires_at = NULL, revoked_at = 2,
        retire_at = 3, last_used_at = 4, scopes_used = '{"a:b":5}' ${where}`);
      const changed = { revokedAt: 2, retireAt: 3, lastUsedAt: 4, scopesUsed: { 'a:b': 5 } };
      expect(await used.store.findById(another(1).keyId)).toEqual({ ...another(1), ...changed });
    });

    test.each(['revoked_at', 'retire_at'])('%s, which is written once', async (mark) => {
      const record = another(mark === 'retire_at' ? 2 : 3);
      await used.store.insert(record);
      const where = `WHERE key_id = '${record.keyId}'`;
      await used.sql(`UPDATE keyscope_keys SET ${mark} = 5 ${where}`);
      for (const to of ['NULL', '4', '6']) {
        const update = used.sql(`UPDATE keyscope_keys SET ${mark} = ${to} ${where}`);
        await expect(update).rejects.toThrow('keyscope: revoked_at and retire_at are written once');
      }
      await used.sql(`UPDATE keyscope_keys SET ${mark} = 5 ${where}`);
      expect(await value(used.sql, `SELECT ${mark}::int FROM keyscope_keys ${where}`)).toBe(5);
    });

    test('its rows against DELETE, TRUNCATE and a row that another trigger changes', async () => {
      const before = await table();
      await expect(used.sql('DELETE FROM keyscope_keys')).rejects.toThrow(NEVER);
      await expect(used.sql('TRUNCATE keyscope_keys')).rejects.toThrow(NEVER);
      await used.sql(`
        CREATE FUNCTION widen() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.scopes = ''{*:*}''; RETURN NEW; END';
        CREATE TRIGGER zz_widen BEFORE UPDATE ON keyscope_keys FOR EACH ROW EXECUTE FUNCTION widen()`);
      await expect(used.sql('UPDATE keyscope_keys SET last_used_at = 9')).rejects.toThrow(IS_FIXED);
      await used.sql('DROP TRIGGER zz_widen ON keyscope_keys');
      expect(await table()).toEqual(before);
    });

    test('ids that are ids, lists of their kind, and whole numbers', async () => {
      const insert = (column: string, to: string) => {
        const row = {
          key_id: `'${OTHER}'`,
          name: "'x'",
          digest: "'x'",
          entity_uuid: `'${OTHER}'`,
          created_at: '1',
        };
        const lists = {
          accessible_entities: "'{}'",
          scopes: "'{}'",
          metadata: "'{}'",
          scopes_used: "'{}'",
        };
        const all = { ...row, ...lists, [column]: to };
        return used.sql(
          `INSERT INTO keyscope_keys (${Object.keys(all)}) VALUES (${Object.values(all)})`,
        );
      };
      const wrong: Readonly<Record<string, readonly string[]>> = {
        key_id: ["'x'", "''", 'NULL'],
        entity_uuid: ["'x'", 'NULL'],
        accessible_entities: ["'{x}'", 'NULL'],
        scopes: ["'x'", 'NULL'],
        metadata: ["'[]'", "'5'", "'null'", "'x'", 'NULL'],
        scopes_used: ["'[]'", `'"text"'`, 'NULL'],
        created_at: ["'soon'", 'NULL', '9223372036854775808'],
        digest: ['NULL', `'${RECORD.digest}'`],
      };
      for (const [column, values] of Object.entries(wrong)) {
        for (const to of values)
          await expect(insert(column, to), `${column} = ${to}`).rejects.toThrow();
      }
    });

    test('the columns and triggers of the service as they are', async () => {
      await used.sql(`
        CREATE DOMAIN team AS text NOT NULL DEFAULT 'blue';
        ALTER TABLE keyscope_keys ADD COLUMN team team, ADD COLUMN "Note" text;
        CREATE TABLE log (what text);
        CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN INSERT INTO log VALUES (''a''), (''b''); RETURN NEW; END';
        CREATE TRIGGER seen BEFORE INSERT OR UPDATE ON keyscope_keys FOR EACH ROW EXECUTE FUNCTION seen()`);
      const record = another(4);
      await used.store.insert(record);
      // What a trigger of theirs writes is not counted as ours.
      const ended = [record.keyId, record.keyId, OTHER].map(async (id) =>
        used.store.markEnded(id, { revokedAt: 5 }),
      );
      expect((await Promise.all(ended)).sort()).toEqual([false, false, true]);
      await used.store.touch([{ keyId: record.keyId, lastUsedAt: 7, scopesUsed: {} }]);
      expect(await used.store.findById(record.keyId)).toEqual({
        ...record,
        revokedAt: 5,
        lastUsedAt: 7,
      });
      expect(await used.sql('SELECT DISTINCT team::text, "Note" FROM keyscope_keys')).toEqual([
        { team: 'blue', Note: null },
      ]);
      await used.sql(
        'DROP TRIGGER seen ON keyscope_keys; ALTER TABLE keyscope_keys DROP team, DROP "Note"',
      );
    });
  });
});

// ── Migration ─────────────────────────────────────────────────────────────────────────────────────────

/** Everything that a schema holds. */
const CATALOG = `
  SELECT relname AS name, relkind::text AS what, reloptions::text FROM pg_class WHERE relnamespace = current_schema::regnamespace
  UNION ALL SELECT proname, 'function', prosrc FROM pg_proc WHERE pronamespace = current_schema::regnamespace
  UNION ALL SELECT tgname, 'trigger', pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
    WHERE relnamespace = current_schema::regnamespace AND NOT tgisinternal
  UNION ALL SELECT conname, 'constraint', pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = current_schema::regnamespace
  ORDER BY 1, 2`;
const inAnySchema = (rows: readonly object[], schema: Schema) =>
  JSON.parse(JSON.stringify(rows).replaceAll(schema.name, 'any'));

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
    'of an empty schema by eight at once, %s',
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
      return inAnySchema(await sql(CATALOG), schema);
    });
    const version = 'INSERT INTO keyscope_schema (id, version) VALUES (1, 1)';
    for (const statements of [[schemaSql('postgres')], [...MIGRATIONS.postgres.flat(), version]]) {
      await alone('pg Pool of 10', async ({ client, sql, schema }) => {
        for (const statement of statements) await sql(statement);
        const before = await sql(CATALOG);
        expect(inAnySchema(before, schema)).toEqual(expected);
        await migrate(client);
        await postgresStore(client).insert(RECORD);
        expect(await sql(CATALOG)).toEqual(before);
      });
    }
  });

  test.each(KINDS)('with %s refuses a schema of a newer release', async (kind) => {
    await alone(kind, async ({ client, sql }) => {
      await migrate(client);
      await sql('UPDATE keyscope_schema SET version = 2');
      const store = postgresStore(client);
      const newer = 'keyscope: the database has schema 2 and this release knows 1; upgrade it';
      for (const act of [
        () => migrate(client),
        () => store.findById(OWN),
        () => store.insert(RECORD),
      ]) {
        await expect(async () => act()).rejects.toThrow(newer);
      }
      expect(await sql('SELECT * FROM keyscope_schema')).toEqual([{ id: 1, version: 2 }]);
      expect(await sql('SELECT * FROM keyscope_keys')).toEqual([]);
    });
  });

  test('does all of it or nothing, leaves no transaction open, and is tried again at the next use', async () => {
    for (const kind of ['pg Client', 'postgres.js with one connection']) {
      await alone(kind, async ({ client, sql, schema }) => {
        // Somebody has the name of the index, which comes after the table.
        await sql('CREATE TABLE mine (a int); CREATE INDEX keyscope_keys_listing ON mine (a)');
        const store = postgresStore(client);
        for (let i = 0; i < 2; i++) {
          await expect(async () => store.findById(OWN)).rejects.toThrow(/keyscope_keys_listing/);
        }
        const names = `SELECT relname FROM pg_class WHERE relnamespace = '${schema.name}'::regnamespace ORDER BY 1`;
        expect(await sql(names)).toEqual([
          { relname: 'keyscope_keys_listing' },
          { relname: 'mine' },
        ]);
        await sql('DROP TABLE mine');
        expect(await store.findById(OWN)).toBe(null);
      });
    }
  });

  test('that a newer release has overtaken is refused', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const { query } = client as PgClient;
      const overtaken: PgClient = {
        connect: () => {},
        async query(asked) {
          if (asked.text.includes('CREATE TABLE')) {
            await sql(
              `${MIGRATIONS.postgres.flat()[0]}; INSERT INTO keyscope_schema VALUES (1, 2)`,
            );
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

  test('takes up a version table without a version', async () => {
    await alone('pg Pool of 10', async ({ client, sql }) => {
      const [table = ''] = MIGRATIONS.postgres.flat();
      await sql(table);
      await expect(migrate(client)).rejects.toThrow('relation "keyscope_schema" already exists');
    });
  });

  test('is asked for once by operations that begin together', async () => {
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

  test('on a replica is refused', async () => {
    // The server is none: a function of the same name in front of its own says that it is.
    const settings = { search_path: '' };
    const schema = await emptySchema();
    await schema.sql(
      "CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    );
    const pool = pgPool({ ...settings, search_path: `${schema.name},pg_catalog` });
    const refused = 'keyscope: this is a replica, which lags behind; pass a client of the primary';
    await expect(migrate(pool)).rejects.toThrow(refused);
    await expect(async () => postgresStore(pool).findById(OWN)).rejects.toThrow(refused);
    await pool.end();
    await schema.drop();
  });

  // A client with several hosts moves on to the next when it loses one: a key passed that was
  // revoked on the primary.
  test('that its client moved on to later answers no look-up', async () => {
    const schema = await emptySchema();
    await schema.sql('CREATE TABLE moved AS SELECT false AS away');
    await schema.sql(
      "CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT away FROM moved'",
    );
    const pool = pgPool({ search_path: `${schema.name},pg_catalog` });
    const store = postgresStore(pool);
    await store.insert(RECORD);
    const asks = [
      () => store.findByDigest([RECORD.digest]),
      () => store.findByDigest([RECORD.digest, another(1).digest]),
      () => store.findById(RECORD.keyId),
      () => store.list({ entityUuid: OWN, after: null, limit: 9 }),
    ];
    for (const ask of asks) expect([await ask()].flat()).toEqual([RECORD]);
    await schema.sql('UPDATE moved SET away = true');
    for (const ask of asks) {
      await expect(async () => ask()).rejects.toThrow(
        'keyscope: this is a replica, which lags behind',
      );
    }
    await pool.end();
    await schema.drop();
  });
});

describe('a client that says little', () => {
  test('is quoted by its code', async () => {
    // As Node refuses a name that has two addresses.
    const refused = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    const client: PgClient = { connect: () => {}, query: () => Promise.reject(refused) };
    await expect(migrate(client)).rejects.toThrow('keyscope: PostgreSQL: ECONNREFUSED');
    // As Neon's Pool, whose errors are events.
    const silent: PgClient = { connect: () => {}, query: () => Promise.reject(new Event('error')) };
    await expect(migrate(silent)).rejects.toThrow('keyscope: PostgreSQL: the connection failed');
  });
});

describePostgres('a client that changes text', () => {
  const parsing = (settings: Settings, parse: (raw: string) => unknown) => {
    const text = { to: 25, from: [25], serialize: (value: unknown) => value, parse };
    return ofPostgresJs(postgresJs(settings, { types: { text } as never }));
  };
  const ways: Readonly<Record<string, (settings: Settings) => Opened>> = {
    'pg in its parser': (settings) =>
      ofPg(
        pgPool(settings, {
          types: { getTypeParser: (() => (raw: string) => raw.slice(0, -1)) as never },
        }),
      ),
    'postgres.js in a transform': (settings) =>
      ofPostgresJs(
        postgresJs(settings, {
          transform: { value: { from: (raw: unknown) => String(raw).slice(0, -1) } },
        }),
      ),
    // It was told that null or a number is not iterable: JSON too, and none of ours.
    'postgres.js in a type that parses to null': (settings) => parsing(settings, () => null),
    'postgres.js in a type that parses to a number': (settings) =>
      parsing(settings, (raw) => raw.length),
  };
  test.each(Object.entries(ways))(
    'is refused, and what it made of a row is not quoted: %s',
    async (_way, opener) => {
      await alone('pg Pool of 10', async ({ client, schema }) => {
        await postgresStore(client).insert(RECORD);
        const told =
          /^keyscope: PostgreSQL: the client must return .+ text as it is; pass one .+ leave text alone$/;
        const { client: changed, end } = opener(schema.settings);
        await expect(async () => postgresStore(changed).findById(RECORD.keyId)).rejects.toThrow(
          told,
        );
        await end();
      });
    },
  );
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
    const told =
      /permission denied for schema .*; run migrate in a deploy step with a role that may create tables/;
    await expect(async () => store.findById(OWN)).rejects.toThrow(told);

    await migrate(used.client);
    await used.sql(`
      GRANT SELECT ON keyscope_schema TO ${role};
      GRANT SELECT, INSERT, UPDATE (revoked_at, retire_at, last_used_at, scopes_used) ON keyscope_keys TO ${role}`);
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

// ── What the server is asked ──────────────────────────────────────────────────────────────────────────

/** postgres.js tells of each statement that it sends. */
async function observed(
  act: (store: KeyStore, texts: string[], own: Schema) => Promise<void>,
  options?: PostgresStoreOptions,
): Promise<void> {
  const schema = await emptySchema();
  const texts: string[] = [];
  const sql = postgresJs(schema.settings, {
    debug: (_connection, text) => texts.push(text),
    fetch_types: false,
  });
  const store = postgresStore(sql, options);
  await store.summarize(0);
  texts.length = 0;
  await act(store, texts, schema);
  await sql.end();
  await schema.drop();
}

describePostgres('the server', () => {
  test('is asked one statement for 128 look-ups at once, and each has its own answer', async () => {
    await observed(async (store, texts) => {
      const records = Array.from({ length: 100 }, (_, i) => another(i));
      for (const record of records) await store.insert(record);
      texts.length = 0;
      const asked = Array.from({ length: 128 }, async (_, i) =>
        store.findByDigest([another(i).digest]),
      );
      const found = await Promise.all(asked);
      expect(texts).toHaveLength(1);
      expect(found.map((rows) => rows.length)).toEqual(
        Array.from({ length: 128 }, (_, i) => (i < 100 ? 1 : 0)),
      );
      expect(found.flat()).toEqual(records);
    });
  });

  test('is asked one statement a look-up where it is told so', async () => {
    const one = async (store: KeyStore, texts: string[]) => {
      await Promise.all(
        Array.from({ length: 5 }, async (_, i) => store.findByDigest([another(i).digest])),
      );
      expect(texts).toHaveLength(5);
    };
    await observed(one, { batch: false });
  });

  test.each([true, false])(
    'of postgres.js keeps the statements that it is asked: %s',
    async (prepare) => {
      await alone('postgres.js with one connection', async ({ client }) => {
        const store = postgresStore(client, { prepare });
        for (let i = 0; i < 2; i++) await store.findByDigest(['a']);
        const kept =
          "SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%digest = $1%'";
        expect(await (client as PostgresJsClient).unsafe(kept)).toHaveLength(prepare ? 1 : 0);
      });
    },
  );

  test.each([true, false])(
    'of pg keeps the statements that it is asked, by default too: %s',
    async (prepare) => {
      await alone('pg Client', async ({ client }) => {
        const store = postgresStore(client, prepare ? {} : { prepare });
        for (let i = 0; i < 2; i++) {
          await store.touch([{ keyId: OWN, lastUsedAt: 5, scopesUsed: {} }]);
          for (const digests of [['a'], ['a', 'b']]) await store.findByDigest(digests);
        }
        const { rows } = await (client as pg.Client).query(
          'SELECT name FROM pg_prepared_statements ORDER BY name',
        );
        const names = ['keyscope_findDigest', 'keyscope_findDigests', 'keyscope_touch'];
        expect(rows.map(({ name }) => name)).toEqual(prepare ? names : []);
      });
    },
  );

  test('is asked one statement a method, of usage one for 1,000 keys, and none for what cannot be there', async () => {
    await observed(async (store, texts) => {
      await store.insert(RECORD);
      await store.findById(RECORD.keyId);
      await store.list({ entityUuid: OWN, after: null, limit: 5 });
      await store.markEnded(RECORD.keyId, { retireAt: 1 });
      await store.touch(
        [RECORD, another(1), RECORD].map(({ keyId }) => ({ keyId, lastUsedAt: 5, scopesUsed: {} })),
      );
      await store.summarize(0);
      expect(texts).toHaveLength(6);
      texts.length = 0;
      const many = Array.from({ length: 1_001 }, (_, i) => ({
        ...another(i),
        lastUsedAt: 5 + i,
        scopesUsed: {},
      }));
      await store.touch([...many, { ...RECORD, lastUsedAt: 7, scopesUsed: {} }]);
      expect(texts).toHaveLength(2);
      expect(await store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 7 });
      texts.length = 0;
      const odd = [
        RECORD.keyId.toUpperCase(),
        'x',
        '',
        `${RECORD.keyId}\0`,
        5 as unknown as string,
      ];
      for (const id of odd) {
        expect(await store.findById(id)).toBe(null);
        expect(await store.markEnded(id, { revokedAt: 1 })).toBe(false);
        expect(await store.list({ entityUuid: id, after: null, limit: 5 })).toEqual([]);
        await store.touch([{ keyId: id, lastUsedAt: 9, scopesUsed: {} }]);
      }
      for (const digests of [[], ['\0'], ['\ud800'], [5 as unknown as string]]) {
        expect(await store.findByDigest(digests)).toEqual([]);
      }
      await store.touch([]);
      expect(texts).toEqual([]);
    });
  });

  test('reads no table from end to end but for a summary, and sorts no listing', async () => {
    await observed(async (store, texts, { sql }) => {
      const rows = (i: string) =>
        `md5(${i} || 'k')::uuid, 'n', 's1$' || ${i}, NULL, md5((i % 50)::text)::uuid, '{}', '{}'`;
      await sql(`INSERT INTO keyscope_keys SELECT ${rows('i::text')}, NULL, '{}', i, NULL, NULL, NULL, NULL, NULL, '{}'
        FROM generate_series(1, 20000) AS i; ANALYZE keyscope_keys`);
      const after = { createdAt: 1, keyId: OTHER };
      await store.findByDigest(['a']);
      await store.findByDigest(['a', 'b']);
      await store.findById(OWN);
      await store.list({ entityUuid: OWN, after, limit: 10 });
      await store.markEnded(OWN, { retireAt: 4 });
      await store.markEnded(OWN, { revokedAt: 4 });
      await store.touch([{ keyId: OWN, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
      await store.summarize(5);
      expect(texts).toHaveLength(8);
      await sql('SET plan_cache_mode = force_generic_plan');
      const plans: string[] = [];
      for (const [i, text] of texts.entries()) {
        const count = Math.max(...[...text.matchAll(/\$(\d)/g)].map(([, n]) => Number(n)));
        await sql(`PREPARE s${i} AS ${text}`);
        const plan = await sql(
          `EXPLAIN EXECUTE s${i} (${Array.from({ length: count }, () => "'1'")})`,
        );
        plans.push(plan.map((line) => line['QUERY PLAN']).join('\n'));
      }
      expect(plans.filter((plan) => /Seq Scan on keyscope_keys/.test(plan))).toEqual([
        plans.at(-1),
      ]);
      expect(plans.filter((plan) => /Sort/.test(plan) && /Limit/.test(plan))).toEqual([]);
    });
  });

  test('is written nothing by a verification: it passes where nothing can be written', async () => {
    await alone('pg Pool of 10', async ({ client, schema }) => {
      const { key, info } = await issue(setUp({ store: postgresStore(client) }).keyring);
      const readOnly = pgPool({ ...schema.settings, default_transaction_read_only: 'on' });
      const { keyring } = setUp({ store: postgresStore(readOnly) });
      expect((await keyring.verify(key)).entityUuid).toBe(OWN);
      const told =
        'PostgreSQL: cannot execute UPDATE in a read-only transaction; pass a client of the primary';
      const { cause } = await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
      expect(String(cause)).toContain(told);
      await readOnly.end();
    });
  });

  test('commits for good what it acknowledges, also where commits are not waited for', async () => {
    const settings = { synchronous_commit: 'off' };
    await alone(
      'pg Pool of 10',
      async ({ client, sql }) => {
        await migrate(client);
        // Runs when the transaction commits, and sees what it commits with.
        await sql(`
        CREATE TABLE log (what text, how text);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN INSERT INTO log VALUES (TG_ARGV[0], current_setting('synchronous_commit')); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER note_insert AFTER INSERT ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('insert');
        CREATE CONSTRAINT TRIGGER note_retire AFTER UPDATE OF retire_at ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('retire');
        CREATE CONSTRAINT TRIGGER note_revoke AFTER UPDATE OF revoked_at ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('revoke');
        CREATE CONSTRAINT TRIGGER note_touch AFTER UPDATE OF last_used_at ON keyscope_keys
          DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note('touch')`);
        const store = postgresStore(client);
        await store.insert(RECORD);
        await store.markEnded(RECORD.keyId, { retireAt: 1 });
        await store.markEnded(RECORD.keyId, { revokedAt: 1 });
        await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 1, scopesUsed: {} }]);
        expect(await sql('SELECT * FROM log')).toEqual([
          { what: 'insert', how: 'on' },
          { what: 'retire', how: 'on' },
          { what: 'revoke', how: 'on' },
          { what: 'touch', how: 'off' },
        ]);
        // For that one transaction: the connection is as it was.
        const pool = client as pg.Pool;
        expect((await pool.query('SHOW synchronous_commit')).rows).toEqual([
          { synchronous_commit: 'off' },
        ]);
        const strict = pgPool({
          search_path: String(await value(sql, 'SELECT current_schema')),
          synchronous_commit: 'remote_apply',
        });
        await sql('DELETE FROM log');
        await postgresStore(strict).insert(another(1));
        expect(await sql('SELECT how FROM log')).toEqual([{ how: 'remote_apply' }]);
        await strict.end();
      },
      settings,
    );
  });
});

// A service whose role or database is set to a stricter isolation: the loser of a rotation was
// answered 503 and not 409, and a batch of usage that met another failed.
describe.each(['repeatable read', 'serializable'])('at isolation %s', (isolation) => {
  const settings = { default_transaction_isolation: isolation };

  describePostgres('the contract is kept', () => {
    const used = using('pg Pool of 10', settings);
    storeContract(test, () => used.store);
  });

  describePostgres('writes that meet', () => {
    test('are all answered: one of many ends a key, usage of all is written', async () => {
      await alone(
        'pg Pool of 10',
        async ({ client }) => {
          const { rows } = await (client as PgClient).query({ text: 'SHOW transaction_isolation' });
          expect(rows).toEqual([{ transaction_isolation: isolation }]);
          const store = postgresStore(client);
          await store.insert(RECORD);
          const used = Array.from({ length: 20 }, async (_, i) =>
            store.touch([{ keyId: RECORD.keyId, lastUsedAt: i, scopesUsed: { [`s:a${i}`]: i } }]),
          );
          await Promise.all(used);
          const ends = Array.from({ length: 20 }, async (_, i) =>
            store.markEnded(RECORD.keyId, { revokedAt: i }),
          );
          expect((await Promise.all(ends)).filter((ended) => ended)).toHaveLength(1);
          const row = await store.findById(RECORD.keyId);
          expect([row?.lastUsedAt, Object.keys(row?.scopesUsed ?? {}).length]).toEqual([19, 20]);
        },
        settings,
      );
    });

    test('of two rotations: one wins, and the other is told that it lost', async () => {
      await alone(
        'pg Pool of 10',
        async ({ client }) => {
          const { keyring } = setUp({ store: postgresStore(client) });
          for (let round = 0; round < 10; round++) {
            const { info } = await issue(keyring);
            const rotate = (overlapMs: number) =>
              keyring.rotate(info.keyId, { overlapMs }, AUTHORITY);
            const ends = await Promise.allSettled([rotate(HOUR), rotate(2 * HOUR)]);
            const lost = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
            expect(lost.map((error) => [isAccessError(error), error.code])).toEqual([
              [true, 'conflict'],
            ]);
          }
        },
        settings,
      );
    });
  });
});

test('a summary without a time is one of now, and a listing without a position begins at its beginning', async () => {
  await alone('PGlite', async ({ client }) => {
    const store = postgresStore(client);
    await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
    await store.insert({ ...another(2), expiresAt: Date.now() + 60_000 });
    const summarize = store.summarize as () => unknown;
    expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
    await expectLooseCalls(store, OWN);
  });
});

describePostgres('touch', () => {
  const used = using('pg Pool of 10');
  const records = Array.from({ length: 60 }, (_, i) => another(i));
  beforeAll(async () => {
    for (const record of records) await used.store.insert(record);
  });

  test('of many batches at once in any order never ends in a deadlock', async () => {
    const batch = (n: number) =>
      records
        .map(({ keyId }, i) => ({
          keyId,
          order: Math.imul(i + 1, 2_654_435_761 + n * 40_503) >>> 0,
        }))
        .sort((a, b) => a.order - b.order)
        .map(({ keyId }) => ({
          keyId,
          lastUsedAt: START + n,
          scopesUsed: { 'a:b': START + n, [`only:s${n}`]: n },
        }));
    await Promise.all(Array.from({ length: 80 }, async (_, n) => used.store.touch(batch(n))));
    const scopesUsed = Object.fromEntries(Array.from({ length: 80 }, (_, n) => [`only:s${n}`, n]));
    for (const { keyId } of records) {
      const row = await used.store.findById(keyId);
      expect(row).toMatchObject({
        lastUsedAt: START + 79,
        scopesUsed: { ...scopesUsed, 'a:b': START + 79 },
      });
    }
  });

  test('of a row whose table of scopes is none fails nobody else', async () => {
    await used.sql(`ALTER TABLE keyscope_keys DROP CONSTRAINT keyscope_keys_scopes_used_check,
      ALTER COLUMN scopes_used DROP NOT NULL`);
    const [bad, good] = [another(61), another(62)];
    for (const record of [bad, good]) await used.store.insert(record);
    for (const [i, json] of [
      "'[]'",
      "'5'",
      `'"text"'`,
      "'null'",
      'NULL',
      `'{"a:b":"text","c:d":{}}'`,
    ].entries()) {
      await used.sql(
        `UPDATE keyscope_keys SET scopes_used = ${json} WHERE key_id = '${bad.keyId}'`,
      );
      const entry = { lastUsedAt: START * 2 + i, scopesUsed: { 'a:b': START * 2 + i } };
      await used.store.touch([bad, good].map(({ keyId }) => ({ ...entry, keyId })));
      expect(await used.store.findById(good.keyId), json).toMatchObject(entry);
    }
  });
});

// ── What somebody edited by hand ──────────────────────────────────────────────────────────────────────

const attackers = generateKey({ prefix: 'acme' });
const HUGE = '9223372036854775807';

/**
 * Column → SQL values that widen a key, or that are merely wrong. What the type refuses is in the
 * tests of the table.
 */
const EDITS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`, 'NULL'],
  name: ["'other'", "''", 'upper(name)', "name || ' '", 'NULL'],
  digest: [
    `'${digestKey(attackers, PEPPER)}'`,
    `'${digestKey(attackers)}'`,
    "''",
    'upper(digest)',
    "digest || ' '",
  ].concat(['left(digest, -1)', 'left(digest, 20)', 'NULL']),
  seal: ['NULL', "''", 'upper(seal)', 'left(seal, -1)', 'reverse(seal)'],
  entity_uuid: [`'${OTHER}'`, 'NULL'],
  accessible_entities: [
    `'{${OWN},${OTHER}}'`,
    "'{}'",
    `'{${OTHER}}'`,
    `'{NULL,${OWN}}'`,
    `'{{${OWN}},{${OTHER}}}'`,
    'NULL',
  ],
  scopes: [
    "'{threats:read,threats:write}'",
    "'{threats:*}'",
    "'{*:*}'",
    "'{}'",
    "'{NULL}'",
    "'{nothing:known}'",
  ].concat(["'{threats:read,threats:read}'", "'{{threats:read}}'", "'{Threats:read}'", 'NULL']),
  justification: ["'because'", "''"],
  metadata: [
    `'{"team":"blue"}'`,
    `'{"a":5}'`,
    `'{"__proto__":"x"}'`,
    "'[]'",
    "'5'",
    "'null'",
    `'"text"'`,
    'NULL',
  ],
  created_at: ['created_at + 1', '0', '-1', HUGE, 'NULL'],
  expires_at: ['NULL', 'expires_at + 1', '0', HUGE],
  rotated_from: [`'${OTHER}'`],
};

async function outcome(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'passed';
  } catch (error) {
    if (isStoreError(error)) return 'StoreError';
    return isAccessError(error) ? `${error.code} ${error.reason}` : String(error);
  }
}

const TAMPERED = 'invalid_token record_tampered';
const REFUSED = [TAMPERED, 'invalid_token unknown_key', 'StoreError'];
/** As a migration that went wrong may leave the table: no trigger, no constraint. */
const SWITCHES_OFF = `
  ALTER TABLE keyscope_keys DISABLE TRIGGER USER, DROP CONSTRAINT keyscope_keys_pkey,
    DROP CONSTRAINT keyscope_keys_metadata_check, DROP CONSTRAINT keyscope_keys_scopes_used_check;
  ${[...FIXED, 'scopes_used'].map((column) => `ALTER TABLE keyscope_keys ALTER ${column} DROP NOT NULL`).join(';')}`;

describe.each(['PGlite', 'pg Pool of 10', 'postgres.js with ten'])(
  'a row edited by hand, read with %s',
  (kind) => {
    on(kind)('never passes', () => {
      const used = using(kind);
      beforeAll(async () => {
        await used.store.summarize(0);
        await used.sql(SWITCHES_OFF);
      });

      /** A key of its own, whose row alone is edited. */
      async function victim() {
        const ring = setUp({ store: used.store });
        const { key, info } = await ring.keyring.issue(
          { ...PLAIN, expiresAt: new Date(START + HOUR) },
          AUTHORITY,
        );
        expect(await outcome(() => ring.keyring.verify(key))).toBe('passed');
        const { digest } = (await used.store.findById(info.keyId)) as KeyRecord;
        const edit = (column: string, to: string) =>
          used.sql(`UPDATE keyscope_keys SET ${column} = ${to} WHERE key_id = '${info.keyId}'`);
        const remove = () =>
          used.sql(`DELETE FROM keyscope_keys WHERE entity_uuid IN ('${OWN}', '${OTHER}')
        OR entity_uuid IS NULL OR digest = '${digest}'`);
        return { ...ring, key, keyId: info.keyId, edit, remove };
      }

      test('every column that never changes is tried', () => {
        expect(Object.keys(EDITS)).toEqual(FIXED);
      });

      test.each(FIXED)('%s', async (column) => {
        for (const to of EDITS[column] ?? []) {
          const { keyring, key, keyId, edit, remove } = await victim();
          await edit(column, to);
          const why = `${column} = ${to}`;
          const said = await outcome(() => keyring.verify(key));
          // What is found by its digest is reported as tampering, not as a broken store.
          expect(column === 'digest' ? REFUSED : [TAMPERED], why).toContain(said);
          // Nor the key that whoever edited the digest knows.
          expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
          for (const entityUuid of [OWN, OTHER]) {
            const rotated = await outcome(() =>
              keyring.rotate(keyId, { overlapMs: 0 }, { entityUuid }),
            );
            expect([...REFUSED, 'not_found no_such_key'], `${why}, rotated`).toContain(rotated);
            const shown = await outcome(() => keyring.list({}, { entityUuid }));
            expect(['passed', 'StoreError'], `${why}, listed`).toContain(shown);
          }
          // Every other key works on.
          const { keyring: others } = setUp({ store: used.store });
          const other = await issue(others);
          expect(await outcome(() => others.verify(other.key)), why).toBe('passed');
          await remove();
        }
      });

      test('marks, use and scopes used beyond what a number holds, or that are none', async () => {
        for (const [column, to] of [
          ['revoked_at', HUGE],
          ['retire_at', HUGE],
          ['last_used_at', HUGE],
          ['scopes_used', `'{"a:b":"text"}'`],
          ['scopes_used', `'{"a:b":1.5}'`],
          ['scopes_used', "'[]'"],
          ['scopes_used', "'null'"],
          ['scopes_used', 'NULL'],
        ] as const) {
          const { keyring, key, edit, remove } = await victim();
          await edit(column, to);
          expect(await outcome(() => keyring.verify(key)), `${column} = ${to}`).toBe(TAMPERED);
          expect(await outcome(() => keyring.list({}, AUTHORITY)), `${column} = ${to}`).toBe(
            'StoreError',
          );
          await remove();
        }
      });

      test('a summary tells nothing of a digest that is none', async () => {
        const { keyId, edit, remove } = await victim();
        for (const digest of ['no-scheme-at-all', '', '$', '$$']) {
          await edit('digest', `'${digest}'`);
          expect(await used.store.summarize(START)).toEqual([
            { scheme: '', live: 1, lastUsedAt: null },
          ]);
        }
        expect(await used.store.findById(keyId)).toMatchObject({ digest: '$$' });
        await remove();
      });
    });
  },
);

describe('what is stored', () => {
  test('holds no key', async () => {
    await alone('PGlite', async ({ client, sql }) => {
      const { keyring } = setUp({ store: postgresStore(client) });
      const { key, info } = await issue(keyring);
      const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
      const all = JSON.stringify(await sql('SELECT * FROM keyscope_keys'));
      expect(all).toContain(info.keyId);
      for (const secret of [key, next.key])
        expect(all).not.toContain(secret.slice('acme_'.length, -6));
    });
  });
});

// ── Errors and outages ────────────────────────────────────────────────────────────────────────────────

describe.each(KINDS)('what %s says of a write that is refused', (kind) => {
  on(kind)('tells', () => {
    test('no digest and no seal', async () => {
      await alone(kind, async ({ client, sql }) => {
        const store = postgresStore(client);
        await store.insert(RECORD);
        await sql("ALTER TABLE keyscope_keys ADD CHECK (name <> 'refused')");
        const refusals = [
          RECORD,
          { ...another(1), digest: RECORD.digest },
          { ...another(2), name: 'refused' },
          { ...another(3), name: null as unknown as string },
          { ...another(4), metadata: { a: '\0' } },
          { ...another(5), keyId: 'no uuid' },
          { ...another(6), createdAt: 1e300 },
        ];
        for (const record of refusals) {
          const error: unknown = await Promise.resolve(store.insert(record)).then(
            undefined,
            (reason) => reason,
          );
          const said = inspect(error, { showHidden: true, depth: Number.POSITIVE_INFINITY });
          expect(said).toMatch(/keyscope: PostgreSQL: \w+/);
          for (const secret of [record.digest, String(record.seal)]) {
            expect(said).not.toContain(secret.replace('s1$', '').slice(0, 16));
          }
          expect((error as { code: unknown }).code).toMatch(/^[0-9A-Z]{5}$/);
        }
      });
    });
  });
});

/** A store for keyrings, whose server can be gone. */
const OUTAGES: Readonly<Record<string, (through: string, settings: Settings) => Opened>> = {
  pg: (connectionString, settings) => ofPg(pgPool(settings, { connectionString })),
  'postgres.js': (through, settings) => {
    const { hostname: host, port } = new URL(through);
    return ofPostgresJs(postgresJs(settings, { host, port: Number(port), max: 2 }));
  },
};

describePostgres.each(Object.entries(OUTAGES))('a server that %s cannot reach', (_kind, opener) => {
  test('fails what is asked in time, at the start too, and is used again once it is back', async () => {
    const schema = await emptySchema();
    const server = await proxy();
    const { client, end } = opener(server.url, schema.settings);
    const { keyring } = setUp({ store: postgresStore(client), storeTimeoutMs: 1_000 });
    await server.down();
    await storeError(() => issue(keyring));
    await server.up();
    const { key, info } = await vi.waitFor(() => issue(keyring), { timeout: 10_000 });
    expect((await keyring.verify(key)).keyId).toBe(info.keyId);
    await server.down();
    for (let i = 0; i < 3; i++) await storeError(() => keyring.verify(key));
    await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
    await server.up();
    const verified = await vi.waitFor(() => keyring.verify(key), { timeout: 10_000 });
    expect(verified.keyId).toBe(info.keyId);
    await end();
    await server.down();
    await schema.drop();
  });

  test('because it ended the connections is used again', { timeout: 20_000 }, async () => {
    const schema = await emptySchema();
    const { client, end } = opener(url, { ...schema.settings, application_name: schema.name });
    const { keyring } = setUp({ store: postgresStore(client) });
    const { key } = await issue(keyring);
    for (let i = 0; i < 3; i++) {
      await Promise.all(Array.from({ length: 20 }, () => keyring.verify(key)));
      await schema.sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${schema.name}'`,
      );
      // What was under way may fail; nothing is ever told that the key is bad.
      const after = await vi.waitFor(() => keyring.verify(key), { timeout: 10_000 });
      expect(after.entityUuid).toBe(OWN);
    }
    await end();
    await schema.drop();
  });
});

// With its default `max_pipeline`, postgres.js answers nothing any more after this: the reason for
// what the store says.
describePostgres('a server that ends connections under load', () => {
  test('is used again by postgres.js that sends nothing ahead', { timeout: 20_000 }, async () => {
    const schema = await emptySchema();
    const connection = { ...schema.settings, application_name: schema.name };
    const through = new URL(url);
    through.searchParams.set('max_pipeline', '1');
    // Nobody awaits the driver's own query for types: its failure would be an unhandled rejection.
    const client = postgres(through.href, {
      max: 3,
      backoff: () => 0.05,
      connection,
      fetch_types: false,
    });
    const store = postgresStore(client, { batch: false });
    await store.insert(RECORD);
    const asking = async (times: number) => {
      for (let i = 0; i < times; i++)
        await Promise.allSettled([store.findByDigest([RECORD.digest])]);
    };
    for (let round = 0; round < 5; round++) {
      const load = Array.from({ length: 12 }, () => asking(200));
      await asking(20);
      await schema.sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '${schema.name}'`,
      );
      // Each is answered, if only by an error.
      await Promise.all(load);
      const found = await vi.waitFor(async () => store.findByDigest([RECORD.digest]), {
        timeout: 10_000,
      });
      expect(found).toEqual([RECORD]);
    }
    await client.end({ timeout: 1 });
    await schema.drop();
  });
});

describe('a server that takes connections and answers nothing', () => {
  test.each(Object.entries(OUTAGES))(
    'fails what is asked of %s within storeTimeoutMs',
    async (_kind, opener) => {
      const sockets: Socket[] = [];
      const server = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(
        0,
        '127.0.0.1',
      );
      await once(server, 'listening');
      const { port } = server.address() as AddressInfo;
      const { client, end } = opener(`postgres://postgres@127.0.0.1:${port}/test`, {});
      const { keyring } = setUp({ store: postgresStore(client), storeTimeoutMs: 100 });
      const error = await storeError(() => keyring.verify(attackers));
      expect(error.message).toBe('store.findByDigest did not answer within 100 ms');
      for (const socket of sockets) socket.destroy();
      server.close();
      await end().catch(() => {});
    },
  );
});

// ── Invalidation ──────────────────────────────────────────────────────────────────────────────────────

/** The two ends of a channel, each in what could be a process of its own, and an end to both. */
interface Ends {
  readonly here: PostgresChannel;
  readonly there: PostgresChannel;
  close(): Promise<unknown>;
}

const named = (name: string, more: pg.ClientConfig = {}) =>
  new pg.Client({ connectionString: url, application_name: name, ...more });

const CHANNELS: Readonly<Record<string, (name: string) => Promise<Ends>>> = {
  async pg(name) {
    const made: pg.Client[] = [];
    const make = () => {
      made.push(named(name));
      return made.at(-1) as pg.Client;
    };
    return {
      here: make,
      there: make,
      close: () => Promise.all(made.map((client) => client.end().catch(() => {}))),
    };
  },
  async 'postgres.js'(name) {
    const [here, there] = [
      postgresJs({ application_name: name }),
      postgresJs({ application_name: name }),
    ];
    return {
      here,
      there,
      close: () => Promise.all([here, there].map((sql) => sql.end({ timeout: 1 }))),
    };
  },
  async PGlite() {
    const db = await sharedPglite();
    return { here: db, there: db, close: async () => {} };
  },
};

describe.each(Object.keys(CHANNELS))('the channel of %s', (kind) => {
  on(kind)('carries', () => {
    const name = `keyscope_${crypto.randomUUID().slice(0, 8)}`;
    const used = {} as Ends;
    beforeAll(async () => {
      Object.assign(used, await CHANNELS[kind]?.(name));
    });
    afterAll(() => used.close());

    test('key ids and nothing else, to everybody who listens', async () => {
      const [here, there] = [postgresInvalidation(used.here), postgresInvalidation(used.there)];
      const heard: string[][] = [[], [], []];
      await here.subscribe((keyId) => heard[0]?.push(keyId));
      await here.subscribe((keyId) => heard[1]?.push(keyId));
      await there.subscribe((keyId) => heard[2]?.push(keyId));
      const ids = [crypto.randomUUID(), crypto.randomUUID()];
      const odd = ['', 'x', RECORD.digest, OWN.toUpperCase()];
      const tell = async (keyIds: readonly unknown[]) => {
        for (const keyId of keyIds) await there.publish(keyId as string);
      };
      if (kind === 'PGlite') await tell([...odd, 5, ids[0]]);
      else {
        // Somebody else on the same channel, who hears and tells everything.
        const other = await pgClient();
        const overheard: unknown[] = [];
        other.on('notification', ({ payload }) => overheard.push(payload));
        await other.query('LISTEN keyscope_revoked');
        await tell([...odd, 5, ids[0]]);
        await vi.waitFor(() => expect(overheard).toContain(ids[0]));
        expect(overheard.filter((payload) => [...odd, '5'].includes(payload as string))).toEqual(
          [],
        );
        for (const text of odd)
          await other.query("SELECT pg_notify('keyscope_revoked', $1)", [text]);
        await other.end();
      }
      await here.publish(String(ids[1]));
      await vi.waitFor(() =>
        expect(heard.map((all) => all.includes(String(ids[1])))).toEqual([true, true, true]),
      );
      for (const all of heard)
        expect(all.filter((id) => ids.includes(id as never) || odd.includes(id))).toEqual(ids);
    });
  });
});

describePostgres.each(['pg', 'postgres.js'])('the channel of %s', (kind) => {
  test('is up again after its connections were lost', { timeout: 20_000 }, async () => {
    const name = `keyscope_${crypto.randomUUID().slice(0, 8)}`;
    const ends = (await CHANNELS[kind]?.(name)) as Ends;
    const [here, there] = [postgresInvalidation(ends.here), postgresInvalidation(ends.there)];
    const heard: string[] = [];
    await here.subscribe((keyId) => heard.push(keyId));
    const admin = await pgClient();
    for (let i = 0; i < 3; i++) {
      await admin.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
        [name],
      );
      const keyId = crypto.randomUUID();
      const until = { timeout: 10_000, interval: 100 };
      await vi.waitFor(async () => {
        await there.publish(keyId);
        expect(heard).toContain(keyId);
      }, until);
    }
    await ends.close();
    await admin.end();
  });

  test('comes up by itself where the server was down at the start, and tells once', {
    timeout: 20_000,
  }, async () => {
    const server = await proxy();
    await server.down();
    const made: pg.Client[] = [];
    const { hostname: host, port } = new URL(server.url);
    const sql = postgresJs({}, { host, port: Number(port), backoff: () => 0.1 });
    const pgEnd = () => {
      made.push(new pg.Client(server.url));
      return made.at(-1) as pg.Client;
    };
    const here = postgresInvalidation(kind === 'pg' ? pgEnd : sql);
    const heard: string[] = [];
    // As a cache does that is told to try again.
    const listener = (keyId: string) => heard.push(keyId);
    for (let i = 0; i < 3; i++) await here.subscribe(listener);
    await expect(async () => here.publish(OWN)).rejects.toThrow();
    await server.up();
    const until = { timeout: 10_000, interval: 100 };
    await vi.waitFor(async () => {
      await here.publish(OTHER);
      expect(heard).toContain(OTHER);
    }, until);
    heard.length = 0;
    const last = crypto.randomUUID();
    await here.publish(last);
    await vi.waitFor(() => expect(heard).toContain(last));
    expect(heard.filter((id) => id === last)).toEqual([last]);
    await Promise.all([
      sql.end({ timeout: 1 }),
      ...made.map((client) => client.end().catch(() => {})),
    ]);
    await server.down();
  });
});

describePostgres('postgresInvalidation', () => {
  test('makes one connection for one that is lost, however often it says so', async () => {
    const made: pg.Client[] = [];
    const { publish, subscribe } = postgresInvalidation(() => {
      made.push(named('keyscope'));
      return made.at(-1) as pg.Client;
    });
    await subscribe(() => {});
    made[0]?.emit('error', new Error('lost'));
    const lost = performance.now();
    await publish(OWN);
    expect(made).toHaveLength(2);
    // A second later, so that a server that is down is not asked without a pause.
    expect(performance.now() - lost).toBeGreaterThan(900);
    made[0]?.emit('error', new Error('lost, as it said'));
    await publish(OWN);
    expect(made).toHaveLength(2);
    await Promise.all(made.map((client) => client.end()));
  });

  // Each of them stayed open, one more a second, until the server had a slot for nobody; and each
  // that had something to tell opened one more.
  test('ends the connection on which LISTEN is refused, and makes one at a time', {
    timeout: 20_000,
  }, async () => {
    let standby = true;
    const made: pg.Client[] = [];
    const ended = new Set<pg.Client>();
    const { publish, subscribe } = postgresInvalidation(() => {
      const client = named('keyscope');
      const query = client.query.bind(client);
      // As a standby does, the server takes the connection and refuses what it is asked first.
      if (standby) Object.assign(client, { query: () => query('LISTEN') });
      made.push(client.on('end', () => ended.add(client)));
      return client;
    });
    await subscribe(() => {});
    for (let attempt = 2; attempt < 4; attempt++) {
      const told = await Promise.allSettled(Array.from({ length: 5 }, () => publish(OWN)));
      expect(told.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
      expect(made).toHaveLength(attempt);
    }
    standby = false;
    await publish(OWN);
    expect(made).toHaveLength(4);
    await vi.waitFor(() => expect(ended).toEqual(new Set(made.slice(0, 3))));
    await made.at(-1)?.end();
  });

  test.each(['pg', 'postgres.js'])(
    'of %s ends a key in the caches of other processes',
    async (kind) => {
      await alone('pg Pool of 10', async ({ client }) => {
        const ends = (await CHANNELS[kind]?.('keyscope')) as Ends;
        const cached = (channel?: PostgresChannel) => {
          const invalidation = channel && postgresInvalidation(channel);
          const options = {
            cache: new LRUCache<string, object>({ max: 10 }),
            maxStalenessMs: 30_000,
            invalidation,
          };
          return setUp({ store: cacheStore(postgresStore(client), options) }).keyring;
        };
        const [here, there, deaf] = [cached(ends.here), cached(ends.there), cached()];
        const { key, info } = await issue(here);
        for (const keyring of [here, there, deaf]) await keyring.verify(key);
        // Both are connected once they have heard of a key that is none.
        const heard: string[] = [];
        await postgresInvalidation(ends.there).subscribe((keyId) => heard.push(keyId));
        await vi.waitFor(async () => {
          await postgresInvalidation(ends.here).publish(OTHER);
          expect(heard).toContain(OTHER);
        });
        await there.verify(key);
        await here.revoke(info.keyId, AUTHORITY);
        await vi.waitFor(() => denied(() => there.verify(key), 'invalid_token', 'revoked'));
        // What is heard by no channel is believed for as long as the cache was told.
        expect((await deaf.verify(key)).keyId).toBe(info.keyId);
        await ends.close();
      });
    },
  );

  test.each([
    ['that hears', "console.log('over')", ['over']],
    // Nothing else is under way when it tells.
    [
      'that tells',
      `await publish('${OTHER}'); setTimeout(() => publish(OWN).then(tell), 300)`,
      ['told'],
    ],
  ])(
    'keeps no process %s from its end',
    (_what, then, lines) => {
      const script = `
      import pg from 'pg';
      import { postgresInvalidation } from 'keyscope/stores/postgres';
      const OWN = '${OWN}';
      const tell = () => console.log('told');
      const { publish, subscribe } = postgresInvalidation(() => new pg.Client(process.env.URL));
      await subscribe(() => {});
      ${then}`;
      const hooks = fileURLToPath(new URL('../support/typescript.ts', import.meta.url));
      const args = ['--import', hooks, '--input-type=module', '--eval', script];
      const env = { ...process.env, URL: url };
      const { status, stdout } = spawnSync(process.execPath, args, {
        env,
        encoding: 'utf8',
        timeout: 10_000,
      });
      expect({ status, lines: stdout.trim().split('\n') }).toEqual({ status: 0, lines });
    },
    15_000,
  );
});

describe('postgresInvalidation', () => {
  const NO_CHANNEL =
    'postgresInvalidation: pass () => new pg.Client(…), what postgres() returned, or a PGlite; no Pool';

  test('takes no Pool, no Client, no function that makes anything else, and nothing else', async () => {
    const [pool, client, sql] = [new pg.Pool(), new pg.Client(), postgresJs({})];
    // @ts-expect-error It would listen on a connection that it lends to others.
    expect(complaint(() => postgresInvalidation(pool))).toBe(NO_CHANNEL);
    // @ts-expect-error Once lost, it could not be made again.
    expect(complaint(() => postgresInvalidation(client))).toBe(NO_CHANNEL);
    // @ts-expect-error As above: plain JavaScript passed it, published by it, and heard nothing.
    expect(complaint(() => postgresInvalidation(() => pool))).toBe(NO_CHANNEL);
    const made = [sql, await sharedPglite(), undefined, Promise.resolve(client)].map(
      (one) => () => one,
    );
    for (const odd of [undefined, null, url, {}, ...made]) {
      expect(complaint(() => postgresInvalidation(odd as unknown as PostgresChannel))).toBe(
        NO_CHANNEL,
      );
    }
  });
});
