import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { inspect } from 'node:util';
import type { KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, digestKey, generateKey, isAccessError, isStoreError } from 'keyscope';
import type { MysqlClient, MysqlLoan, MysqlPool } from 'keyscope/stores/mysql';
import { migrate, mysqlStore } from 'keyscope/stores/mysql';
import { MIGRATIONS, schemaSql } from 'keyscope/stores/schema';
import { storeContract } from 'keyscope/testing';
import mariadb from 'mariadb';
import callbacks from 'mariadb/callback';
import core from 'mysql2';
import mysql from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { expectLooseCalls } from '../support/loose.ts';
import {
  CLIENTS,
  type Database,
  emptyDatabase,
  type Opened,
  openConsole,
  SERVER,
} from '../support/mysql.ts';
import { numbered, RECORD } from '../support/records.ts';
import { describeOn } from '../support/servers.ts';
import { AUTHORITY, catalog, INPUT, OTHER, OWN, PEPPERS } from '../support/sqlite.ts';

const describeMysql = await describeOn('mysql');

const another = numbered(RECORD);

/** A database and one client on it, for a group of tests. */
function using(kind: string, options: Readonly<Record<string, unknown>> = {}) {
  const used = {} as { database: Database; opened: Opened; store: KeyStore } & Database['console'];
  beforeAll(async () => {
    used.database = await emptyDatabase();
    Object.assign(used, used.database.console);
    used.opened = await open(kind, { ...used.database.settings, ...options });
    used.store = mysqlStore(used.opened.client);
  });
  afterAll(async () => {
    await used.opened.end();
    await used.database.drop();
  });
  return used;
}

const open = (kind: string, options: { readonly database: string }): Promise<Opened> => {
  const opener = CLIENTS[kind];
  if (opener === undefined) throw new Error(`no client ${kind}`);
  return opener(options);
};

/** Runs `act` with a client of its own on a database of its own. */
async function alone<T>(
  kind: string,
  options: Readonly<Record<string, unknown>>,
  act: (opened: Opened, database: Database) => Promise<T>,
): Promise<T> {
  const database = await emptyDatabase();
  try {
    const opened = await open(kind, { ...database.settings, ...options });
    try {
      return await act(opened, database);
    } finally {
      await opened.end();
    }
  } finally {
    await database.drop();
  }
}

const keyringOn = (client: MysqlClient) =>
  createKeyring({ prefix: 'acme', catalog, store: mysqlStore(client), peppers: PEPPERS });

const KINDS = Object.keys(CLIENTS);
/** Hundreds of statements, beside whatever else the machine does. */
const SLOW = { timeout: 60_000 };
const DRIVERS = ['mysql2', 'mariadb'] as const;

// ── The contract ──────────────────────────────────────────────────────────────────────────────────────

describeMysql.each(KINDS)('%s', (kind) => {
  const used = using(kind);
  storeContract(test, () => used.store);
});

describeMysql(
  'mariadb pool, look-ups one by one, in SQL modes in which texts are cut and quotes mean names',
  () => {
    const initSql =
      "SET sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI,PAD_CHAR_TO_FULL_LENGTH,HIGH_NOT_PRECEDENCE'";
    const used = using('mariadb pool', { initSql });
    storeContract(test, () => mysqlStore(used.opened.client, { batch: false }));
  },
);

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────

describeMysql('a client', () => {
  test('is told where it is none', () => {
    const odd = [undefined, null, 'mysql://', {}, { execute() {} }, { query() {} }, mysqlStore];
    for (const client of odd) {
      const told = complaint(() => mysqlStore(client as unknown as MysqlClient));
      expect(told).toBe('mysqlStore: pass a pool or a connection of mysql2/promise or mariadb');
    }
  });

  // That of mysql2 failed at its first use, with the advice to connect without a typeCast.
  test('that is a cluster of pools is told so; what its `of` returns for the primary works', async () => {
    for (const cluster of [mysql.createPoolCluster(), mariadb.createPoolCluster()]) {
      const told = complaint(() => mysqlStore(cluster as unknown as MysqlClient));
      expect(told).toBe('mysqlStore: pass a pool or a connection of mysql2/promise or mariadb');
      await cluster.end();
    }
    await alone('mysql2 connection', {}, async (_opened, { settings }) => {
      const clusters = [mysql.createPoolCluster(), mariadb.createPoolCluster()] as const;
      for (const [i, cluster] of clusters.entries()) {
        cluster.add('primary', settings);
        const store = mysqlStore(cluster.of('primary') as unknown as MysqlClient);
        await store.insert(another(i));
        expect(await store.findById(another(i).keyId)).toEqual(another(i));
        await cluster.end();
      }
    });
  });

  test('by callbacks is told to be one by promises', async () => {
    const pools = [core.createPool({ ...SERVER }), callbacks.createPool({ ...SERVER })];
    const connections = [
      core.createConnection({ ...SERVER }),
      callbacks.createConnection({ ...SERVER }),
    ];
    const clients = [...pools, ...connections];
    for (const client of clients) {
      const told = complaint(() => mysqlStore(client as unknown as MysqlClient));
      expect(told).toContain('pass the promise API');
      await expect(migrate(client as unknown as MysqlClient)).rejects.toThrow(TypeError);
    }
    await Promise.all(
      clients.map((client) => new Promise<unknown>((resolve) => client.end(resolve))),
    );
  });

  test('of mysql2 that is turned into one by promises works', async () => {
    await alone('mysql2 connection', {}, async (_opened, { settings }) => {
      const pool = core.createPool(settings);
      const store = mysqlStore(pool.promise());
      await store.insert(RECORD);
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
      await pool.promise().end();
    });
  });

  test('takes no unknown option', async () => {
    await alone('mysql2 pool', {}, async ({ client }) => {
      expect(complaint(() => mysqlStore(client, { batches: true } as object))).toContain('batches');
      expect(complaint(() => mysqlStore(client, { batch: 1 } as object))).toContain(
        'batch is true or false',
      );
    });
  });
});

type Options = Readonly<Record<string, unknown>>;
type Cast = (field: { string(): unknown }, next: () => unknown) => unknown;
const asText: Cast = (field) => field.string();
const asItIs: Cast = (_field, next) => next();

/** What a driver can be told that could change an answer. */
const OPTIONS: Readonly<Record<(typeof DRIVERS)[number], readonly Options[]>> = {
  mysql2: [
    ...[
      { supportBigNumbers: true },
      { supportBigNumbers: true, bigNumberStrings: true },
      { decimalNumbers: true },
    ],
    ...[
      { rowsAsArray: true },
      { nestTables: true },
      { nestTables: '_' },
      { jsonStrings: true },
      { disableEval: true },
    ],
    ...[{ typeCast: asItIs }, { namedPlaceholders: true }],
    ...[
      { flags: ['-FOUND_ROWS'] },
      { flags: ['+FOUND_ROWS'] },
      { charset: 'utf8mb4_bin' },
      { maxPreparedStatements: 1 },
    ],
    ...[
      { multipleStatements: true },
      { stringifyObjects: true },
      { compress: true },
      { dateStrings: true },
    ],
    { queryFormat: (sql: string) => sql.replace(/:(\w+)/g, 'gone') },
  ],
  mariadb: [
    ...[
      { bigIntAsNumber: true },
      { bigIntAsNumber: true, checkNumberRange: true },
      { decimalAsNumber: true },
    ],
    ...[
      { supportBigNumbers: true },
      { supportBigNumbers: true, bigNumberStrings: true },
      { insertIdAsNumber: true },
    ],
    ...[
      { rowsAsArray: true },
      { nestTables: true },
      { nestTables: '_' },
      { autoJsonMap: false },
      { metaAsArray: true },
    ],
    ...[
      { metaEnumerable: true },
      { typeCast: asText },
      { typeCast: asItIs },
      { namedPlaceholders: true },
    ],
    ...[
      { foundRows: true },
      { foundRows: false },
      { collation: 'utf8mb4_bin' },
      { prepareCacheLength: 0 },
    ],
    ...[
      { pipelining: false },
      { multipleStatements: true },
      { compress: true },
      { permitSetMultiParamEntries: true },
    ],
    ...['ORACLE', 'ANSI_QUOTES', 'NO_BACKSLASH_ESCAPES', ''].map((mode) => ({
      initSql: `SET sql_mode = '${mode}'`,
    })),
    ...['SERIALIZABLE', 'READ-UNCOMMITTED'].map((level) => ({
      initSql: `SET tx_isolation = '${level}'`,
    })),
    ...[
      { initSql: 'SET completion_type = CHAIN' },
      { initSql: "SET collation_connection = 'utf8mb4_unicode_ci'" },
    ],
  ],
};

