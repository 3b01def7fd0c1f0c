import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import Better from 'better-sqlite3';
import type { Awaitable, KeyRecord } from 'keyscope';
import {
  createKeyring,
  definePolicy,
  digestKey,
  generateKey,
  isAccessError,
  isStoreError,
} from 'keyscope';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { migrate, sqliteStore } from 'keyscope/stores/sqlite';
import { storeContract } from 'keyscope/testing';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { expectLooseCalls } from '../support/loose.ts';
import {
  AUTHORITY,
  catalog,
  DRIVERS,
  folder,
  INPUT,
  keyringOn,
  OTHER,
  OWN,
  open,
  PEPPERS,
} from '../support/sqlite.ts';

const { file, remove } = folder();
afterAll(remove);
let files = 0;
const fresh = () => file(`${files++}.db`);

const RECORD: KeyRecord = {
  keyId: '0e0e0e0e-0000-4000-8000-00000000000e',
  name: 'ci',
  digest: `s1$${'ab'.repeat(32)}`,
  seal: null,
  entityUuid: OWN,
  accessibleEntities: [OWN],
  scopes: ['threats:read'],
  justification: null,
  metadata: {},
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  retireAt: null,
  rotatedFrom: null,
  lastUsedAt: null,
  scopesUsed: {},
};
const second = (n: number): KeyRecord => ({
  ...RECORD,
  keyId: RECORD.keyId.replace(/.$/, String(n)),
  digest: `${RECORD.digest.slice(0, -1)}${n}`,
});

/** This store answers at once. */
const sync = <T>(answer: Awaitable<T>): T => answer as T;

/** An in-memory database with one record. */
function stocked() {
  const db = new DatabaseSync(':memory:');
  const store = sqliteStore(db);
  store.insert(RECORD);
  return { db, store };
}

