/** Runs writes in their own transactions, and retries them while another process has the lock. */
import type { Awaitable } from '../../core/store.js';
import type { SqliteHandle } from './handle.js';
import { readBusyTimeout } from './handle.js';

/** Throws if the handle is in the middle of a transaction. */
export function assertNoTransaction(db: SqliteHandle): void {
  if (db.isTransaction || db.inTransaction) {
    throw new Error(
      'keyscope: the handle is in the middle of a transaction; open one for keyscope alone',
    );
  }
}

function rollBack(db: SqliteHandle): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // On a full disk, SQLite has already rolled back; the first error says what happened.
  }
}

/**
 * Runs `work` in its own transaction. `BEGIN` throws if the handle is already in one, so somebody
 * else's rollback cannot undo an acknowledged write. IMMEDIATE takes the write lock at once: a
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
export function withoutWaiting(db: SqliteHandle, work: () => void): void {
  const timeout = readBusyTimeout(db);
  db.exec('PRAGMA busy_timeout = 0');
  try {
    work();
  } finally {
    db.exec(`PRAGMA busy_timeout = ${timeout}`);
  }
}

/**
 * How many times a write is tried in all, and the pause between. Together they take less than the
 * 2 s that a keyring waits for a store by default.
 */
const TRIES = 10;
const PAUSE_MS = 100;

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

/** Reads SQLite's own message, which every driver passes on. */
function isLocked(error: unknown): boolean {
  return String((error as Error | undefined)?.message).includes('database is locked');
}

async function writeLater(write: () => void): Promise<void> {
  for (let attempt = 2; ; attempt++) {
    await pause();
    try {
      write();
      return;
    } catch (error) {
      if (attempt === TRIES || !isLocked(error)) throw error;
    }
  }
}

/** Runs `write` at once, and again after each pause while another process has the lock. */
export function writeWhenUnlocked(write: () => void): Awaitable<void> {
  try {
    write();
  } catch (error) {
    if (!isLocked(error)) throw error;
    return writeLater(write);
  }
}
