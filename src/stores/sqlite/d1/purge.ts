/** Deletes the rows of keys that ended long ago. */
import {
  type EndedKey,
  type Position,
  type PurgeOptions,
  purgeInBatches,
  readPurgeTimes,
} from '../../purge.js';
import { dueAt, endedAfter, STATEMENTS, toEnded, toKeyId } from '../statements.js';
import type { D1Client } from './client.js';
import { assertClient, atPrimary, query } from './client.js';
import { migrate } from './migrate.js';

/**
 * Deletes the rows of keys that ended before a time: by revocation, by the end of their retirement
 * or by expiry, whichever came first. Rows that were created or changed at that time or later stay.
 * The first row of a chain of rotations stays while a key of the chain, or a key that was issued
 * under it, has not ended. Up to 500 rows are one transaction, and two requests to the database. If
 * it rejects, the deleted rows stay deleted; call it again.
 *
 * Run it as a scheduled job. It reads only keys that have ended, in the order in which they ended.
 * An audit can no longer look up what is deleted. Migrates first if necessary.
 *
 * Not checked: that nobody can restore the rows. Time Travel keeps them for up to 30 days.
 *
 * @param db As for `d1Store`.
 * @param options `endedBefore`: the time.
 * @returns The ids of the keys whose rows were deleted, in any order.
 * @throws TypeError if `db` is not a D1 binding; if `endedBefore` is not a valid `Date` or is in
 *   the future.
 * @throws Error as `migrate` does; if D1 throws.
 * @example
 * const twoYearsAgo = new Date(Date.now() - 2 * 365 * 86_400_000);
 * const deleted = await purgeEnded(env.DB, { endedBefore: twoYearsAgo });
 */
export async function purgeEnded(db: D1Client, options: PurgeOptions): Promise<readonly string[]> {
  assertClient(db);
  const times = readPurgeTimes(options);
  await migrate(db);

  async function findAfter(position: Position): Promise<EndedKey[]> {
    const rows = await query(db, STATEMENTS.findEnded, ...endedAfter(position, times));
    return rows.map(toEnded);
  }

  async function deleteBatch(ids: readonly string[]): Promise<string[]> {
    const session = atPrimary(db);
    const [, answer] = await session.batch([
      session.prepare(STATEMENTS.allowPurge).bind(times.endedBefore),
      session.prepare(STATEMENTS.purge).bind(JSON.stringify(ids), ...dueAt(times)),
      session.prepare(STATEMENTS.allowPurge).bind(null),
    ]);
    const { results } = answer as { readonly results: readonly unknown[] };
    return results.map(toKeyId);
  }

  return purgeInBatches(findAfter, deleteBatch);
}