/** What must be refused at the first use, and with what advice. */
const REFUSED_OPTIONS: readonly (readonly [(typeof DRIVERS)[number], Options, string])[] = [
  ['mysql2', { charset: 'latin1' }, "charset 'utf8mb4'"],
  ['mysql2', { charset: 'utf8' }, "charset 'utf8mb4'"],
  // Of numbers it reads the first bytes as a length.
  ['mysql2', { typeCast: false }, 'rows as objects, text as strings and integers as such'],
  ['mysql2', { typeCast: () => 'x' }, 'rows as objects, text as strings and integers as such'],
  ['mariadb', { typeCast: () => 'x' }, 'rows as objects, text as strings and integers as such'],
  ['mariadb', { charset: 'latin1' }, "charset 'utf8mb4'"],
  ['mariadb', { initSql: 'SET NAMES utf8mb3' }, "charset 'utf8mb4'"],
  ['mariadb', { initSql: 'SET character_set_results = latin1' }, "charset 'utf8mb4'"],
  ['mariadb', { initSql: 'SET autocommit = 0' }, 'autocommit off'],
  ['mariadb', { initSql: 'START TRANSACTION' }, 'in the middle of a transaction'],
  ['mariadb', { initSql: "SET sql_mode = 'EMPTY_STRING_IS_NULL'" }, 'EMPTY_STRING_IS_NULL'],
  ['mariadb', { initSql: 'SET sql_safe_updates = 1' }, 'sql_safe_updates'],
];

const printed = (options: object) => inspect(options, { breakLength: Number.POSITIVE_INFINITY });

describeMysql('a connection', SLOW, () => {
  const cases = DRIVERS.flatMap((driver) =>
    OPTIONS[driver].map((options) => [driver, printed(options), options] as const),
  );
  test.each(cases)('of %s with %s changes no answer', async (driver, _printed, options) => {
    await alone(`${driver} connection`, options, async ({ client }) => {
      const store = mysqlStore(client);
      const max = Number.MAX_SAFE_INTEGER;
      const record = { ...RECORD, createdAt: max };
      await store.insert(record);
      const read = [
        await store.findById(record.keyId),
        ...(await store.findByDigest([record.digest, another(1).digest, another(2).digest])),
        ...(await store.list({ entityUuid: OWN, after: null, limit: 3 })),
        ...(await store.list({
          entityUuid: OWN,
          after: { createdAt: max, keyId: OTHER.replace('0b', 'ff') },
          limit: 3,
        })),
      ];
      expect(read).toEqual([record, record, record, record]);
      const ending = { retireAt: max };
      expect([
        await store.markEnded(record.keyId, ending),
        await store.markEnded(record.keyId, ending),
      ]).toEqual([true, false]);
      await store.touch([
        { keyId: record.keyId, lastUsedAt: max, scopesUsed: { 'a:b': max, 'c:d': 1 } },
      ]);
      await store.touch([{ keyId: record.keyId, lastUsedAt: 1, scopesUsed: { 'a:b': 1 } }]);
      const scopesUsed = { 'a:b': max, 'c:d': 1 };
      expect(await store.findById(record.keyId)).toEqual({
        ...record,
        ...ending,
        lastUsedAt: max,
        scopesUsed,
      });
      expect(await store.summarize(0)).toEqual([{ scheme: 's1', live: 1, lastUsedAt: max }]);
      await expect(store.insert(record)).rejects.toThrow(
        'keyscope: a key with this id or digest exists already',
      );
    });
  });

  const refused = REFUSED_OPTIONS.map(
    ([driver, options, why]) => [driver, printed(options), why, options] as const,
  );
  test.each(refused)(
    'of %s with %s is refused at the first use: %s',
    async (driver, _printed, why, options) => {
      // mysql2 prints where it cannot read a number.
      const trace = vi.spyOn(console, 'trace').mockImplementation(() => {});
      onTestFinished(() => trace.mockRestore());
      for (const kind of ['connection', 'pool']) {
        await alone(`${driver} ${kind}`, options, async ({ client }, { console }) => {
          const store = mysqlStore(client);
          for (const act of [
            () => store.insert(RECORD),
            () => store.findById(RECORD.keyId),
            () => migrate(client),
          ]) {
            await expect(async () => act()).rejects.toThrow(why);
          }
          expect(await console.rows('SHOW TABLES')).toEqual([]);
        });
      }
    },
  );

  // Without making a server read-only that others use too.
  test.each([
    ['@@read_only', '1'],
    ['@@read_only', "'NO_LOCK'"],
    ['@@innodb_read_only', '1'],
  ])('to a server whose %s is %s is refused', async (variable, value) => {
    await alone('mysql2 connection', {}, async ({ client }) => {
      const changed: MysqlClient = {
        execute: ({ sql, ...options }, values) =>
          client.execute(Object.assign({ sql: sql.replace(variable, value) }, options), values),
        query: (statement) => client.query(statement),
      };
      await expect(async () => mysqlStore(changed).findById(RECORD.keyId)).rejects.toThrow(
        'connect to the primary',
      );
    });
  });

  // A cluster of pools sends each look-up to another server: on a replica, a key passed that was
  // revoked already.
  test.each(DRIVERS)(
    'of %s that goes to a read-only server later answers no look-up',
    async (driver) => {
      await alone(`${driver} connection`, {}, async ({ client, query }) => {
        const moving: MysqlClient = {
          execute: ({ sql, ...options }, values) =>
            client.execute(
              Object.assign({ sql: sql.replace('@@read_only', 'IFNULL(@moved, 0)') }, options),
              values,
            ),
          query: (statement) => client.query(statement),
        };
        const store = mysqlStore(moving);
        await store.insert(RECORD);
        const asks: (() => unknown)[] = [
          () => store.findByDigest([RECORD.digest]),
          () => store.findById(RECORD.keyId),
          () => store.list({ entityUuid: OWN, after: null, limit: 9 }),
          () => store.summarize(1),
        ];
        for (const ask of asks) await ask();
        await query('SET @moved = 1');
        for (const ask of asks)
          await expect(async () => ask()).rejects.toThrow('connect to the primary');
      });
    },
  );

  // The rows beyond it were missing, and their keys unknown.
  test('whose sql_select_limit is 1 answers every row', async () => {
    for (const kind of ['connection', 'pool']) {
      await alone(
        `mariadb ${kind}`,
        { initSql: 'SET sql_select_limit = 1' },
        async ({ client }) => {
          const store = mysqlStore(client);
          const records = [
            RECORD,
            { ...another(1), digest: `h1.p1$${'0'.repeat(64)}` },
            another(2),
          ];
          for (const record of records) await store.insert(record);
          const found = await Promise.all(
            records.map(async ({ digest }) => (await store.findByDigest([digest]))[0]),
          );
          expect(found).toEqual(records);
          expect(await store.findByDigest(records.map(({ digest }) => digest))).toHaveLength(3);
          expect(await store.list({ entityUuid: OWN, after: null, limit: 9 })).toHaveLength(3);
          const summary = [...(await store.summarize(0))].sort((a, b) =>
            a.scheme < b.scheme ? -1 : 1,
          );
          expect(summary.map(({ scheme, live }) => [scheme, live])).toEqual([
            ['h1.p1', 1],
            ['s1', 2],
          ]);
        },
      );
    }
  });

  // Of mysql2, which gives this error no code, it was told to connect without a typeCast.
  test.each(KINDS)('of a %s that is closed is told so', async (kind) => {
    const { client, end } = await open(kind, SERVER as never);
    await end();
    await expect(async () => mysqlStore(client).findById(RECORD.keyId)).rejects.toThrow(
      /^keyscope: .*closed/,
    );
  });

  test('without a database, or to one that is not there, says so', async () => {
    const server = await open('mysql2 connection', SERVER as never);
    await expect(async () => mysqlStore(server.client).findById(RECORD.keyId)).rejects.toThrow(
      'keyscope: No database',
    );
    await server.end();
  });
});

// ── Schema ────────────────────────────────────────────────────────────────────────────────────────────

const CHANGING = ['revoked_at', 'retire_at', 'last_used_at', 'scopes_used'];
const FIXED = [
  'key_id',
  'name',
  'digest',
  'seal',
  'entity_uuid',
  'accessible_entities',
  'scopes',
  'justification',
].concat(['metadata', 'created_at', 'expires_at', 'rotated_from']);
const IS_FIXED =
  'keyscope: only revoked_at, retire_at, last_used_at and scopes_used of a key ever change';

/**
 * Other values of the type of each column that never changes; with a trailing space where its type
 * can hold one.
 */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  key_id: [`'${OTHER}'`, 'UPPER(key_id)', "''"],
  name: ["'other'", 'UPPER(name)', "CONCAT(name, ' ')", "''"],
  digest: ["'s1$00'", "REPLACE(digest, 's', 'S')", "CONCAT(digest, ' ')"],
  seal: ["'00'", 'UPPER(seal)', "CONCAT(seal, ' ')", 'NULL'],
  entity_uuid: [`'${OTHER}'`, 'UPPER(entity_uuid)'],
  accessible_entities: [
    `'["${OTHER}"]'`,
    'UPPER(accessible_entities)',
    "CONCAT(accessible_entities, ' ')",
  ],
  scopes: [`'["*:*"]'`, "CONCAT(scopes, ' ')", 'UPPER(scopes)'],
  justification: ["'because'", "' '", 'NULL'],
  metadata: ["'{}'", "CONCAT(metadata, ' ')", 'UPPER(metadata)'],
  created_at: ['created_at + 1', '0'],
  expires_at: ['1', '0'],
  rotated_from: [`'${OTHER}'`],
};

