/**
 * Runs writes in their own transactions, and retries them while another process has the lock. Reads
 * need no transaction.
 */
import type { Awaitable } from '../../core/store.js';
import { inMain, readBusyTimeout, type SqliteHandle, type SqliteStatement } from './client.js';
import type { Query } from './reads.js';
import { QUERIES, type QueryName } from './statements.js';

/** `node:sqlite` before 22.16 has neither property. There, BEGIN throws, and takes no lock. */
function isInTransaction(db: SqliteHandle): boolean {
  const known = db.isTransaction ?? db.inTransaction;
  if (known !== undefined) return known;
  try {
    db.exec('BEGIN');
  } catch {
    return true;
  }
  db.exec('COMMIT');
  return false;
}

/** Throws if the handle is in the middle of a transaction. */
export function assertNoTransaction(db: SqliteHandle): void {
  if (isInTransaction(db)) {
    throw new Error(
      'keyscope: the handle is in the middle of a transaction. Open one only for keyscope',
    );
  }
}

// ── Reads ───────────────────────────────────────────────────────────────────────────────────────

/** Prepares each query once. The queries throw in the middle of a transaction. */
export function prepareQueries(db: SqliteHandle): Query {
  const names = Object.keys(QUERIES) as readonly QueryName[];
  const prepared = names.map((name) => [name, db.prepare(inMain(QUERIES[name]))]);
  const statements = Object.fromEntries(prepared) as Record<QueryName, SqliteStatement>;
  return (name, ...values) => {
    assertNoTransaction(db);
    return statements[name].all(...values);
  };
}

// ── Writes ──────────────────────────────────────────────────────────────────────────────────────

function rollBack(db: SqliteHandle): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // On a full disk, SQLite has already rolled back; the first error says what happened.
  }
}

/**
 * Runs `work` in its own transaction. `BEGIN` throws if the handle is already in one, so another
 * user's rollback cannot undo an acknowledged write. IMMEDIATE takes the write lock at once: a
 * transaction that reads first cannot wait for it.
 */
export function transaction<Result>(db: SqliteHandle, work: () => Result): Result {
  assertNoTransaction(db);
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw error;
  }
}

/** Runs `work`, and fails at once if another process has the lock. */
function withoutWaiting<Result>(db: SqliteHandle, work: () => Result): Result {
  const timeout = readBusyTimeout(db);
  db.exec('PRAGMA busy_timeout = 0');
  try {
    return work();
  } finally {
    db.exec(`PRAGMA busy_timeout = ${timeout}`);
  }
}

/**
 * How long to pause after each failed attempt, in milliseconds. All later pauses are the longest.
 */
const PAUSES_MS: readonly number[] = [1, 2, 5, 10, 20, 50];
const LONGEST_PAUSE_MS = 100;

/** Reads SQLite's own message, which every driver passes on. */
function isLocked(error: unknown): boolean {
  return String((error as Error | undefined)?.message).includes('database is locked');
}

/** How long a write waits for a lock. */
export interface Patience {
  /** In milliseconds. Default: as long as the handle itself would. */
  readonly waitMs?: number;
  /** Ends the wait; nothing is written then. */
  readonly signal?: AbortSignal | undefined;
}

async function writeLater<Result>(
  write: () => Result,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<Result> {
  let left = waitMs;
  for (let attempt = 0; ; attempt++) {
    const ms = PAUSES_MS[attempt] ?? LONGEST_PAUSE_MS;
    await new Promise((resolve) => setTimeout(resolve, ms));
    left -= ms;
    signal?.throwIfAborted();
    try {
      return write();
    } catch (error) {
      if (left < LONGEST_PAUSE_MS || !isLocked(error)) throw error;
    }
  }
}

/**
 * Runs `work` in its own transaction at once, and again after each pause while another process has
 * the lock. The handle's own wait would block the event loop, and with it every look-up.
 */
export function writeWhenUnlocked<Result>(
  db: SqliteHandle,
  work: () => Result,
  { waitMs, signal }: Patience = {},
): Awaitable<Result> {
  const write = () => withoutWaiting(db, () => transaction(db, work));
  try {
    return write();
  } catch (error) {
    if (!isLocked(error)) throw error;
    return writeLater(write, waitMs ?? readBusyTimeout(db), signal);
  }
}
