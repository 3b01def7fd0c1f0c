/**
 * Keys in a SQLite file, over a handle that the service opened: `node:sqlite`, `better-sqlite3`
 * 13.0, `libsql` 0.4.5 (on a local file) or newer, or `bun:sqlite`. Imports no driver. Needs SQLite
 * 3.37 or newer.
 *
 * All methods are synchronous, except for a write while another process has the lock. Such a write
 * pauses between attempts, for up to the handle's busy timeout, and blocks no look-up meanwhile.
 * `migrate` blocks.
 *
 * Give keyscope its own handle, even if the file also has the service's own tables. A call throws
 * if the handle is in the middle of a transaction: a write could still be rolled back, and a read
 * would not see what other processes have revoked since.
 *
 * Statements name the tables of the file itself, so that neither temporary tables with the same
 * names nor attached databases hide them. Not noticed: a file that was deleted or replaced while it
 * is open. The process then reads and writes the old file, and no other process sees that.
 *
 * With a pepper, a row edited by hand does not authenticate. Lists that are invalid JSON are
 * returned as text, and integers beyond 2^53 as the nearest number: the core rejects that record
 * only.
 */
import type { KeyStore } from '../../core/store.js';
import { isText, type Reads } from '../reads.js';
import { isOnlyLooking, NOT_MIGRATED } from '../start.js';
import type { Writes } from '../writes.js';
import type { SqliteHandle } from './client.js';
import { isTemporary, makeDurable, prepareHandle } from './client.js';
import { isCurrent, migrateIfNeeded } from './migrate.js';
import { createReads } from './reads.js';
import { prepareQueries } from './transactions.js';
import { createWrites } from './writes.js';

/**
 * Makes a store in a SQLite file. Sets WAL, `synchronous = FULL` and, if the handle has none, a
 * busy timeout of 5 s; then migrates. Acknowledged writes survive the end of the process and a
 * power cut.
 *
 * Not checked: the file's permissions; that the disk really syncs.
 *
 * @param db An open handle, used by nobody else and not in a transaction. keyscope never closes it.
 * @returns The store, for `createKeyring`.
 * @throws TypeError if `db` is not such a handle, is closed or in a transaction, has a `syncUrl`,
 *   or returns rows as arrays or integers as `bigint`; if the file is not in UTF-8.
 * @throws Error as `migrate` does; if the driver throws.
 * @example
 * const store = sqliteStore(new DatabaseSync('keys.db'));
 * const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers });
 */
export function sqliteStore(db: SqliteHandle): Required<KeyStore> {
  prepareHandle(db, 'sqliteStore');
  const isInProcess = isTemporary(db);
  // A command that only looks leaves the file unchanged.
  const isLeft = isOnlyLooking() && !isInProcess && !isCurrent(db);
  if (isLeft) return { ...REFUSING, isInProcess };
  makeDurable(db);
  migrateIfNeeded(db);
  return { ...createReads(prepareQueries(db), isText), ...createWrites(db), isInProcess };
}

function refuse(): never {
  throw new Error(NOT_MIGRATED);
}

/** Replaces a store whose tables must not be created. */
const REFUSING: Reads & Writes = {
  ...createReads(refuse, isText),
  insert: refuse,
  mark: refuse,
  touch: refuse,
};