describeMysql('the table', SLOW, () => {
  const used = using('mysql2 connection');
  beforeAll(() => used.store.insert(RECORD));
  const table = () => used.rows('SELECT * FROM keyscope_keys');

  test('has a column for each field of a record, and those of the tests are all', async () => {
    const columns = await used.rows('SHOW COLUMNS FROM keyscope_keys');
    const snake = (field: string) =>
      field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    expect(columns.map(({ Field }) => Field)).toEqual(Object.keys(RECORD).map(snake));
    expect([...FIXED, ...CHANGING].sort()).toEqual(Object.keys(RECORD).map(snake).sort());
    expect(Object.keys(OTHERS)).toEqual(FIXED);
  });

  test('is InnoDB, in utf8mb4, and compares bytes', async () => {
    const [row] = await used.rows("SHOW TABLE STATUS LIKE 'keyscope_keys'");
    expect(row).toMatchObject({ Engine: 'InnoDB', Collation: 'utf8mb4_bin' });
    const columns = await used.rows('SHOW FULL COLUMNS FROM keyscope_keys');
    const collations = new Set(columns.map(({ Collation }) => Collation));
    expect(collations).toEqual(new Set(['ascii_bin', 'utf8mb4_bin', null]));
    // Neither character set nor collation: bytes.
    expect(columns.find(({ Field }) => Field === 'digest')).toMatchObject({
      Type: 'varbinary(255)',
      Collation: null,
    });
  });

  test.each(FIXED)('refuses an UPDATE of %s', async (column) => {
    const before = await table();
    for (const to of OTHERS[column] ?? []) {
      for (const sql of [
        `UPDATE keyscope_keys SET ${column} = ${to}`,
        `UPDATE IGNORE keyscope_keys SET ${column} = ${to}`,
        `UPDATE keyscope_keys SET last_used_at = 5, ${column} = ${to}`,
        `UPDATE keyscope_keys JOIN (SELECT 1) AS one SET ${column} = ${to}`,
      ]) {
        await expect(used.rows(sql), sql).rejects.toThrow(IS_FIXED);
      }
    }
    expect(await table()).toEqual(before);
  });

  test('lets the four others change', async () => {
    await used.store.insert(another(1));
    const where = `WHERE key_id = '${another(1).keyId}'`;
    await used.rows(`UPDATE keyscope_keys SET revoked_at = 2, retire_at = 3, last_used_at = 4, scopes_used = '{"a:b":5}'
      ${where}`);
    const changed = { revokedAt: 2, retireAt: 3, lastUsedAt: 4, scopesUsed: { 'a:b': 5 } };
    expect(await used.store.findById(another(1).keyId)).toEqual({ ...another(1), ...changed });
    // And what never changes may be said again.
    await used.rows(
      `UPDATE keyscope_keys SET name = name, digest = digest, expires_at = NULL ${where}`,
    );
  });

  test.each(['revoked_at', 'retire_at'])('refuses to clear or move %s', async (mark) => {
    const record = another(mark === 'retire_at' ? 2 : 3);
    await used.store.insert(record);
    const where = `WHERE key_id = '${record.keyId}'`;
    await used.rows(`UPDATE keyscope_keys SET ${mark} = 5 ${where}`);
    for (const to of ['NULL', '4', '6']) {
      for (const verb of ['UPDATE', 'UPDATE IGNORE']) {
        const update = used.rows(`${verb} keyscope_keys SET ${mark} = ${to} ${where}`);
        await expect(update).rejects.toThrow('keyscope: revoked_at and retire_at are written once');
      }
    }
    expect(await used.rows(`SELECT ${mark} AS mark FROM keyscope_keys ${where}`)).toEqual([
      { mark: 5 },
    ]);
  });

  test('refuses DELETE, REPLACE, which deletes, and an INSERT that updates', async () => {
    const before = await table();
    const deleted = 'keyscope: keys are revoked and never deleted';
    for (const sql of ['DELETE FROM keyscope_keys', 'DELETE IGNORE FROM keyscope_keys']) {
      await expect(used.rows(sql)).rejects.toThrow(deleted);
    }
    await expect(
      used.rows('REPLACE INTO keyscope_keys SELECT * FROM keyscope_keys'),
    ).rejects.toThrow(deleted);
    const upsert =
      "INSERT INTO keyscope_keys SELECT * FROM keyscope_keys AS own ON DUPLICATE KEY UPDATE name = 'other'";
    await expect(used.rows(upsert)).rejects.toThrow(IS_FIXED);
    expect(await table()).toEqual(before);
  });

  test('keeps lists as JSON of their kind', async () => {
    for (const to of ["'none'", "'[]'", "''", "'5'", "'null'"]) {
      await expect(used.rows(`UPDATE keyscope_keys SET scopes_used = ${to}`), to).rejects.toThrow(
        /CONSTRAINT/,
      );
    }
    const columns = ['scopes', 'accessible_entities', 'metadata'];
    for (const column of columns) {
      for (const json of ['none', '"text"', '5', 'null', column === 'metadata' ? '[]' : '{}']) {
        const record = Object.entries({
          scopes: '[]',
          accessible_entities: '[]',
          metadata: '{}',
          [column]: json,
        });
        const insert = used.rows(`INSERT INTO keyscope_keys
          (key_id, name, digest, entity_uuid, created_at, scopes_used, ${record.map(([name]) => name).join(', ')})
          VALUES ('x', 'x', 'x', 'x', 1, '{}', ${record.map(([, value]) => `'${value}'`).join(', ')})`);
        await expect(insert, `${column} = ${json}`).rejects.toThrow(/CONSTRAINT/);
      }
    }
  });

  test('leaves columns and triggers of the service alone', async () => {
    await alone('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client);
      await console.rows(
        "ALTER TABLE keyscope_keys ADD COLUMN team VARCHAR(9) DEFAULT 'blue' FIRST",
      );
      await console.rows('CREATE TABLE log (what TEXT)');
      await console.rows(
        `CREATE TRIGGER seen AFTER UPDATE ON keyscope_keys FOR EACH ROW INSERT INTO log VALUES ('a'), ('b')`,
      );
      const store = mysqlStore(client);
      await store.insert(RECORD);
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
      // What a trigger of theirs writes is not counted as ours.
      const ended = [
        await store.markEnded(RECORD.keyId, { revokedAt: 5 }),
        await store.markEnded(OTHER, { revokedAt: 5 }),
      ];
      expect(ended).toEqual([true, false]);
      await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
      expect(await console.rows('SELECT team, last_used_at FROM keyscope_keys')).toEqual([
        { team: 'blue', last_used_at: 7 },
      ]);
    });
  });

  // What the schema's own collations are for.
  test.each([
    [
      'digests apart by case',
      'VARBINARY(255)',
      'VARCHAR(255) CHARACTER SET ascii COLLATE ascii_general_ci',
    ],
    [
      'digests apart by spaces',
      'VARBINARY(255)',
      'VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin',
    ],
  ])(
    'cannot keep %s in another collation, which the contract finds out',
    async (_what, from, to) => {
      await alone('mysql2 pool', {}, async ({ client }, { console }) => {
        for (const sql of MIGRATIONS.mysql.flat()) await console.rows(sql.replace(from, to));
        await console.rows('INSERT INTO keyscope_schema VALUES (1, 1)');
        const failed: string[] = [];
        const tests: (readonly [string, () => Promise<void>])[] = [];
        storeContract(
          (name, run) => tests.push([name, run]),
          () => mysqlStore(client),
        );
        for (const [name, run] of tests) await run().catch(() => failed.push(name));
        expect(failed).toEqual(['findByDigest tells digests apart by case and by spaces']);
        // And so does the database, asked for a digest that nobody has.
        await mysqlStore(client).insert(RECORD);
        const like = to.endsWith('_ci') ? RECORD.digest.toUpperCase() : `${RECORD.digest} `;
        expect(
          await console.rows(`SELECT key_id FROM keyscope_keys WHERE digest = '${like}'`),
        ).toHaveLength(1);
      });
    },
  );

  test('finds no digest by another one', async () => {
    for (const like of [RECORD.digest.toUpperCase(), `${RECORD.digest} `]) {
      expect(await used.rows(`SELECT key_id FROM keyscope_keys WHERE digest = '${like}'`)).toEqual(
        [],
      );
    }
    expect(
      await used.rows(`SELECT key_id FROM keyscope_keys WHERE digest = '${RECORD.digest}'`),
    ).toHaveLength(1);
  });
});