function thrown(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

const value = (db: SqliteHandle, sql: string): unknown =>
  Object.values(db.prepare(sql).all()[0] as object)[0];

// ── The contract ──────────────────────────────────────────────────────────────────────────────────────

describe.each(DRIVERS)('%s', (driver) => {
  // One file for all of them, with a handle each: the contract asks for no empty store.
  describe.each([
    ['memory', ':memory:'],
    ['a file', fresh()],
  ])('in %s', (_where, path) => {
    storeContract(test, () => {
      const db = open(driver, path);
      return { ...sqliteStore(db), close: () => db.close() };
    });
  });
});

const bun = spawnSync('bun', ['--version']).status === 0;
test.skipIf(!bun)(
  'the contract on bun:sqlite (skipped where there is no bun on PATH)',
  { timeout: 60_000 },
  () => {
    const script = fileURLToPath(new URL('../support/bun-contract.ts', import.meta.url));
    const { stdout, stderr } = spawnSync('bun', [script, file('')], { encoding: 'utf8' });
    expect(stderr).toBe('');
    const { tests, failed } = JSON.parse(stdout);
    expect(failed).toEqual([]);
    expect(tests).toBeGreaterThanOrEqual(78);
  },
);

// ── Schema ────────────────────────────────────────────────────────────────────────────────────────────

const CHANGING = ['revoked_at', 'retire_at', 'last_used_at', 'scopes_used'];
// Asked of the table itself, so that a column of tomorrow is covered.
const COLUMNS = stocked()
  .db.prepare("SELECT name FROM pragma_table_info('keyscope_keys')")
  .all()
  .map(({ name }) => String(name));
const FIXED = COLUMNS.filter((name) => !CHANGING.includes(name));

describe('the table', () => {
  test('has a column for each field of a record', () => {
    const snake = (field: string) =>
      field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    expect([...COLUMNS].sort()).toEqual(Object.keys(RECORD).map(snake).sort());
    expect(FIXED).toHaveLength(12);
  });

  test.each(FIXED)('refuses an UPDATE of %s', (column) => {
    const { db } = stocked();
    const before = db.prepare('SELECT * FROM keyscope_keys').all();
    const other = column.endsWith('_at') ? '77' : "'[]'";
    // Another value, the same one, and beside a column that may change.
    for (const set of [
      `${column} = ${other}`,
      `${column} = ${column}`,
      `revoked_at = 5, ${column} = ${other}`,
    ]) {
      for (const verb of ['UPDATE', 'UPDATE OR REPLACE', 'UPDATE OR IGNORE']) {
        const update = () => db.exec(`${verb} keyscope_keys SET ${set}`);
        expect(update).toThrow(
          'keyscope: only revoked_at, retire_at, last_used_at and scopes_used of a key ever change',
        );
      }
    }
    expect(db.prepare('SELECT * FROM keyscope_keys').all()).toEqual(before);
  });

  test('lets the four others change', () => {
    const { db } = stocked();
    db.exec(
      "UPDATE keyscope_keys SET revoked_at = 2, retire_at = 3, last_used_at = 4, scopes_used = '{}'",
    );
    expect(
      value(db, 'SELECT count(*) FROM keyscope_keys WHERE revoked_at = 2 AND last_used_at = 4'),
    ).toBe(1);
  });

  test.each(['revoked_at', 'retire_at'])('refuses to clear or move %s', (mark) => {
    const { db } = stocked();
    db.exec(`UPDATE keyscope_keys SET ${mark} = 5`);
    for (const to of ['NULL', '4', '6']) {
      expect(() => db.exec(`UPDATE keyscope_keys SET ${mark} = ${to}`)).toThrow('are written once');
    }
    expect(value(db, `SELECT ${mark} FROM keyscope_keys`)).toBe(5);
  });

  // By its rowid a row could be replaced, which asks no trigger of the row that is deleted, and so
  // lose its mark.
  test.each([
    ['OFF', 'rowid'],
    ['ON', '_rowid_'],
    ['OFF', 'oid'],
  ])(
    'keeps every row, whoever would replace it (recursive_triggers %s, by %s)',
    (recursive, rowid) => {
      const { db, store } = stocked();
      // A column of the service's own must not hide the rowid from the triggers.
      if (rowid === '_rowid_') db.exec('ALTER TABLE keyscope_keys ADD COLUMN rowid TEXT');
      db.exec(`PRAGMA recursive_triggers = ${recursive}`);
      store.insert(second(1));
      store.markEnded(RECORD.keyId, { revokedAt: 5 });
      const rows = () => db.prepare('SELECT _rowid_, * FROM keyscope_keys ORDER BY key_id').all();
      const before = rows();
      const attempt = (sql: string, refusal: string) => {
        expect(() => db.exec(sql), sql).toThrow(`keyscope: ${refusal}`);
        expect(rows(), sql).toEqual(before);
      };
      const revoked = `(SELECT ${rowid} FROM keyscope_keys WHERE revoked_at IS NOT NULL)`;
      const row = (keyId: string, digest: string, place = '') =>
        `INTO keyscope_keys (${place === '' ? '' : `${rowid}, `}${COLUMNS}) SELECT ${place} '${keyId}', 'new', '${digest}',
        seal, entity_uuid, accessible_entities, '[]', justification, metadata, created_at, expires_at, NULL, retire_at,
        rotated_from, last_used_at, scopes_used FROM keyscope_keys WHERE key_id = '${RECORD.keyId}'`;

      for (const where of ['', ` WHERE key_id = '${RECORD.keyId}'`])
        attempt(`DELETE FROM keyscope_keys${where}`, 'keys are revoked and never deleted');

      const inserts = [
        row(RECORD.keyId, 's1$new'),
        row('new', RECORD.digest),
        row(RECORD.keyId, RECORD.digest),
      ];
      for (const place of [revoked, `CAST(${revoked} AS TEXT)`, `${revoked} + 0.0`])
        inserts.push(
          row('new', 's1$new', `${place},`),
          row(RECORD.keyId, RECORD.digest, `${place},`),
        );
      for (const into of inserts) {
        const told = 'a key with this id or digest exists already';
        for (const or of ['OR REPLACE ', '', 'OR IGNORE ', 'OR ROLLBACK ', 'OR FAIL '])
          attempt(`INSERT ${or}${into}`, told);
        attempt(`REPLACE ${into}`, told);
        for (const action of [
          'NOTHING',
          'UPDATE SET revoked_at = NULL',
          'UPDATE SET scopes = excluded.scopes',
        ])
          attempt(`INSERT ${into} ON CONFLICT DO ${action}`, told);
      }

      const sets = [
        `key_id = '${RECORD.keyId}'`,
        `digest = '${RECORD.digest}'`,
        ...[revoked, `CAST(${revoked} AS TEXT)`, '77', '-1'].map((to) => `${rowid} = ${to}`),
        `${rowid} = ${revoked}, last_used_at = 9`,
      ];
      for (const set of sets)
        for (const or of ['OR REPLACE ', '', 'OR IGNORE ', 'OR ROLLBACK ', 'OR FAIL '])
          attempt(
            `UPDATE ${or}keyscope_keys SET ${set} WHERE key_id = '${second(1).keyId}'`,
            'only revoked_at, retire_at, last_used_at and scopes_used of a key ever change',
          );
      expect(store.findById(RECORD.keyId)).toEqual({ ...RECORD, revokedAt: 5 });
      // A row may still bring a rowid of its own, as when a dump is read, and keys are made as ever.
      db.exec(`INSERT ${row('dumped', 's1$dumped', '1000,')}`);
      store.insert(second(2));
      expect(value(db, 'SELECT max(_rowid_) FROM keyscope_keys')).toBe(1001);
    },
  );

  test('is STRICT, and its lists are JSON', () => {
    const { db } = stocked();
    for (const edit of ["revoked_at = 'soon'", 'last_used_at = 1.5', "scopes_used = x'7b7d'"]) {
      expect(() => db.exec(`UPDATE keyscope_keys SET ${edit}`)).toThrow(/cannot store/);
    }
    for (const edit of ["scopes_used = 'none'", "scopes_used = '[]'", "scopes_used = ''"]) {
      expect(() => db.exec(`UPDATE keyscope_keys SET ${edit}`)).toThrow(/CHECK/);
    }
    db.exec('DROP TRIGGER keyscope_keys_update');
    for (const column of ['scopes', 'accessible_entities', 'metadata']) {
      for (const json of ['none', '"text"', '5', 'null', column === 'metadata' ? '[]' : '{}']) {
        expect(() => db.exec(`UPDATE keyscope_keys SET ${column} = '${json}'`)).toThrow(/CHECK/);
      }
    }
  });

  test('leaves columns and triggers of the service alone', () => {
    const { db, store } = stocked();
    db.exec("ALTER TABLE keyscope_keys ADD COLUMN team TEXT DEFAULT 'blue'");
    db.exec('CREATE TABLE log (what TEXT)');
    db.exec(
      "CREATE TRIGGER seen AFTER UPDATE ON keyscope_keys BEGIN INSERT INTO log VALUES ('a'), ('b'); END",
    );
    const again = sqliteStore(db);
    expect(again.findById(RECORD.keyId)).toEqual(RECORD);
    // What a trigger of theirs writes is not counted as ours.
    expect([
      again.markEnded(RECORD.keyId, { revokedAt: 5 }),
      store.markEnded(RECORD.keyId, { revokedAt: 5 }),
    ]).toEqual([true, false]);
    again.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
    again.insert(second(1));
    expect(
      db
        .prepare('SELECT DISTINCT team FROM keyscope_keys')
        .all()
        .map(({ team }) => team),
    ).toEqual(['blue']);
    expect(Object.keys(again.findById(RECORD.keyId) ?? {})).toEqual(
      Object.keys(store.findById(RECORD.keyId) ?? {}),
    );
  });
});

// ── The handle ────────────────────────────────────────────────────────────────────────────────────────

/** A handle that notes the SQL it is asked to prepare and to execute. */
function spying(db: DatabaseSync) {
  const prepared: string[] = [];
  const executed: string[] = [];
  const handle: SqliteHandle = {
    prepare(sql) {
      prepared.push(sql);
      return db.prepare(sql);
    },
    exec(sql) {
      executed.push(sql);
      return db.exec(sql);
    },
  };
  return { handle, prepared, executed };
}

describe('the handle', () => {
  test.each(DRIVERS)('of %s syncs every commit, in WAL, and waits for locks', (driver) => {
    const db = open(driver, fresh());
    sqliteStore(db);
    expect(value(db, 'PRAGMA journal_mode')).toBe('wal');
    expect(value(db, 'PRAGMA synchronous')).toBe(2);
    expect(value(db, 'PRAGMA busy_timeout')).toBe(5000);
    db.close();
  });

  test('is in WAL, and syncs every commit, before anything is written', () => {
    const [db, said]: [DatabaseSync, string[]] = [new DatabaseSync(fresh()), []];
    const exec = (sql: string) => {
      said.push(sql);
      db.exec(sql);
    };
    sqliteStore({
      exec,
      prepare: (sql) => db.prepare(sql) as unknown as ReturnType<SqliteHandle['prepare']>,
    });
    const first = (words: string) => said.findIndex((sql) => sql.includes(words));
    const order = ['journal_mode = WAL', 'synchronous = FULL', 'CREATE TABLE'].map(first);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(order).not.toContain(-1);
    db.close();
  });

  test('keeps what it was set to where that is safer, or its own to decide', () => {
    const db = new DatabaseSync(fresh());
    db.exec('PRAGMA synchronous = EXTRA; PRAGMA busy_timeout = 123; PRAGMA user_version = 9');
    sqliteStore(db);
    expect(value(db, 'PRAGMA synchronous')).toBe(3);
    expect(value(db, 'PRAGMA busy_timeout')).toBe(123);
    expect(value(db, 'PRAGMA user_version')).toBe(9);
    db.close();
  });

  test('is told where it is none', () => {
    const odd = [undefined, null, 'keys.db', {}, { exec() {} }, sqliteStore];
    for (const [name, act] of Object.entries({ sqliteStore, migrate })) {
      for (const db of odd) {
        const told = complaint(() => act(db as unknown as SqliteHandle));
        expect(told).toBe(
          `${name}: pass an open handle of node:sqlite, better-sqlite3 or bun:sqlite`,
        );
      }
    }
  });

  test('of a driver that answers no rows is told to be one of the others', () => {
    // As of sqlite3, which answers callbacks, of sql.js, which has cursors, and of libsql/promise.
    for (const statement of [{ all: () => ({}) }, { step() {}, get() {} }, Promise.resolve({})]) {
      const db = { exec() {}, prepare: () => statement } as unknown as SqliteHandle;
      const told = complaint(() => sqliteStore(db));
      expect(told).toBe(
        'sqliteStore: pass an open handle of node:sqlite, better-sqlite3 or bun:sqlite',
      );
    }
  });

  // The driver said "Safety level may not be changed inside a transaction", and not what to do.
  test.each(DRIVERS)(
    'of %s that is closed, or in a transaction, is refused before anything is set',
    (driver) => {
      for (const [name, act] of Object.entries({ sqliteStore, migrate })) {
        const db = open(driver, ':memory:');
        const instead =
          'the handle is closed, or in the middle of a transaction; open one for keyscope alone';
        const refused = (cause: RegExp) => {
          const error = thrown(() => act(db));
          expect(error).toBeInstanceOf(TypeError);
          expect(error).toMatchObject({
            message: `${name}: ${instead}`,
            cause: { message: expect.stringMatching(cause) },
          });
        };
        db.exec('BEGIN; CREATE TABLE mine (a)');
        refused(/transaction/);
        // What they had begun is still theirs to end.
        db.exec('COMMIT');
        expect(value(db, 'SELECT name FROM sqlite_master')).toBe('mine');
        db.close();
        refused(/not open/);
      }
    },
  );

  test('must return rows as objects and integers as numbers', () => {
    const better = new Better(':memory:');
    better.defaultSafeIntegers(true);
    const handles = [
      better,
      new DatabaseSync(':memory:', { readBigInts: true }),
      new DatabaseSync(':memory:', { returnArrays: true }),
    ];
    for (const db of handles)
      expect(() => sqliteStore(db)).toThrow('rows as objects and integers as numbers');
  });

  // Every record came back without its fields: each key was refused, and called tampered with.
  test.each(DRIVERS)('of %s that names columns with their table reads what it wrote', (driver) => {
    const db = open(driver, ':memory:');
    db.exec('PRAGMA full_column_names = ON');
    sqliteStore(db).insert(RECORD);
    // Again: the version is read like the records.
    const store = sqliteStore(db);
    expect([store.findById(RECORD.keyId), store.findByDigest([RECORD.digest])]).toEqual([
      RECORD,
      [RECORD],
    ]);
    expect(store.list({ entityUuid: OWN, after: null, limit: 10 })).toEqual([RECORD]);
    db.close();
  });

  // With node:sqlite, a name that began with a byte order mark lost it: the key was refused, and
  // called tampered with.
  test.each(DRIVERS)(
    'of %s on a file that is in UTF-16 is refused, and nothing is written',
    (driver) => {
      for (const [name, act] of Object.entries({ sqliteStore, migrate })) {
        const db = open(driver, ':memory:');
        db.exec("PRAGMA encoding = 'UTF-16le'; CREATE TABLE theirs (a)");
        expect(complaint(() => act(db))).toBe(
          `${name}: the file is in UTF-16le; give keyscope one in UTF-8`,
        );
        expect(db.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'theirs' }]);
        db.close();
      }
    },
  );

  test.each(DRIVERS)(
    'of %s in a transaction is written nothing that could be rolled back',
    (driver) => {
      const db = open(driver, ':memory:');
      const store = sqliteStore(db);
      store.insert(RECORD);
      db.exec('BEGIN');
      expect(() => store.insert(second(1))).toThrow(/transaction/);
      expect(() => store.markEnded(RECORD.keyId, { revokedAt: 5 })).toThrow(/transaction/);
      expect(() => store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: {} }])).toThrow(
        /transaction/,
      );
      db.exec('COMMIT');
      expect(store.list({ entityUuid: OWN, after: null, limit: 10 })).toEqual([RECORD]);
      db.close();
    },
  );

  // Within a transaction that the service had begun, a key passed that another process had revoked
  // since.
  test.each(DRIVERS)(
    'of %s in a transaction is asked nothing either, for it sees the past',
    (driver) => {
      const { file, remove } = folder();
      const db = open(driver, file('keys.db'));
      const store = sqliteStore(db);
      store.insert(RECORD);
      const elsewhere = open(driver, file('keys.db'));
      db.exec('BEGIN');
      db.prepare('SELECT 1 FROM keyscope_keys').all();
      expect(sqliteStore(elsewhere).markEnded(RECORD.keyId, { revokedAt: 5 })).toBe(true);
      const told =
        'keyscope: the handle is in the middle of a transaction; open one for keyscope alone';
      for (const ask of [
        () => store.findByDigest([RECORD.digest]),
        () => store.findById(RECORD.keyId),
        () => store.list({ entityUuid: OWN, after: null, limit: 10 }),
        () => store.summarize(0),
      ])
        expect(ask).toThrow(told);
      db.exec('COMMIT');
      expect(store.findById(RECORD.keyId)).toEqual({ ...RECORD, revokedAt: 5 });
      for (const handle of [db, elsewhere]) handle.close();
      remove();
    },
  );

  test('is left outside a transaction by a write that fails', () => {
    const { db, store } = stocked();
    expect(() => store.insert(RECORD)).toThrow(
      'keyscope: a key with this id or digest exists already',
    );
    const bad = { keyId: RECORD.keyId, lastUsedAt: 'now' as unknown as number, scopesUsed: {} };
    expect(() => store.touch([{ ...bad, lastUsedAt: 5 }, bad])).toThrow();
    expect(db.isTransaction).toBe(false);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('prepares each statement once, and no statement reads the table from end to end', () => {
    const db = new DatabaseSync(':memory:');
    const { handle, prepared, executed } = spying(db);
    const store = sqliteStore(handle);
    const statements = prepared.filter((sql) => /keyscope_keys/.test(sql));
    prepared.length = 0;
    executed.length = 0;
    store.insert(RECORD);
    for (const digests of [[], ['a'], ['a', 'b', RECORD.digest]]) store.findByDigest(digests);
    store.findById(RECORD.keyId);
    store.list({ entityUuid: OWN, after: null, limit: 10 });
    store.list({ entityUuid: OWN, after: RECORD, limit: 10 });
    store.markEnded(RECORD.keyId, { retireAt: 4 });
    store.markEnded(RECORD.keyId, { revokedAt: 5 });
    store.touch([{ keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }]);
    store.summarize(5);
    // `touch` alone asks for it, and sets it: whoever waits for a lock is served by nobody
    // meanwhile.
    expect(prepared).toEqual(['PRAGMA busy_timeout']);
    const pragmas = ['PRAGMA busy_timeout = 0', 'PRAGMA busy_timeout = 5000'];
    expect(new Set(executed)).toEqual(new Set(['BEGIN IMMEDIATE', 'COMMIT', ...pragmas]));

    const scans = statements.filter((sql) => {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      return plan.some(({ detail }) =>
        /SCAN keyscope_keys|TEMP B-TREE FOR ORDER BY/.test(String(detail)),
      );
    });
    expect(statements).toHaveLength(9);
    expect(scans).toEqual([expect.stringContaining('count(*) AS live')]);
  });

  test('rows are fresh plain objects', () => {
    const { store } = stocked();
    const rows = [
      store.findById(RECORD.keyId),
      store.findById(RECORD.keyId),
      [...sync(store.summarize(5))][0],
    ];
    expect(rows[0]).not.toBe(rows[1]);
    for (const row of rows) expect(Object.getPrototypeOf(row)).toBe(Object.prototype);
  });
});

