/** Deletes the rows of keys that ended long ago. */
import {
  type EndedKey,
  type Position,
  type PurgeOptions,
  purgeInBatches,
  readPurgeTimes,
} from '../../purge.js';
import { endedAfter, STATEMENTS, toEnded, toKeyId } from '../statements.js';
import type { D1Client } from './client.js';
import { assertClient, atPrimary, query } from './client.js';
import { migrate } from './migrate.js';

/**
 * Deletes the rows of keys that ended before a time: by revocation, by the end of their retirement
 * or by expiry, whichever came first. Keeps the row of a key that was rotated to one that has not
 * ended before that time. Up to 500 rows are one transaction, and two requests to the database. If
 * it rejects, what was deleted stays deleted; call it again.
 *
 * For a scheduled job. It reads the keys that have ended, in the order in which they did, and no
 * others. What is deleted cannot be looked up in an audit any more. Migrates first if need be.
 *
 * Not checked: that nobody can restore the rows. Time Travel keeps them for up to 30 days.
 *
 * @param db As for `d1Store`.
 * @param options Up to when.
 * @returns The ids of the keys whose rows were deleted, in their order.
 * @throws TypeError if `db` is not a D1 binding; if `endedBefore` is no valid `Date` or in the
 *   future.
 * @throws Error as `migrate` does; whatever D1 throws.
 * @example
 * const twoYearsAgo = new Date(Date.now() - 2 * 365 * 86_400_000);
 * const deleted = await purgeEnded(env.DB, { endedBefore: twoYearsAgo });
 */
export async function purgeEnded(db: D1Client, options: PurgeOptions): Promise<readonly string[]> {
  assertClient(db);
  const { endedBefore } = readPurgeTimes(options);
  await migrate(db);

  async function findAfter(position: Position): Promise<EndedKey[]> {
    const rows = await query(db, STATEMENTS.findEnded, ...endedAfter(position, endedBefore));
    return rows.map(toEnded);
  }

  async function deleteBatch(ids: readonly string[]): Promise<string[]> {
    const session = atPrimary(db);
    const [, answer] = await session.batch([
      session.prepare(STATEMENTS.allowPurge).bind(endedBefore),
      session
        .prepare(STATEMENTS.purge)
        .bind(JSON.stringify(ids), endedBefore, endedBefore, endedBefore),
      session.prepare(STATEMENTS.allowPurge).bind(null),
    ]);
    const { results } = answer as { readonly results: readonly unknown[] };
    return results.map(toKeyId);
  }

  return purgeInBatches(findAfter, deleteBatch);
}