describeMysql('where the SQL mode is not strict', () => {
  const used = using('mariadb connection', { initSql: "SET sql_mode = ''" });

  test('what does not fit its column is refused and never cut', async () => {
    const long = 'a'.repeat(256);
    const odd: Partial<KeyRecord>[] = [
      ...[
        { keyId: `${OTHER}0` },
        { keyId: OTHER.toUpperCase() },
        { keyId: 'x' },
        { digest: long },
        { digest: '' },
      ],
      ...[
        { digest: 's1$é' },
        { digest: 's1$\n' },
        { seal: long },
        { seal: 'é' },
        { entityUuid: `${OWN} ` },
      ],
      ...[{ entityUuid: long }, { rotatedFrom: long }, { rotatedFrom: '' }],
    ];
    const ids = () => used.rows('SELECT key_id FROM keyscope_keys');
    // Whichever test comes first: nothing is asked of the server before the first use.
    await used.store.findById(OTHER);
    const before = await ids();
    for (const given of odd) {
      const [[field] = []] = Object.entries(given);
      const insert = async () => used.store.insert({ ...RECORD, ...given });
      await expect(insert, printed(given)).rejects.toThrow(
        `keyscope: insert: ${field} does not fit its column`,
      );
    }
    expect(await ids()).toEqual(before);
  });

  test('every text is kept to the last byte', async () => {
    const long = '🦊'.repeat(2 ** 18);
    const record = {
      ...RECORD,
      name: long,
      justification: long,
      digest: 'd'.repeat(255),
      seal: 's'.repeat(255),
    };
    await used.store.insert(record);
    expect(await used.store.findById(RECORD.keyId)).toEqual(record);
  });
});

// ── Migration ─────────────────────────────────────────────────────────────────────────────────────────

/** A connection that notes what it is told without preparing it, up to where it is cut short. */
const noting = (client: MysqlClient, asked: string[], isCut = () => false): MysqlClient => ({
  execute: (statement, values) => client.execute(statement, values),
  async query(statement) {
    asked.push(statement.sql);
    if (isCut()) throw new Error('cut short');
    return client.query(statement);
  },
});

/** Everything that stands in a database's schema, as the server prints it. */
async function schemaOf({ console }: Database): Promise<unknown> {
  const tables = ['keyscope_schema', 'keyscope_keys'].map((name) =>
    console.rows(`SHOW CREATE TABLE ${name}`),
  );
  const triggers = await console.rows('SHOW TRIGGERS');
  const plain = triggers.map(({ Trigger, Event, Timing, Statement }) => [
    Trigger,
    Event,
    Timing,
    Statement,
  ]);
  return [await Promise.all(tables), plain, await console.rows('SELECT * FROM keyscope_schema')];
}

const STATEMENTS = MIGRATIONS.mysql.flat();