// ── Usage ─────────────────────────────────────────────────────────────────────────────────────────────

// It waited for the lock of another process in place, and for as long as five seconds no request
// was served.
describe.each(DRIVERS)('usage, on %s, while another process has the lock', (driver) => {
  function beside() {
    const path = fresh();
    const [db, rival] = [open(driver, path), open(driver, path)];
    const store = sqliteStore(db);
    store.insert(RECORD);
    rival.exec('BEGIN IMMEDIATE');
    const close = () => {
      db.close();
      rival.close();
    };
    return { db, store, rival, close };
  }
  const entry = { keyId: RECORD.keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };

  test('is waited for by nobody, and written once it lets go', async () => {
    const { db, store, rival, close } = beside();
    const answer = store.touch([entry]);
    expect(answer).toBeInstanceOf(Promise);
    expect(value(db, 'PRAGMA busy_timeout')).toBe(5000);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
    rival.exec('COMMIT');
    await answer;
    expect(store.findById(RECORD.keyId)).toMatchObject({ lastUsedAt: 5, scopesUsed: { 'a:b': 5 } });
    close();
  });

  test('is given up after a second, kept by the keyring, and written by a later flush', async () => {
    const { db, store, rival, close } = beside();
    vi.useFakeTimers();
    try {
      const given = expect(store.touch([entry])).rejects.toThrow('database is locked');
      await vi.advanceTimersByTimeAsync(900);
      await given;
      const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: PEPPERS });
      rival.exec('COMMIT');
      const { key, info } = await keyring.issue(INPUT, AUTHORITY);
      const policy = definePolicy(catalog, { list: ['threats:read'] });
      await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
      rival.exec('BEGIN IMMEDIATE');
      const flushed = expect(keyring.flush()).rejects.toThrow('store.touch failed');
      await vi.advanceTimersByTimeAsync(900);
      await flushed;
      rival.exec('COMMIT');
      await keyring.flush();
      expect((await keyring.get(info.keyId, AUTHORITY))?.lastUsedAt).toBeInstanceOf(Date);
      expect(value(db, 'PRAGMA busy_timeout')).toBe(5000);
    } finally {
      vi.useRealTimers();
    }
    close();
  });

  test('leaves a time-out that the service has set', async () => {
    const { db, store, rival, close } = beside();
    db.exec('PRAGMA busy_timeout = 123');
    const answer = store.touch([entry]);
    expect(value(db, 'PRAGMA busy_timeout')).toBe(123);
    rival.exec('COMMIT');
    await answer;
    expect(value(db, 'PRAGMA busy_timeout')).toBe(123);
    close();
  });
});

