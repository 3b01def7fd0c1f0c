/** Deletes the rows of keys that ended long ago. */
import {
  type EndedKey,
  type Position,
  type PurgeOptions,
  purgeInBatches,
  readPurgeTimes,
} from '../purge.js';
import type { SqliteHandle } from './client.js';
import { inMain, prepareHandle } from './client.js';
import { migrateIfNeeded } from './migrate.js';
import { endedAfter, STATEMENTS, toEnded, toKeyId } from './statements.js';
import { transaction } from './transactions.js';

/**
 * Deletes the rows of keys that ended before a time: by revocation, by the end of their retirement
 * or by expiry, whichever came first. Keeps the row of a key that was rotated to one that has not
 * ended before that time, or on whose authority such a one was issued. Up to 500 rows are one
 * transaction; others get their turn in between, in this process too. If it rejects, what was
 * deleted stays deleted; call it again.
 *
 * It reads the keys that have ended, in the order in which they did, and no others. What is deleted
 * cannot be looked up in an audit any more. Migrates first if need be.
 *
 * Not checked: that the bytes are gone. SQLite keeps them in free pages until it needs those; run
 * VACUUM, or set `PRAGMA secure_delete = ON` on the handle beforehand.
 *
 * @param db As for `sqliteStore`.
 * @param options Up to when.
 * @returns The ids of the keys whose rows were deleted, in their order.
 * @throws TypeError as `sqliteStore` does; if `endedBefore` is no valid `Date` or in the future.
 * @throws Error as `migrate` does; whatever the driver throws.
 * @example
 * const twoYearsAgo = new Date(Date.now() - 2 * 365 * 86_400_000);
 * const deleted = await purgeEnded(new DatabaseSync('keys.db'), { endedBefore: twoYearsAgo });
 */
export async function purgeEnded(
  db: SqliteHandle,
  options: PurgeOptions,
): Promise<readonly string[]> {
  prepareHandle(db, 'purgeEnded');
  const { endedBefore } = readPurgeTimes(options);
  migrateIfNeeded(db);
  const find = db.prepare(inMain(STATEMENTS.findEnded));
  const allow = db.prepare(inMain(STATEMENTS.allowPurge));
  const purge = db.prepare(inMain(STATEMENTS.purge));

  // They are found outside the transaction: reading keeps nobody from writing.
  function findAfter(position: Position): EndedKey[] {
    return find.all(...endedAfter(position, endedBefore)).map(toEnded);
  }

  function deleteBatch(ids: readonly string[]): string[] {
    return transaction(db, () => {
      allow.run(endedBefore);
      const rows = purge.all(JSON.stringify(ids), endedBefore, endedBefore, endedBefore);
      allow.run(null);
      return rows.map(toKeyId);
    });
  }

  return purgeInBatches(findAfter, deleteBatch);
}