describeMysql('migrate', SLOW, () => {
  let expected: unknown;
  beforeAll(async () => {
    expected = await alone('mysql2 connection', {}, async ({ client }, database) => {
      await migrate(client);
      return schemaOf(database);
    });
  });
  const holds = async (database: Database) => expect(await schemaOf(database)).toEqual(expected);

  test('makes all of it', async () => {
    expect(expected).toMatchObject([
      [{}, {}],
      { length: 3 },
      [{ id: 1, version: MIGRATIONS.mysql.length }],
    ]);
  });

  test.each(KINDS)('is repeatable and keeps what is there, over a %s', async (kind) => {
    await alone(kind, {}, async ({ client }, database) => {
      await mysqlStore(client).insert(RECORD);
      for (let i = 0; i < 2; i++) await migrate(client);
      await holds(database);
      expect(await mysqlStore(client).findById(RECORD.keyId)).toEqual(RECORD);
    });
  });

  test.each(['mysql2 connection', 'mariadb connection'])(
    'from eight of a %s at once',
    async (kind) => {
      await alone(kind, {}, async (_opened, database) => {
        const clients = await Promise.all(
          Array.from({ length: 8 }, () => open(kind, database.settings)),
        );
        const asked: string[] = [];
        await Promise.all(clients.map(({ client }) => migrate(noting(client, asked))));
        await holds(database);
        // One of them did it; the others waited and found it done.
        expect(asked.filter((sql) => /CREATE|DROP/.test(sql))).toEqual(STATEMENTS);
        await Promise.all(clients.map((client) => client.end()));
      });
    },
  );

  test.each(KINDS)('eight times at once over one %s, beside stores that begin', async (kind) => {
    await alone(kind, {}, async ({ client }, database) => {
      const stores = Array.from({ length: 4 }, () => mysqlStore(client));
      const begun = stores.map((store, i) => store.insert(another(i)));
      await Promise.all([...Array.from({ length: 8 }, () => migrate(client)), ...begun]);
      await holds(database);
      expect(await stores[0]?.list({ entityUuid: OWN, after: null, limit: 9 })).toHaveLength(4);
    });
  });

  // The version is written last, so a run that was cut short looks like none.
  test.each(Array.from({ length: STATEMENTS.length + 1 }, (_, n) => n))(
    'completes a run that was cut short after statement %i',
    async (n) => {
      await alone('mariadb connection', {}, async ({ client }, database) => {
        const asked: string[] = [];
        const cut = noting(
          client,
          asked,
          () => asked.filter((sql) => /CREATE|DROP/.test(sql)).length > n,
        );
        await (n < STATEMENTS.length
          ? expect(migrate(cut)).rejects.toThrow('cut short')
          : migrate(cut));
        await migrate(client);
        await holds(database);
        await mysqlStore(client).insert(RECORD);
      });
      // And what a command-line client left that was stopped.
      await alone('mariadb pool', {}, async ({ client }, database) => {
        for (const sql of STATEMENTS.slice(0, n)) await database.console.rows(sql);
        await migrate(client);
        await holds(database);
      });
    },
  );

  test('waits for another process that migrates, and leaves no lock', async () => {
    await alone('mysql2 pool', {}, async ({ client }, { console }) => {
      const lock = "CONCAT('keyscope_schema_', CRC32(DATABASE()))";
      expect(await console.rows(`SELECT GET_LOCK(${lock}, 0) AS got`)).toEqual([{ got: 1 }]);
      let done = false;
      const migrating = migrate(client).then(() => {
        done = true;
      });
      const waits = `SELECT COUNT(*) FROM information_schema.processlist
        WHERE state = 'User lock' AND db = DATABASE()`;
      await until(async () => (await console.value(waits)) === 1);
      expect([done, await console.rows('SHOW TABLES')]).toEqual([false, []]);
      await console.rows(`SELECT RELEASE_LOCK(${lock})`);
      await migrating;
      expect(await console.rows(`SELECT IS_FREE_LOCK(${lock}) AS free`)).toEqual([{ free: 1 }]);
    });
  });

  test('refuses a schema that a newer release has made, and leaves it', async () => {
    await alone('mysql2 pool', {}, async ({ client }, { console }) => {
      await migrate(client);
      await console.rows('UPDATE keyscope_schema SET version = 2');
      const why = 'keyscope: the database has schema 2 and this release knows 1; upgrade it';
      await expect(migrate(client)).rejects.toThrow(why);
      await expect(async () => mysqlStore(client).findById(RECORD.keyId)).rejects.toThrow(why);
      expect(await console.rows('SELECT version FROM keyscope_schema')).toEqual([{ version: 2 }]);
    });
  });

  test('finds what was made by hand, with the command-line client or several statements in one query', async () => {
    const bySeveral = async ({ settings }: Database) => {
      const own = await openConsole({ ...settings, multipleStatements: true });
      await own.rows(schemaSql('mysql'));
      await own.end();
    };
    const byClient = async ({ name }: Database) => {
      const { host, port, user, password } = SERVER;
      const args = [
        `--host=${host}`,
        `--port=${port}`,
        `--user=${user}`,
        `--password=${password}`,
        name,
      ];
      const { status, stderr } = spawnSync('mariadb', args, {
        input: schemaSql('mysql'),
        encoding: 'utf8',
      });
      expect([status, stderr]).toEqual([0, '']);
    };
    // A migration tool that knows no SQL: it cuts at every semicolon that ends a line.
    const byPieces = async ({ console }: Database) => {
      for (const sql of schemaSql('mysql').split(';\n'))
        if (sql.trim() !== '') await console.rows(sql);
    };
    const withClient = spawnSync('mariadb', ['--version']).status === 0;
    for (const apply of [bySeveral, byPieces, ...(withClient ? [byClient] : [])]) {
      await alone('mysql2 pool', {}, async ({ client }, database) => {
        await apply(database);
        await holds(database);
        await migrate(client);
        await holds(database);
        await mysqlStore(client).insert(RECORD);
      });
    }
    expect(schemaSql('mysql')).not.toMatch(/DELIMITER|;[^\n]/);
  });

  /** A user of its own with some rights on the database, for as long as `act` runs. */
  async function asUser(
    { console, settings, name }: Database,
    rights: string,
    act: (opened: Opened) => Promise<void>,
  ) {
    const user = `k${name.slice(-20)}`;
    await console.rows(`CREATE USER ${user} IDENTIFIED BY 'x'`);
    await console.rows(`GRANT ${rights} ON ${name}.* TO ${user}`);
    const opened = await open('mariadb pool', {
      ...settings,
      user,
      password: 'x',
    } as typeof settings);
    try {
      await act(opened);
    } finally {
      await opened.end();
      await console.rows(`DROP USER ${user}`);
    }
  }

  test('once it has run, a user with the least rights is enough; before, the store waits for it', async () => {
    await alone('mysql2 connection', {}, async ({ client }, database) => {
      await asUser(database, 'SELECT', async (least) => {
        const store = mysqlStore(least.client);
        await expect(async () => store.insert(RECORD)).rejects.toThrow(
          /keyscope: CREATE command denied/,
        );
        await migrate(client);
        const [{ User } = {}] = (await least.query(
          'SELECT SUBSTRING_INDEX(CURRENT_USER(), "@", 1) AS User',
        )) as { User?: string }[];
        await database.console.rows(
          `GRANT INSERT, UPDATE ON ${database.name}.keyscope_keys TO ${User}`,
        );
        await store.insert(RECORD);
        expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
        expect(await store.markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(true);
        await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
        expect(await store.summarize(1)).toEqual([]);
      });
    });
  });

  test('runs with the rights that are documented, and says what to do where its user is gone', async () => {
    await alone('mysql2 connection', {}, async ({ client }, database) => {
      const store = mysqlStore(client);
      await asUser(database, 'CREATE, TRIGGER, SELECT, INSERT, UPDATE', async (opened) => {
        await migrate(opened.client);
        await store.insert(RECORD);
        expect(await store.markEnded(RECORD.keyId, { retireAt: 5 })).toBe(true);
      });
      await holds(database);
      const revoke = async () => store.markEnded(RECORD.keyId, { revokedAt: 5 });
      await expect(revoke).rejects.toThrow(
        'DELETE FROM keyscope_schema, and migrate as one that stays',
      );
      await database.console.rows('DELETE FROM keyscope_schema');
      await migrate(client);
      await holds(database);
      expect(await revoke()).toBe(true);
    });
  });

  // A binary log cannot be switched on while the server runs.
  test('says what to do where the server lets nobody make triggers', async () => {
    await alone('mysql2 connection', {}, async ({ client }) => {
      const refusing: MysqlClient = {
        execute: (statement, values) => client.execute(statement, values),
        query: (statement) =>
          statement.sql.includes('CREATE TRIGGER')
            ? Promise.reject(
                Object.assign(new Error('x'), {
                  errno: 1419,
                  sqlMessage: 'You do not have the SUPER privilege',
                }),
              )
            : client.query(statement),
      };
      const why =
        'keyscope: You do not have the SUPER privilege; migrate as a user with SUPER, or set log_bin';
      await expect(migrate(refusing)).rejects.toThrow(why);
      await migrate(client);
    });
  });
});

/** Asks again until it holds; the test's time-out ends it. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** A pool whose connections are lent out changed. */
function lending(pool: MysqlPool, change: (loan: MysqlLoan) => MysqlLoan): MysqlPool {
  return {
    execute: (statement, values) => pool.execute(statement, values),
    query: (statement) => pool.query(statement),
    async getConnection() {
      const loan = await pool.getConnection();
      return change({
        execute: (statement, values) => loan.execute(statement, values),
        query: (statement) => loan.query(statement),
        release: () => loan.release(),
        destroy: () => loan.destroy(),
      });
    },
  };
}

// ── Transactions ──────────────────────────────────────────────────────────────────────────────────────

const usage = ({ keyId }: KeyRecord, time: number, scopesUsed = {}) => ({
  keyId,
  lastUsedAt: time,
  scopesUsed,
});

describeMysql.each(DRIVERS)('over a connection of %s', (driver) => {
  const kind = `${driver} connection`;

  test('in the middle of a transaction, nothing is written that could be rolled back, nothing committed', async () => {
    await alone(kind, {}, async ({ client, query }, { console }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      await console.rows('CREATE TABLE theirs (a INT) ENGINE = InnoDB');
      for (const end of ['COMMIT', 'ROLLBACK']) {
        await query('START TRANSACTION');
        await query('INSERT INTO theirs VALUES (1)');
        const writes = [
          () => store.insert(another(1)),
          () => store.markEnded(RECORD.keyId, { revokedAt: 5 }),
          () => store.touch([usage(RECORD, 5)]),
        ];
        for (const write of writes) {
          await expect(async () => write()).rejects.toThrow(
            'keyscope: the connection is in the middle of a transaction',
          );
        }
        expect(await console.rows('SELECT * FROM theirs')).toEqual([]);
        await query(end);
        expect(await console.rows('SELECT * FROM theirs')).toHaveLength(end === 'COMMIT' ? 1 : 0);
        await console.rows('DELETE FROM theirs');
      }
      expect(await store.list({ entityUuid: OWN, after: null, limit: 9 })).toEqual([RECORD]);
    });
  });

  test('no look-up shows the past: in a transaction that somebody left open it throws', async () => {
    await alone(kind, {}, async ({ client, query }, { settings }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      await query('START TRANSACTION WITH CONSISTENT SNAPSHOT');
      const elsewhere = await open('mysql2 pool', settings);
      expect(await mysqlStore(elsewhere.client).markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(
        true,
      );
      const asks: (() => unknown)[] = [
        () => store.findByDigest([RECORD.digest]),
        () => store.findById(RECORD.keyId),
        () => store.list({ entityUuid: OWN, after: null, limit: 9 }),
        () => store.summarize(1),
      ];
      for (const ask of asks)
        await expect(async () => ask()).rejects.toThrow('look-ups would miss what was revoked');
      await query('COMMIT');
      expect(await store.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5 });
      await elsewhere.end();
    });
  });

  test('whose autocommit is switched off later, look-ups throw, and writes are committed all the same', async () => {
    await alone(kind, {}, async ({ client, query }, { settings }) => {
      const store = mysqlStore(client);
      await store.insert(RECORD);
      await query('SET autocommit = 0');
      await store.insert(another(1));
      await store.markEnded(RECORD.keyId, { revokedAt: 5 });
      await store.touch([usage(RECORD, 7)]);
      const elsewhere = await open('mysql2 connection', settings);
      const seen = mysqlStore(elsewhere.client);
      expect(await seen.findById(RECORD.keyId)).toMatchObject({ revokedAt: 5, lastUsedAt: 7 });
      expect(await seen.findById(another(1).keyId)).toEqual(another(1));
      await expect(async () => store.findById(RECORD.keyId)).rejects.toThrow('autocommit off');
      await elsewhere.end();
    });
  });

  test.each([0, 1])(
    'a write that fails leaves no transaction behind, with autocommit %i',
    async (autocommit) => {
      await alone(kind, {}, async ({ client, query }, { console }) => {
        const store = mysqlStore(client);
        await store.insert(RECORD);
        await query(`SET autocommit = ${autocommit}`);
        const tries = [
          store.insert(RECORD),
          store.insert(another(1)),
          store.insert(RECORD),
          store.insert(another(2)),
        ];
        const settled = await Promise.allSettled(tries);
        expect(settled.map(({ status }) => status)).toEqual([
          'rejected',
          'fulfilled',
          'rejected',
          'fulfilled',
        ]);
        // Throws in the middle of one.
        await query('SET TRANSACTION READ WRITE');
        expect(await console.value('SELECT COUNT(*) FROM keyscope_keys')).toBe(3);
      });
    },
  );
});

describeMysql('of two processes', () => {
  test('each sees at once what the other acknowledged, at REPEATABLE READ', async () => {
    await alone('mysql2 pool', {}, async ({ client }, { settings }) => {
      const level = "SET tx_isolation = 'REPEATABLE-READ'";
      const other = await open('mariadb pool', { ...settings, initSql: level } as typeof settings);
      const [one, two] = [mysqlStore(client), mysqlStore(other.client)];
      for (let i = 0; i < 50; i++) {
        const record = another(i);
        expect(await two.findByDigest([record.digest])).toEqual([]);
        await one.insert(record);
        expect(await two.findByDigest([record.digest])).toEqual([record]);
        expect(await two.markEnded(record.keyId, { revokedAt: i })).toBe(true);
        expect(await one.findById(record.keyId)).toEqual({ ...record, revokedAt: i });
        expect(await one.markEnded(record.keyId, { revokedAt: i })).toBe(false);
      }
      await other.end();
    });
  });
});

describeMysql.each(['mysql2 pool', 'mariadb pool'])('of a %s', (kind) => {
  test('a connection goes back after each write, but not in an unknown state', async () => {
    await alone(kind, { connectionLimit: 1 }, async ({ client }) => {
      let fails = false;
      const ends: string[] = [];
      const pool = lending(client as MysqlPool, (loan) => ({
        ...loan,
        query: (statement) =>
          fails && statement.sql.startsWith('ROLLBACK')
            ? Promise.reject(new Error('interrupted'))
            : loan.query(statement),
        release() {
          ends.push('released');
          return loan.release();
        },
        destroy() {
          ends.push('destroyed');
          return loan.destroy();
        },
      }));
      const store = mysqlStore(pool);
      await store.insert(RECORD);
      ends.length = 0;
      await store.insert(another(1));
      await expect(async () => store.insert(RECORD)).rejects.toThrow('exists already');
      fails = true;
      await expect(async () => store.insert(RECORD)).rejects.toThrow('exists already');
      expect(ends).toEqual(['released', 'released', 'destroyed']);
      // There may be one only: a new one took its place.
      expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
    });
  });
});

// ── Usage ─────────────────────────────────────────────────────────────────────────────────────────────

describeMysql.each(['mysql2 pool', 'mariadb pool'])('touch, over a %s', SLOW, (kind) => {
  const used = using(kind);
  const RECORDS = Array.from({ length: 40 }, (_, i) => another(i));
  beforeAll(() => Promise.all(RECORDS.map((record) => used.store.insert(record))));

  test('batches in any order wait for each other and never in a circle', async () => {
    let deadlocks = 0;
    const counting = lending(used.opened.client as MysqlPool, (loan) => ({
      ...loan,
      execute: (statement, values) =>
        loan.execute(statement, values).catch((error: { errno: number }) => {
          if (error.errno === 1213) deadlocks++;
          throw error;
        }),
    }));
    const store = mysqlStore(counting);
    const shuffled = (i: number) =>
      [...RECORDS].sort((a, b) => ((i % 2) - 0.5) * (a.keyId < b.keyId ? 1 : -1));
    const batches = Array.from({ length: 60 }, (_, i) =>
      shuffled(i).map((record) => usage(record, 100 + i, { 'a:b': 100 + i, [`only:s${i}`]: i })),
    );
    await Promise.all(batches.map(async (batch) => store.touch(batch)));
    expect(deadlocks).toBe(0);
    const own = Object.fromEntries(batches.map((_, i) => [`only:s${i}`, i]));
    for (const record of RECORDS) {
      const row = await used.store.findById(record.keyId);
      expect(row).toEqual({ ...record, lastUsedAt: 159, scopesUsed: { 'a:b': 159, ...own } });
    }
  });

  test('locks the rows of its batch and no other', async () => {
    await alone(kind, {}, async ({ client }, { settings, console }) => {
      const store = mysqlStore(client);
      // Few: a table that the server would rather read from end to end.
      for (let i = 0; i < 3; i++) await store.insert(another(i));
      await console.rows('ANALYZE TABLE keyscope_keys');
      const rival = await openConsole(settings);
      await rival.rows('START TRANSACTION');
      await rival.rows(
        `UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${another(0).keyId}'`,
      );
      // Otherwise it waits for the lock for as long as the server lets it.
      await store.touch([usage(another(1), 5), usage(another(2), 5), usage(another(3), 5)]);
      await rival.rows('ROLLBACK');
      await rival.end();
    });
  });

  test('more keys than one statement takes', async () => {
    const many = Array.from({ length: 2100 }, (_, i) => another(100_000 + i));
    const known = [many[0], many[999], many[1000], many[2099]].filter(
      (record) => record !== undefined,
    );
    for (const record of known) await used.store.insert(record);
    await used.store.touch(many.map((record) => usage(record, 5, { 'a:b': 6 })));
    const rows = await Promise.all(known.map(({ keyId }) => used.store.findById(keyId)));
    expect(rows).toEqual(
      known.map((record) => ({ ...record, lastUsedAt: 5, scopesUsed: { 'a:b': 6 } })),
    );
  });

  // It was more than a packet may have, here 16 MiB, and the same batch was sent again and again.
  test('keys with more scopes than one statement takes', async () => {
    const names = Array.from(
      { length: 256 },
      (_, i) => `${'r'.repeat(64)}:${'a'.repeat(61)}${100 + i}`,
    );
    const scopesUsed = Object.fromEntries(names.map((name) => [name, 1_700_000_000_000]));
    const many = Array.from({ length: 480 }, (_, i) => another(300_000 + i));
    const known = [many[0], many[479]].filter((record) => record !== undefined);
    for (const record of known) await used.store.insert(record);
    await used.store.touch(many.map((record) => usage(record, 5, scopesUsed)));
    const rows = await Promise.all(known.map(({ keyId }) => used.store.findById(keyId)));
    expect(rows).toEqual(known.map((record) => ({ ...record, lastUsedAt: 5, scopesUsed })));
  });

  test('a summary without a time is one of now, and a listing without a position begins at its beginning', async () => {
    await alone(kind, {}, async ({ client }) => {
      const store = mysqlStore(client);
      await store.insert({ ...another(1), expiresAt: Date.now() - 1 });
      await store.insert({ ...another(2), expiresAt: Date.now() + 60_000 });
      const summarize = store.summarize as () => unknown;
      expect(await summarize()).toEqual([{ scheme: 's1', live: 1, lastUsedAt: null }]);
      await expectLooseCalls(store, OWN);
    });
  });

  // 1020 is what MariaDB 11 says where the row changed since; the server here may be older.
  test.each([1213, 1020])(
    'a write that the server takes back with error %i is tried again',
    async (errno) => {
      let left = 2;
      const failing = lending(used.opened.client as MysqlPool, (loan) => ({
        ...loan,
        execute: (statement, values) =>
          statement.sql.startsWith('INSERT') && left-- > 0
            ? Promise.reject(Object.assign(new Error('taken back'), { errno }))
            : loan.execute(statement, values),
      }));
      const record = another(210_000 + errno);
      await mysqlStore(failing).insert(record);
      expect([left, await used.store.findById(record.keyId)]).toEqual([-1, record]);
    },
  );

  test('a write that falls victim to a deadlock is tried again', async () => {
    const [first, second, heavy] = [another(200_001), another(200_002), another(200_003)];
    for (const record of [first, second, heavy]) await used.store.insert(record);
    const rival = await openConsole(used.database.settings);
    const touched = ({ keyId }: KeyRecord) =>
      `UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${keyId}'`;
    await rival.rows('START TRANSACTION');
    // The server ends the transaction that changed fewer rows: not this one.
    await rival.rows('CREATE TEMPORARY TABLE weight (a INT) ENGINE = InnoDB');
    await rival.rows('INSERT INTO weight SELECT seq FROM seq_1_to_1000');
    await rival.rows(touched(heavy));
    await rival.rows(touched(second));
    const waiting = used.store.touch([usage(first, 5), usage(second, 5)]);
    // Not from innodb_trx, which shows the same for as long as anybody asks it often.
    const touching = `SELECT id FROM information_schema.processlist
      WHERE db = DATABASE() AND info LIKE '%UPDATE JSON_TABLE%' AND id <> CONNECTION_ID()`;
    await until(async () => {
      const id = await used.value(touching);
      const [{ Status } = {}] = await used.rows('SHOW ENGINE INNODB STATUS');
      return new RegExp(`LOCK WAIT[^-]+ thread id ${id},`).test(String(Status));
    });
    // Now each waits for the other.
    await rival.rows(touched(first));
    await rival.rows('COMMIT');
    await waiting;
    expect([
      await used.store.findById(first.keyId),
      await used.store.findById(second.keyId),
    ]).toEqual([
      { ...first, lastUsedAt: 9 },
      { ...second, lastUsedAt: 9 },
    ]);
    await rival.end();
  });
});

// ── Statements ────────────────────────────────────────────────────────────────────────────────────────

describeMysql.each(DRIVERS)('a connection of %s is asked', SLOW, (driver) => {
  const used = using(`${driver} connection`);

  /** What the server counted on this connection while `act` ran; the counting itself aside. */
  async function counted(act: () => Promise<unknown>): Promise<Record<string, number>> {
    const count = async () => {
      const answer = await used.opened.query('SHOW SESSION STATUS');
      const rows = (driver === 'mysql2' ? (answer as unknown[][])[0] : answer) as Record<
        string,
        string
      >[];
      return new Map(
        rows.map(({ Variable_name, Value }) => [String(Variable_name), Number(Value)]),
      );
    };
    const before = await count();
    await act();
    const after = await count();
    const changed = [...after].filter(([name, value]) => value !== before.get(name));
    return Object.fromEntries(
      changed.map(([name, value]) => [name, value - (before.get(name) ?? 0)]),
    );
  }
  const WRITES =
    /^(Com_(insert|update|delete|replace|commit|rollback|begin|set_option)|Handler_(write|update|delete|commit))/;

  test('one statement a verification, and to write nothing', async () => {
    const keyring = keyringOn(used.opened.client);
    const { key } = await keyring.issue(INPUT, AUTHORITY);
    await keyring.verify(key);
    const delta = await counted(async () => {
      for (let i = 0; i < 10; i++) await keyring.verify(key);
    });
    expect(delta).toMatchObject({ Com_select: 10, Com_stmt_execute: 10, Handler_read_key: 10 });
    // A read-only statement ends in a commit of nothing.
    const { Handler_commit, ...rest } = delta;
    expect(Handler_commit ?? 0).toBeLessThanOrEqual(10);
    expect(Object.keys(rest).filter((name) => WRITES.test(name))).toEqual([]);
  });

  test('one statement for all look-ups of a turn, unless told otherwise', async () => {
    const records = Array.from({ length: 20 }, (_, i) => another(i));
    for (const record of records) await used.store.insert(record);
    const all = (store: KeyStore) => () =>
      Promise.all(
        records.map(async ({ digest }) => (await store.findByDigest([digest]))[0]?.digest),
      );
    const apart = mysqlStore(used.opened.client, { batch: false });
    await apart.findById(OTHER);
    expect(await all(used.store)()).toEqual(records.map(({ digest }) => digest));
    expect(await counted(all(used.store))).toMatchObject({ Com_select: 1 });
    expect(await counted(all(apart))).toMatchObject({ Com_select: 20 });
  });

  test('in few statements, however many digests a look-up has', async () => {
    const digests = Array.from({ length: 40 }, (_, i) => another(700_000 + i).digest);
    await used.store.findById(OTHER);
    const { Com_stmt_prepare = 0 } = await counted(async () => {
      for (let n = 1; n <= digests.length; n++) await used.store.findByDigest(digests.slice(0, n));
    });
    // Of 1, 2, 4, … 64 digests.
    expect(Com_stmt_prepare).toBeLessThanOrEqual(7);
  });

  test('for nothing that reads the table from end to end, but to summarize', async () => {
    const own = { ...another(500_000), entityUuid: OTHER };
    await used.store.insert(own);
    for (let i = 0; i < 300; i++) await used.store.insert(another(500_001 + i));
    await used.rows('ANALYZE TABLE keyscope_keys');
    const acts: readonly (() => Promise<unknown>)[] = [
      async () => used.store.findByDigest([own.digest]),
      async () => used.store.findByDigest([own.digest, another(1).digest, another(2).digest]),
      async () => used.store.findById(own.keyId),
      async () => used.store.list({ entityUuid: OTHER, after: null, limit: 10 }),
      async () =>
        used.store.list({ entityUuid: OTHER, after: { createdAt: 9, keyId: OTHER }, limit: 10 }),
      async () => used.store.list({ entityUuid: OWN, after: null, limit: 10 }),
      async () => used.store.markEnded(own.keyId, { retireAt: 5 }),
      async () => used.store.touch([usage(own, 5, { 'a:b': 5 })]),
      async () => used.store.insert(another(600_000)),
    ];
    for (const act of acts) {
      const delta = await counted(act);
      const read = Object.entries(delta).filter(([name]) =>
        /^Handler_read_(next|prev|rnd_next|rnd)$/.test(name),
      );
      const total = read.reduce((sum, [, value]) => sum + value, 0);
      expect(total, `${act}: ${JSON.stringify(delta)}`).toBeLessThanOrEqual(20);
    }
    const { Handler_read_rnd_next = 0, Handler_read_next = 0 } = await counted(async () =>
      used.store.summarize(5),
    );
    expect(Handler_read_rnd_next + Handler_read_next).toBeGreaterThan(300);
  });
});

// ── What somebody edited by hand ──────────────────────────────────────────────────────────────────────

const attackers = generateKey({ prefix: 'acme' });
const [PEPPER] = PEPPERS;
const BOTH = JSON.stringify([OWN, OTHER]);
const HUGE = '1 << 60';

/** Column → SQL values that widen a key, or that are merely wrong. */
const EDITS: Readonly<Record<string, readonly string[]>> = {
  key_id: ["'0f0f0f0f-0000-4000-8000-00000000000f'", "''", "'ABC'", 'UPPER(key_id)'],
  name: ["'other'", "''", "'CI'", "CONCAT(name, ' ')"],
  digest: [
    ...[`'${digestKey(attackers, PEPPER)}'`, `'${digestKey(attackers)}'`, "''", 'LEFT(digest, 40)'],
    ...["CONCAT(digest, ' ')", 'UPPER(CONVERT(digest USING ascii))', "X'FF00'"],
  ],
  seal: ['NULL', "''", 'UPPER(seal)', 'LEFT(seal, 63)', "CONCAT(seal, ' ')"],
  entity_uuid: [`'${OTHER}'`, "''", 'UPPER(entity_uuid)'],
  accessible_entities: [`'${BOTH}'`, "'[]'", `'["${OTHER}"]'`, "'[5]'", "'[[]]'"],
  scopes: [
    ...[`'["threats:read","threats:write"]'`, `'["threats:*"]'`, `'["*:*"]'`, "'[]'", "'[null]'"],
    ...[`'["threats:read","threats:read"]'`, `'["Threats:read"]'`, `'["unknown:scope"]'`],
  ],
  justification: ["'because'", "''"],
  metadata: [`'{"team":"blue"}'`, `'{"a":5}'`, `'{"__proto__":"x"}'`],
  created_at: ['created_at + 1', '0', '-1', HUGE],
  expires_at: ['NULL', 'expires_at + 1', '0', HUGE],
  rotated_from: [`'${OTHER}'`, "''"],
};

/** JSON that is none, or of another type: only with the CHECKs off. */
const BAD_JSON = ['none', '', '[', '{', '5', 'null', '"threats:read"', '["threats:read"', '[],[]'];
/** A table of scopes whose times are none. */
const BAD_TIMES = [
  '{"threats:read":"soon"}',
  '{"threats:read":null}',
  '{"threats:read":[1]}',
  '{"threats:read":1e300}',
];

async function outcome(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'passed';
  } catch (error) {
    if (isStoreError(error)) return 'StoreError';
    return isAccessError(error) ? `${error.code} ${error.reason}` : String(error);
  }
}

