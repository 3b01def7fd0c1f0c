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
import { dueAt, endedAfter, STATEMENTS, toEnded, toKeyId } from './statements.js';
import { transaction } from './transactions.js';

/**
 * Deletes the rows of keys that ended before a time: by revocation, by the end of their retirement
 * or by expiry, whichever came first. Rows that were created or changed at that time or later stay.
 * The first row of a chain of rotations stays while a key of the chain, or a key that was issued
 * under it, has not ended. Up to 500 rows are one transaction. Between transactions, other work
 * runs, in this process too. If it rejects, the deleted rows stay deleted; call it again.
 *
 * It reads only keys that have ended, in the order in which they ended. An audit can no longer look
 * up what is deleted. Migrates first if necessary.
 *
 * Not checked: that the bytes are gone. SQLite keeps them in free pages until it needs those; run
 * VACUUM, or set `PRAGMA secure_delete = ON` on the handle beforehand.
 *
 * @param db As for `sqliteStore`.
 * @param options `endedBefore`: the time.
 * @returns The ids of the keys whose rows were deleted, in any order.
 * @throws TypeError as `sqliteStore` does; if `endedBefore` is not a valid `Date` or is in the
 *   future.
 * @throws Error as `migrate` does; if the driver throws.
 * @example
 * const twoYearsAgo = new Date(Date.now() - 2 * 365 * 86_400_000);
 * const deleted = await purgeEnded(new DatabaseSync('keys.db'), { endedBefore: twoYearsAgo });
 */
export async function purgeEnded(
  db: SqliteHandle,
  options: PurgeOptions,
): Promise<readonly string[]> {
  prepareHandle(db, 'purgeEnded');
  const times = readPurgeTimes(options);
  migrateIfNeeded(db);
  const find = db.prepare(inMain(STATEMENTS.findEnded));
  const allow = db.prepare(inMain(STATEMENTS.allowPurge));
  const purge = db.prepare(inMain(STATEMENTS.purge));

  // Searches outside the transaction, because reading blocks no writer.
  function findAfter(position: Position): EndedKey[] {
    return find.all(...endedAfter(position, times)).map(toEnded);
  }

  function deleteBatch(ids: readonly string[]): string[] {
    return transaction(db, () => {
      allow.run(times.endedBefore);
      const rows = purge.all(JSON.stringify(ids), ...dueAt(times));
      allow.run(null);
      return rows.map(toKeyId);
    });
  }

  return purgeInBatches(findAfter, deleteBatch);
}
