/** The handles that the store accepts, and how it prepares them. */
import { hasMethods } from '../../core/input.js';

/** A prepared statement, as all four drivers have it. Parameters are positional. */
export interface SqliteStatement {
  /** Writes, and returns how many rows changed. */
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  /** Reads all rows. */
  all(...parameters: unknown[]): unknown[];
}

/**
 * An open database: `DatabaseSync` of `node:sqlite`, `Database` of `better-sqlite3`, of `libsql` or
 * of `bun:sqlite`.
 */
export interface SqliteHandle {
  /** Runs statements that return no rows. */
  exec(sql: string): unknown;
  /** Prepares one statement. */
  prepare(sql: string): SqliteStatement;
  /** On `node:sqlite`: whether it is in the middle of a transaction. */
  readonly isTransaction?: boolean;
  /** The same on the others. */
  readonly inTransaction?: boolean;
}

/**
 * Returns a column of the first row that a statement reads. Uses `all`, because for no row, bun's
 * `get` returns null and the others' return undefined.
 */
export function readValue(db: SqliteHandle, sql: string, column: string): unknown {
  const [row] = db.prepare(sql).all();
  return (row as Readonly<Record<string, unknown>> | undefined)?.[column];
}

/** Checks whether the database is in memory, or in a file that SQLite deletes with the handle. */
export function isTemporary(db: SqliteHandle): boolean {
  // The first row is the `main` database; others are attached.
  return (readValue(db, 'PRAGMA database_list', 'file') ?? '') === '';
}

/** The first mention of a table in a statement, and its alias if it has one. */
const TABLE = /\b(FROM|JOIN|INTO|UPDATE) (keyscope_(?:keys|addressing|schema))\b( AS)?/g;

/**
 * Adds `main.` to the tables, because someone sharing the handle may have made a temporary table
 * with the same name, which SQLite would find first.
 */
export function inMain(sql: string): string {
  return sql.replace(
    TABLE,
    (_, verb: string, table: string, as = ` AS ${table}`) => `${verb} main.${table}${as}`,
  );
}

/** Returns how many milliseconds the handle waits while another handle has the lock. */
export function readBusyTimeout(db: SqliteHandle): number {
  return Number(readValue(db, 'PRAGMA busy_timeout', 'timeout'));
}

function waitForLocks(db: SqliteHandle): void {
  // better-sqlite3 sets 5 s itself. The others set 0, so that reads and writes would fail at once
  // if a second process has the lock.
  if (readBusyTimeout(db) === 0) db.exec('PRAGMA busy_timeout = 5000');
}

/** How many times setting the mode is tried in all, if other processes have the lock. */
const WAL_TRIES = 20;

/** The mode is stored in the file, so only the first call writes. */
function setWalMode(db: SqliteHandle): void {
  for (let attempt = 1; ; attempt++) {
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (attempt === WAL_TRIES) throw error;
      // This pragma does not wait for locks. Taking the write lock does, so take it, release it and
      // try again.
      db.exec('BEGIN IMMEDIATE; COMMIT');
    }
  }
}

/** The value of `PRAGMA synchronous` for EXTRA, which is stricter than FULL. */
const EXTRA = 3;

/** Makes commits durable: acknowledged writes survive the end of the process and a power cut. */
export function makeDurable(db: SqliteHandle): void {
  setWalMode(db);
  // In WAL mode, NORMAL syncs only at checkpoints. Commits since the last one survive the end of
  // the process, but a power cut undoes them, and with them an acknowledged revocation. FULL syncs
  // every commit. It is set even if it is FULL already: builds such as better-sqlite3's report
  // FULL, but fall back to NORMAL with the first transaction in WAL unless it was set explicitly.
  const synchronous = Number(readValue(db, 'PRAGMA synchronous', 'synchronous'));
  if (synchronous !== EXTRA) db.exec('PRAGMA synchronous = FULL');
}

function assertIdle(db: SqliteHandle, caller: string): void {
  try {
    // Takes no lock, and succeeds if the handle is open and not in a transaction.
    db.exec('BEGIN');
    db.exec('COMMIT');
  } catch (cause) {
    const problem =
      'the handle is closed, or in the middle of a transaction. Open one only for keyscope';
    throw new TypeError(`${caller}: ${problem}`, { cause });
  }
}

/**
 * Returns false for handles of `sqlite3` and `sql.js`: they have the same methods, but their
 * results come by callback or cursor.
 */
function isSynchronous(db: SqliteHandle): boolean {
  return Array.isArray(db.prepare('PRAGMA busy_timeout')?.all?.());
}

/**
 * Checks whether the database is not a copy of a remote one. Every handle of libsql has `sync`. For
 * a local database it throws at once: `Sync is not supported in …`, or since 0.5
 * `SyncNotSupported`.
 */
function isLocal(db: SqliteHandle): boolean {
  const { sync } = db as { readonly sync?: unknown };
  if (typeof sync !== 'function') return true;
  try {
    sync.call(db);
    return false;
  } catch (error) {
    return /not ?supported/i.test(String(error));
  }
}

function assertAnswers(db: SqliteHandle, caller: string): void {
  const largest = readValue(db, 'SELECT 9007199254740991 AS whole', 'whole');
  // Otherwise every record would look tampered with.
  if (largest !== Number.MAX_SAFE_INTEGER) {
    throw new TypeError(
      `${caller}: the handle must return rows as objects and integers as numbers`,
    );
  }
  // In UTF-16, a text loses a byte order mark at its beginning, and the seal would no longer match.
  const encoding = readValue(db, 'PRAGMA encoding', 'encoding');
  if (encoding !== 'UTF-8') {
    throw new TypeError(`${caller}: the file is in ${encoding}. Give keyscope one in UTF-8`);
  }
}

/**
 * Throws a `TypeError` that names `caller` unless the store can use the handle. Sets a busy timeout
 * if the handle has none.
 */
export function prepareHandle(db: SqliteHandle, caller: string): void {
  const drivers = 'node:sqlite, better-sqlite3, libsql or bun:sqlite';
  const instead = `${caller}: pass an open handle of ${drivers}`;
  if (!hasMethods(db, 'exec', 'prepare')) throw new TypeError(instead);
  assertIdle(db, caller);
  if (!isSynchronous(db)) throw new TypeError(instead);
  if (!isLocal(db)) {
    const danger = 'a copy lags behind, and would accept revoked keys';
    throw new TypeError(`${caller}: the handle has a syncUrl: ${danger}. Open a local file`);
  }
  // Before anything that reads the file: even preparing a SELECT reads its schema under a lock.
  waitForLocks(db);
  assertAnswers(db, caller);
}