const REFUSED = ['invalid_token record_tampered', 'invalid_token unknown_key', 'StoreError'];

describeMysql.each(DRIVERS)('a row edited by hand, read with %s', SLOW, (driver) => {
  const used = using(`${driver} pool`);
  let keyring: ReturnType<typeof keyringOn>;
  beforeAll(async () => {
    await migrate(used.opened.client);
    keyring = keyringOn(used.opened.client);
    for (const sql of [
      ...['keyscope_keys_update', 'keyscope_keys_delete'].map(
        (trigger) => `DROP TRIGGER ${trigger}`,
      ),
      "SET sql_mode = ''",
      'SET check_constraint_checks = 0',
    ]) {
      await used.rows(sql);
    }
    // NOT NULL is what remains. The CHECKs stay, for by them MariaDB tells drivers that a column is
    // JSON.
    const isJson = (column: string, type: string) =>
      `${column} LONGTEXT CHECK (JSON_VALID(${column}) AND JSON_TYPE(${column}) = '${type}')`;
    for (const type of [
      ...[
        isJson('accessible_entities', 'ARRAY'),
        isJson('scopes', 'ARRAY'),
        isJson('metadata', 'OBJECT'),
      ],
      ...[isJson('scopes_used', 'OBJECT'), 'name LONGTEXT', 'created_at BIGINT'],
      'entity_uuid VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin',
    ]) {
      await used.rows(`ALTER TABLE keyscope_keys MODIFY ${type}`);
    }
  });

  async function victim() {
    const made = await keyring.issue(
      { ...INPUT, expiresAt: new Date(Date.now() + 3_600_000) },
      AUTHORITY,
    );
    expect(await outcome(() => keyring.verify(made.key))).toBe('passed');
    const { keyId } = made.info;
    const edit = (set: string) =>
      used.rows(`UPDATE keyscope_keys SET ${set} WHERE key_id = '${keyId}'`);
    return { key: made.key, keyId, edit };
  }
  // Edited rows are in nobody's way: some of the edits would meet each other.
  const clear = () => used.rows('DELETE FROM keyscope_keys');

  test.each(FIXED)('%s: the key never passes', async (column) => {
    const values = [
      ...(EDITS[column] ?? []),
      ...(['key_id', 'digest'].includes(column) ? [] : ['NULL']),
    ];
    const unset = ['justification', 'rotated_from'].includes(column);
    for (const to of values.filter((value) => !(unset && value === 'NULL'))) {
      const { key, keyId, edit } = await victim();
      await edit(`${column} = ${to}`);
      const why = `${column} = ${to}`;
      expect(REFUSED, why).toContain(await outcome(() => keyring.verify(key)));
      // Nor the key that whoever edited the digest knows.
      expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
      for (const entityUuid of [OWN, OTHER]) {
        const rotated = await outcome(() =>
          keyring.rotate(keyId, { overlapMs: 0 }, { entityUuid }),
        );
        expect([...REFUSED, 'not_found no_such_key'], `${why}, rotated`).toContain(rotated);
      }
      await clear();
    }
  });

  test('a digest that is empty is found by nobody', async () => {
    const { edit } = await victim();
    await edit("digest = ''");
    const apart = mysqlStore(used.opened.client, { batch: false });
    for (const digests of [[''], [RECORD.digest], [RECORD.digest, 'a', 'b'], ['a', '', 'b', 'c']]) {
      expect(await apart.findByDigest(digests)).toEqual([]);
    }
    await clear();
  });

  test('an edit of a field that is found by digest is reported as tampering, not as a broken store', async () => {
    for (const column of [
      'name',
      'seal',
      'scopes',
      'metadata',
      'accessible_entities',
      'rotated_from',
    ]) {
      for (const to of EDITS[column] ?? []) {
        const { key, edit } = await victim();
        await edit(`${column} = ${to}`);
        expect(await outcome(() => keyring.verify(key)), `${column} = ${to}`).toBe(
          'invalid_token record_tampered',
        );
      }
    }
    await clear();
  });

  // Both drivers would read JSON columns themselves, and one of them ends the process over what is
  // none.
  test('lists that are no JSON refuse this key and no other', async () => {
    for (const column of ['scopes', 'accessible_entities', 'metadata', 'scopes_used']) {
      for (const json of BAD_JSON) {
        const { key, keyId, edit } = await victim();
        const other = await keyring.issue(INPUT, AUTHORITY);
        await edit(`${column} = '${json}'`);
        const why = `${column} = ${json}`;
        expect(await outcome(() => keyring.verify(key)), why).toBe('invalid_token record_tampered');
        expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
        expect(await outcome(() => keyring.list({}, AUTHORITY)), why).toBe('StoreError');
        expect(await outcome(() => keyring.get(keyId, AUTHORITY)), why).toBe('StoreError');
        expect(await outcome(() => keyring.get(other.info.keyId, AUTHORITY)), why).toBe('passed');
        await clear();
      }
    }
  });

  test('a table of used scopes that is none keeps no other key from its usage', async () => {
    for (const json of [...BAD_JSON, ...BAD_TIMES]) {
      const { keyId, edit } = await victim();
      const { info } = await keyring.issue(INPUT, AUTHORITY);
      await edit(`scopes_used = '${json}'`);
      const entry = { lastUsedAt: Date.now() + 1, scopesUsed: { 'threats:read': 5 } };
      const touch = [keyId, info.keyId].map((id) => ({ ...entry, keyId: id }));
      await used.store.touch(touch);
      expect(await used.store.findById(info.keyId), json).toMatchObject(entry);
      // What is a table whose times are none is brought forward to what is one.
      const read = await outcome(() => keyring.get(keyId, AUTHORITY));
      expect(read, json).toBe(BAD_TIMES.includes(json) ? 'passed' : 'StoreError');
    }
    await clear();
  });

  test('marks and times beyond what a number holds never let a key pass', async () => {
    for (const column of ['revoked_at', 'retire_at', 'last_used_at']) {
      const { key, edit } = await victim();
      await edit(`${column} = ${HUGE}`);
      expect(REFUSED, column).toContain(await outcome(() => keyring.verify(key)));
    }
    await clear();
  });
});