test('a summary without a time is one of now, and a listing without a position begins at its beginning', async () => {
  const { store } = stocked();
  store.insert({ ...second(1), expiresAt: Date.now() - 1 });
  store.insert({ ...second(2), expiresAt: Date.now() + 60_000 });
  const summarize = store.summarize as () => unknown;
  expect(summarize()).toEqual([{ scheme: 's1', live: 2, lastUsedAt: null }]);
  await expectLooseCalls(store, OWN);
});

// ── Migration ─────────────────────────────────────────────────────────────────────────────────────────

describe('migrate', () => {
  test('is repeatable and keeps what is there', () => {
    const { db, store } = stocked();
    const schema = db.prepare('SELECT sql FROM sqlite_master').all();
    migrate(db);
    sqliteStore(db);
    expect(db.prepare('SELECT sql FROM sqlite_master').all()).toEqual(schema);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('waits for locks when it is called by itself', () => {
    const db = new DatabaseSync(':memory:');
    migrate(db);
    expect(value(db, 'PRAGMA busy_timeout')).toBe(5000);
    expect(sqliteStore(db).findById(RECORD.keyId)).toBe(null);
  });

  test('takes no lock where the schema is current', () => {
    const path = fresh();
    const writer = new DatabaseSync(path);
    sqliteStore(writer);
    writer.exec('BEGIN IMMEDIATE');
    const reader = new DatabaseSync(path, { timeout: 1 });
    const store = sqliteStore(reader);
    expect(store.findById(RECORD.keyId)).toBe(null);
    expect(() => store.insert(RECORD)).toThrow(/locked/);
    writer.close();
    reader.close();
  });

  test('refuses a file that a newer release has migrated, and leaves it', () => {
    const { db } = stocked();
    db.exec('UPDATE keyscope_schema SET version = 2');
    for (const act of [migrate, sqliteStore]) {
      expect(() => act(db)).toThrow(
        'keyscope: the file has schema 2 and this release knows 1; upgrade it',
      );
    }
    expect(value(db, 'SELECT version FROM keyscope_schema')).toBe(2);
    expect(db.isTransaction).toBe(false);
  });

  test('does all of it or nothing', () => {
    const db = new DatabaseSync(':memory:');
    // Somebody has the name of the index, which comes after the table.
    db.exec('CREATE TABLE mine (a); CREATE INDEX keyscope_keys_listing ON mine (a)');
    expect(() => sqliteStore(db)).toThrow(/keyscope_keys_listing/);
    const names = db.prepare('SELECT name FROM sqlite_master').all();
    expect(names.map(({ name }) => name)).toEqual(['mine', 'keyscope_keys_listing']);
    expect(db.isTransaction).toBe(false);
  });
});

// ── What somebody edited by hand ──────────────────────────────────────────────────────────────────────

const attackers = generateKey({ prefix: 'acme' });
const [PEPPER] = PEPPERS;
const BOTH = JSON.stringify([OWN, OTHER]);

/** Column → SQL values that widen a key, or that are merely wrong. */
const EDITS: Readonly<Record<string, readonly string[]>> = {
  key_id: ["'0f0f0f0f-0000-4000-8000-00000000000f'", "''", "'ABC'"],
  name: ["'other'", "''", "'CI'"],
  digest: [
    `'${digestKey(attackers, PEPPER)}'`,
    `'${digestKey(attackers)}'`,
    "''",
    'upper(digest)',
    "digest || ' '",
  ],
  seal: ['NULL', "''", 'upper(seal)', "replace(seal, substr(seal, 1, 1), 'f') || 'f'"],
  entity_uuid: [`'${OTHER}'`, "''", 'upper(entity_uuid)'],
  accessible_entities: [`'${BOTH}'`, "'[]'", `'["${OTHER}"]'`, "'[5]'", "'[[]]'"],
  scopes: [
    `'["threats:read","threats:write"]'`,
    `'["threats:*"]'`,
    `'["*:*"]'`,
    "'[]'",
    `'["threats:read","threats:read"]'`,
    "'[null]'",
    `'["Threats:read"]'`,
  ],
  justification: ["'because'", "''"],
  metadata: [`'{"team":"blue"}'`, `'{"a":5}'`, `'{"__proto__":"x"}'`],
  created_at: ['created_at + 1', '0', '-1', '1 << 60'],
  expires_at: ['NULL', 'expires_at + 1', '0', '1 << 60'],
  rotated_from: [`'${OTHER}'`, "''"],
};

/** JSON that is none, or of another type: only with the CHECKs off. */
const BAD_JSON = ['none', '', '[', '{', '5', 'null', '"threats:read"', '["threats:read"', '[],[]'];

const SWITCHES_OFF = 'DROP TRIGGER keyscope_keys_update; PRAGMA ignore_check_constraints = ON';

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

describe.each(DRIVERS)('a row edited by hand, read with %s', (driver) => {
  async function victim() {
    const db = open(driver, ':memory:');
    const keyring = keyringOn(db);
    const { key, info } = await keyring.issue(
      { ...INPUT, expiresAt: new Date(Date.now() + 3_600_000) },
      AUTHORITY,
    );
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    db.exec(SWITCHES_OFF);
    return { db, keyring, key, keyId: info.keyId };
  }

  test('every column that never changes is tried', () => {
    expect(Object.keys(EDITS).sort()).toEqual([...FIXED].sort());
  });

  test.each(FIXED)('%s: the key never passes', async (column) => {
    for (const to of EDITS[column] ?? []) {
      const { db, keyring, key, keyId } = await victim();
      db.exec(`UPDATE keyscope_keys SET ${column} = ${to}`);
      expect(REFUSED, `${column} = ${to}`).toContain(await outcome(() => keyring.verify(key)));
      // Nor the key that whoever edited the digest knows.
      expect(REFUSED, `${column} = ${to}`).toContain(
        await outcome(() => keyring.verify(attackers)),
      );
      for (const entityUuid of [OWN, OTHER]) {
        const rotated = await outcome(() =>
          keyring.rotate(keyId, { overlapMs: 0 }, { entityUuid }),
        );
        expect([...REFUSED, 'not_found no_such_key'], `${column} = ${to}, rotated`).toContain(
          rotated,
        );
      }
      db.close();
    }
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
        const { db, keyring, key } = await victim();
        db.exec(`UPDATE keyscope_keys SET ${column} = ${to}`);
        expect(await outcome(() => keyring.verify(key)), `${column} = ${to}`).toBe(
          'invalid_token record_tampered',
        );
        db.close();
      }
    }
  });

  test('lists that are no JSON refuse this key and no other', async () => {
    for (const column of ['scopes', 'accessible_entities', 'metadata', 'scopes_used']) {
      for (const json of BAD_JSON) {
        const { db, keyring, key, keyId } = await victim();
        const other = await keyring.issue(INPUT, AUTHORITY);
        db.exec(`UPDATE keyscope_keys SET ${column} = '${json}' WHERE key_id = '${keyId}'`);
        const why = `${column} = ${json}`;
        expect(await outcome(() => keyring.verify(key)), why).toBe('invalid_token record_tampered');
        expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
        expect(await outcome(() => keyring.list({}, AUTHORITY)), why).toBe('StoreError');
        expect(await outcome(() => keyring.get(keyId, AUTHORITY)), why).toBe('StoreError');
        expect(await outcome(() => keyring.get(other.info.keyId, AUTHORITY)), why).toBe('passed');
        db.close();
      }
    }
  });

  test('a table of used scopes that is no JSON keeps no other key from its usage', async () => {
    const { db, keyring, keyId } = await victim();
    const { info } = await keyring.issue(INPUT, AUTHORITY);
    const store = sqliteStore(db);
    for (const json of BAD_JSON) {
      db.exec(`UPDATE keyscope_keys SET scopes_used = '${json}' WHERE key_id = '${keyId}'`);
      const entry = { lastUsedAt: Date.now() + 1, scopesUsed: { 'threats:read': 5 } };
      store.touch([
        { ...entry, keyId },
        { ...entry, keyId: info.keyId },
      ]);
      expect((await store.findById(info.keyId))?.lastUsedAt, json).toBe(entry.lastUsedAt);
      expect(await outcome(() => keyring.get(keyId, AUTHORITY)), json).toBe('StoreError');
    }
    db.close();
  });

  test('marks and times beyond what a number holds never let a key pass', async () => {
    for (const column of ['revoked_at', 'retire_at', 'last_used_at']) {
      const { db, keyring, key } = await victim();
      db.exec(`UPDATE keyscope_keys SET ${column} = 1 << 60`);
      expect(REFUSED, column).toContain(await outcome(() => keyring.verify(key)));
      db.close();
    }
  });
});

test('the file holds no key', async () => {
  const path = fresh();
  const db = new DatabaseSync(path);
  const keyring = keyringOn(db);
  const { key, info } = await keyring.issue(INPUT, AUTHORITY);
  const next = await keyring.rotate(info.keyId, { overlapMs: 0 }, AUTHORITY);
  const bytes = readdirSync(file(''))
    .filter((entry) => entry.startsWith(basename(path)))
    .map((entry) => readFileSync(file(entry), 'latin1'))
    .join();
  expect(bytes).toContain(info.keyId);
  for (const secret of [key, next.key])
    expect(bytes).not.toContain(secret.slice('acme_'.length, -6));
  db.close();
});
