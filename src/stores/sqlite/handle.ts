/** The handles that the store works with, and what it sets and refuses on them. */

/** A prepared statement, as all three drivers have it. Parameters are positional. */
export interface SqliteStatement {
  /** Writes, and says how many rows it changed. */
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  /** Reads all rows. */
  all(...parameters: unknown[]): unknown[];
}

/**
 * An open database: `DatabaseSync` of `node:sqlite`, `Database` of `better-sqlite3` or of
 * `bun:sqlite`.
 */
export interface SqliteHandle {
  /** Runs statements that return no rows. */
  exec(sql: string): unknown;
  /** Prepares one statement. */
  prepare(sql: string): SqliteStatement;
  /** On `node:sqlite`: whether it is in the middle of a transaction. */
  readonly isTransaction?: boolean;
  /** The same on the other two. */
  readonly inTransaction?: boolean;
}

/**
 * A column of the first row that a statement reads. bun's `get` returns null for no row and the
 * others undefined; `all` is the same in all three.
 */
export function readValue(db: SqliteHandle, sql: string, column: string): unknown {
  const [row] = db.prepare(sql).all();
  return (row as Readonly<Record<string, unknown>> | undefined)?.[column];
}

/** How many milliseconds the handle waits for the lock of another one. */
export function readBusyTimeout(db: SqliteHandle): number {
  return Number(readValue(db, 'PRAGMA busy_timeout', 'timeout'));
}

function waitForLocks(db: SqliteHandle): void {
  // better-sqlite3 sets 5 s itself, the others 0: with a second process, reads and writes would
  // fail at once.
  if (readBusyTimeout(db) === 0) db.exec('PRAGMA busy_timeout = 5000');
}

/** How many times the mode is set in all, while other processes have the lock. */
const WAL_TRIES = 20;

/** The mode is stored in the file, so this writes once in a file's life. */
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

/** What `PRAGMA synchronous` reads for EXTRA, which is stricter than FULL. */
const EXTRA = 3;

/** Makes commits durable: what was acknowledged survives the process and a power cut. */
export function makeDurable(db: SqliteHandle): void {
  setWalMode(db);
  // In WAL mode, NORMAL syncs only at checkpoints: commits since the last one survive the end of
  // the process, but a power cut undoes them, and with them an acknowledged revocation. FULL syncs
  // every commit. It is set even if it reads FULL already: builds such as better-sqlite3's say so
  // and then fall back to NORMAL with the first transaction in WAL, unless somebody has set it.
  const synchronous = Number(readValue(db, 'PRAGMA synchronous', 'synchronous'));
  if (synchronous !== EXTRA) db.exec('PRAGMA synchronous = FULL');
}

/** Whether `db` has the methods. Handles of `sqlite3` and `sql.js` have them, too. */
function hasMethods(db: unknown): boolean {
  return typeof db === 'object' && db !== null && 'exec' in db && 'prepare' in db;
}

function assertIdle(db: SqliteHandle, caller: string): void {
  try {
    // Takes no lock, and succeeds if the handle is open and not in a transaction.
    db.exec('BEGIN');
    db.exec('COMMIT');
  } catch (cause) {
    const said =
      'the handle is closed, or in the middle of a transaction; open one for keyscope alone';
    throw new TypeError(`${caller}: ${said}`, { cause });
  }
}

/** Refuses handles of `sqlite3` and `sql.js`, which answer with callbacks or cursors. */
function isSynchronous(db: SqliteHandle): boolean {
  return Array.isArray(db.prepare('PRAGMA busy_timeout')?.all?.());
}

function assertAnswers(db: SqliteHandle, caller: string): void {
  const largest = readValue(db, 'SELECT 9007199254740991 AS whole', 'whole');
  // Otherwise every record would look tampered with.
  if (largest !== Number.MAX_SAFE_INTEGER) {
    throw new TypeError(
      `${caller}: the handle must return rows as objects and integers as numbers`,
    );
  }
  // A text loses a byte order mark at its beginning on the way into UTF-16 or back, and the seal
  // would no longer match.
  const encoding = readValue(db, 'PRAGMA encoding', 'encoding');
  if (encoding !== 'UTF-8') {
    throw new TypeError(`${caller}: the file is in ${encoding}; give keyscope one in UTF-8`);
  }
}

/**
 * Throws a `TypeError` in the name of `caller` unless the store can work with the handle. Sets a
 * busy timeout if it has none.
 */
export function prepareHandle(db: SqliteHandle, caller: string): void {
  const instead = `${caller}: pass an open handle of node:sqlite, better-sqlite3 or bun:sqlite`;
  if (!hasMethods(db)) throw new TypeError(instead);
  assertIdle(db, caller);
  if (!isSynchronous(db)) throw new TypeError(instead);
  // Before anything that reads the file: even preparing a SELECT reads its schema under a lock.
  waitForLocks(db);
  assertAnswers(db, caller);
}