test.skipIf(describeMysql !== describe)('the database holds no key', async () => {
  await alone('mysql2 pool', {}, async ({ client }, { console }) => {
    const keyring = keyringOn(client);
    const { key, info } = await keyring.issue(INPUT, AUTHORITY);
    const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
    const all = inspect(
      await console.rows('SELECT *, CAST(digest AS CHAR) AS text FROM keyscope_keys'),
      { maxStringLength: null },
    );
    expect(all).toContain(info.keyId);
    for (const secret of [key, next.key])
      expect(all).not.toContain(secret.slice('acme_'.length, -6));
  });
});

// ── Errors ────────────────────────────────────────────────────────────────────────────────────────────

describeMysql.each([
  ['mysql2', {}],
  ['mariadb', { logParam: true }],
] as const)('what is thrown over %s', (driver, options) => {
  const used = using(`${driver} connection`, options);
  // Everything that an error holds: its own properties, hidden ones too, and the chain of causes.
  const seen = (error: unknown) =>
    inspect(error, { showHidden: true, depth: null, maxStringLength: null, maxArrayLength: null });

  test('names neither digest nor seal, and says what the server said', async () => {
    await used.store.insert(RECORD);
    const parts = [RECORD.digest, 'ab'.repeat(16), 'cd'.repeat(16)];
    const duplicate = (await Promise.resolve(used.store.insert(RECORD)).catch(
      (error: unknown) => error,
    )) as Error;
    expect(duplicate.message).toBe('keyscope: a key with this id or digest exists already');
    await used.rows('RENAME TABLE keyscope_keys TO elsewhere');
    const failed = (act: () => unknown) =>
      Promise.resolve()
        .then(act)
        .catch((error: unknown) => error);
    const errors = [
      duplicate,
      await failed(() => used.store.insert(RECORD)),
      await failed(() => used.store.findByDigest([RECORD.digest])),
      await failed(() => used.store.touch([usage(RECORD, 5)])),
    ];
    await used.rows('RENAME TABLE elsewhere TO keyscope_keys');
    for (const error of errors) {
      expect(error).toBeInstanceOf(Error);
      for (const part of parts) expect(seen(error)).not.toContain(part);
    }
    for (const error of errors.slice(1))
      expect((error as Error).message).toMatch(/^keyscope: Table .* doesn't exist$/);
  });
});

// ── Outages ───────────────────────────────────────────────────────────────────────────────────────────

/**
 * A door in front of the server that can be shut: then nobody comes in, and who is in is thrown
 * out.
 */
async function openDoor() {
  const sockets = new Set<Socket>();
  let shut = false;
  const door = createServer((inner) => {
    const outer = connect(SERVER.port, SERVER.host);
    for (const socket of [inner, outer]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        sockets.delete(socket);
        for (const other of [inner, outer]) other.destroy();
      });
    }
    if (shut) inner.destroy();
    else inner.pipe(outer).pipe(inner);
  });
  door.listen(0, '127.0.0.1');
  await once(door, 'listening');
  const throwOut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (door.address() as AddressInfo).port,
    set(to: 'open' | 'shut') {
      shut = to === 'shut';
      if (shut) throwOut();
    },
    close() {
      throwOut();
      door.close();
    },
  };
}

