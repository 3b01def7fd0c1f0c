import { DatabaseSync } from 'node:sqlite';
import Better from 'better-sqlite3';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { migrate, purgeEnded, sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, test } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { OWN } from '../../support/keyring.ts';
import { RECORD } from '../../support/records.ts';
import { DRIVERS, open } from '../../support/sqlite.ts';
import { freshFiles, readValue } from '../../support/sqlite-databases.ts';

const { fresh } = freshFiles();

/** The functions that take a handle, by name. */
const TAKERS: Readonly<Record<string, (db: SqliteHandle) => unknown>> = {
  sqliteStore,
  migrate,
  purgeEnded: (db) => purgeEnded(db, { endedBefore: new Date(0) }),
};

/** Returns the `TypeError` that was thrown, or rejected with. */
async function refusal(act: () => unknown): Promise<TypeError> {
  try {
    await act();
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return error as TypeError;
  }
  throw new Error('nothing was thrown');
}

describe('a handle', () => {
  test.each(DRIVERS)('of %s syncs every commit, uses WAL, and waits for locks', (driver) => {
    const db = open(driver, fresh());
    sqliteStore(db);
    expect(readValue(db, 'PRAGMA journal_mode')).toBe('wal');
    expect(readValue(db, 'PRAGMA synchronous')).toBe(2);
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(5000);
    db.close();
  });

  test('uses WAL and syncs every commit before anything is written', () => {
    const db = new DatabaseSync(fresh());
    const said: string[] = [];
    sqliteStore({
      exec(sql) {
        said.push(sql);
        db.exec(sql);
      },
      prepare: (sql) => db.prepare(sql) as unknown as ReturnType<SqliteHandle['prepare']>,
    });
    const first = (words: string) => said.findIndex((sql) => sql.includes(words));
    const order = ['journal_mode = WAL', 'synchronous = FULL', 'CREATE TABLE'].map(first);
    expect(order).toEqual([...order].sort((one, other) => one - other));
    expect(order).not.toContain(-1);
    db.close();
  });

  test("keeps its settings if they are safer, or none of keyscope's business", () => {
    const db = new DatabaseSync(fresh());
    db.exec('PRAGMA synchronous = EXTRA; PRAGMA busy_timeout = 123; PRAGMA user_version = 9');
    sqliteStore(db);
    expect(readValue(db, 'PRAGMA synchronous')).toBe(3);
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(123);
    expect(readValue(db, 'PRAGMA user_version')).toBe(9);
    db.close();
  });

  test('is rejected if it is not a handle', async () => {
    const odd = [undefined, null, 'keys.db', {}, { exec() {} }, sqliteStore];
    for (const [name, take] of Object.entries(TAKERS)) {
      const drivers = 'node:sqlite, better-sqlite3, libsql or bun:sqlite';
      const instead = `${name}: pass an open handle of ${drivers}`;
      for (const db of odd) {
        expect((await refusal(() => take(db as unknown as SqliteHandle))).message).toBe(instead);
      }
    }
  });

  // libsql can open a copy of another database, which lags and would accept a revoked key.
  test('of libsql is rejected if it is a copy, or may be one', async () => {
    const db = new DatabaseSync(fresh());
    const saying = (message: string) => () => {
      throw new Error(message);
    };
    const withSync = (sync: () => unknown) =>
      Object.assign(db, { sync }) as unknown as SqliteHandle;
    for (const copy of [() => ({ frames: 1 }), saying('the primary is away')]) {
      for (const [name, take] of Object.entries(TAKERS)) {
        const told =
          `${name}: the handle has a syncUrl: ` +
          'a copy lags behind, and would accept revoked keys. Open a local file';
        expect((await refusal(() => take(withSync(copy)))).message).toBe(told);
      }
    }
    sqliteStore(withSync(saying('Sync is not supported in databases opened in File mode.')));
    sqliteStore(withSync(saying('SyncNotSupported("Memory")')));
    db.close();
  });

  test('is rejected if its driver does not return rows', async () => {
    // Like sqlite3 with callbacks, sql.js with cursors, and libsql/promise.
    for (const statement of [{ all: () => ({}) }, { step() {}, get() {} }, Promise.resolve({})]) {
      const db = { exec() {}, prepare: () => statement } as unknown as SqliteHandle;
      expect(complaint(() => sqliteStore(db))).toBe(
        'sqliteStore: pass an open handle of node:sqlite, better-sqlite3, libsql or bun:sqlite',
      );
    }
  });

  // The driver said "Safety level may not be changed inside a transaction", but not what to do.
  test.each(DRIVERS)(
    'of %s is rejected, before anything is set, if it is closed or in a transaction',
    async (driver) => {
      const instead =
        'the handle is closed, or in the middle of a transaction. Open one only for keyscope';
      for (const [name, take] of Object.entries(TAKERS)) {
        const db = open(driver, ':memory:');
        const expectRefusal = async (driversWords: RegExp) => {
          const error = await refusal(() => take(db));
          expect(error.message).toBe(`${name}: ${instead}`);
          expect(String(error.cause)).toMatch(driversWords);
        };
        db.exec('BEGIN; CREATE TABLE mine (a)');
        await expectRefusal(/transaction/);
        // The transaction is still the caller's to end.
        db.exec('COMMIT');
        expect(readValue(db, 'SELECT name FROM sqlite_master')).toBe('mine');
        db.close();
        await expectRefusal(/not open/);
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
    for (const db of handles) {
      expect(() => sqliteStore(db)).toThrow('rows as objects and integers as numbers');
    }
  });

  // Every record came back without its fields, so every key was rejected as tampered with.
  test.each(DRIVERS)('of %s reads what it wrote with full_column_names', (driver) => {
    const db = open(driver, ':memory:');
    db.exec('PRAGMA full_column_names = ON');
    sqliteStore(db).insert(RECORD);
    // Again, because the version is read like the records.
    const store = sqliteStore(db);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
    expect(store.findByDigest([RECORD.digest])).toEqual([RECORD]);
    expect(store.list({ prefix: 'acme', entityId: OWN, after: null, limit: 10 })).toEqual([RECORD]);
    db.close();
  });

  // With node:sqlite, a name that began with a byte order mark lost it, and its key was rejected as
  // tampered with.
  test.each(DRIVERS)(
    'of %s on a file in UTF-16 is rejected, and nothing is written',
    async (driver) => {
      for (const [name, take] of Object.entries(TAKERS)) {
        const db = open(driver, ':memory:');
        db.exec("PRAGMA encoding = 'UTF-16le'; CREATE TABLE theirs (a)");
        const instead = `${name}: the file is in UTF-16le. Give keyscope one in UTF-8`;
        expect((await refusal(() => take(db))).message).toBe(instead);
        expect(db.prepare('SELECT name FROM sqlite_master').all()).toEqual([{ name: 'theirs' }]);
        db.close();
      }
    },
  );
});