describeMysql.each([
  ['mysql2 pool', { connectTimeout: 500 }],
  ['mariadb pool', { connectTimeout: 500, acquireTimeout: 800, initializationTimeout: 800 }],
] as const)('a server that is away, over a %s', (kind, options) => {
  test('is a broken store, never a bad key, and is used again once it is back', SLOW, async () => {
    const door = await openDoor();
    const database = await emptyDatabase();
    const settings = { ...database.settings, ...options, host: '127.0.0.1', port: door.port };
    door.set('shut');
    const { client, end } = await open(kind, settings);
    const keyring = keyringOn(client);
    const issue = () => keyring.issue(INPUT, AUTHORITY);
    // From the start: nothing was asked of it when the store was made.
    expect(await outcome(issue)).toBe('StoreError');
    door.set('open');
    await until(async () => (await outcome(issue)) === 'passed');
    const { key, info } = await issue();
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    // In the middle.
    door.set('shut');
    for (const act of [
      issue,
      () => keyring.verify(key),
      () => keyring.revoke(info.keyId, AUTHORITY),
    ]) {
      expect(await outcome(act)).toBe('StoreError');
    }
    door.set('open');
    await until(async () => (await outcome(() => keyring.verify(key))) === 'passed');
    await keyring.revoke(info.keyId, AUTHORITY);
    expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
    await end();
    door.close();
    await database.drop();
  });

  test(
    'a connection that is lost in the middle of a write goes back to no pool',
    SLOW,
    async () => {
      await alone(
        kind,
        { ...options, connectionLimit: 1 },
        async ({ client }, { settings, console }) => {
          const store = mysqlStore(client);
          await store.insert(RECORD);
          const rival = await openConsole(settings);
          await rival.rows('START TRANSACTION');
          await rival.rows(
            `UPDATE keyscope_keys SET last_used_at = 9 WHERE key_id = '${RECORD.keyId}'`,
          );
          const failed = Promise.resolve(store.markEnded(RECORD.keyId, { revokedAt: 5 })).catch(
            (error: unknown) => error,
          );
          const waiting = `SELECT id FROM information_schema.processlist
        WHERE db = DATABASE() AND info LIKE 'UPDATE keyscope%'`;
          await until(async () => (await console.rows(waiting)).length === 1);
          await console.rows(`KILL ${await console.value(waiting)}`);
          expect(await failed).toBeInstanceOf(Error);
          await rival.rows('ROLLBACK');
          await rival.end();
          // The one connection there may be is a new one.
          await until(
            async () => (await outcome(async () => store.findById(RECORD.keyId))) === 'passed',
          );
          expect(await store.findById(RECORD.keyId)).toEqual(RECORD);
          expect(await store.markEnded(RECORD.keyId, { revokedAt: 6 })).toBe(true);
        },
      );
    },
  );
});
