/** Deletes keys that ended long ago. */
import {
  type EndedKey,
  type Position,
  type PurgeOptions,
  purgeInBatches,
  readPurgeTimes,
} from '../purge.js';
import { openSession, type PostgresClient } from './client.js';
import { migrateIfNeeded } from './migrate.js';
import { createRunner, createSender } from './query.js';
import { FIRST_ID, readEnded } from './reads.js';

/**
 * Deletes the rows of keys that ended before a time, by revocation, retirement or expiry, whichever
 * came first. An audit log may then name keys that nobody can look up.
 *
 * A row stays if it was made or marked at that time or later. The first key of a chain of rotations
 * stays while a key of that chain, or one that was issued under it, has not ended. A row that
 * another transaction has locked is left for the next purge, so that nobody waits. Migrates first.
 *
 * Reads only keys that have ended, in the order in which they ended. Each batch is one transaction.
 * Any number of processes may purge at once: each row is deleted by one of them. If it throws, the
 * earlier batches stay deleted; call it again.
 *
 * Not checked: that the clocks of this process and of those that end keys agree. Backups and the
 * server's log keep the rows.
 *
 * @param client As for `postgresStore`. Its role also needs `DELETE` on `keyscope_keys` and
 *   `keyscope_addressing`, and `UPDATE (purge_before)` on `keyscope_schema`.
 * @param options `endedBefore`: the time.
 * @returns The ids of the keys whose rows were deleted.
 * @throws TypeError if `client` is not a supported client, or on an invalid option.
 * @throws Error as `migrate` does, and if PostgreSQL refuses.
 * @example
 * const year = 365 * 86_400_000;
 * const deleted = await purgeEnded(pool, { endedBefore: new Date(Date.now() - year) });
 */
export async function purgeEnded(
  client: PostgresClient,
  options: PurgeOptions,
): Promise<readonly string[]> {
  const session = openSession(client);
  const times = readPurgeTimes(options);
  const schema = await migrateIfNeeded(session);
  const run = createRunner(createSender(session, false, () => schema));
  const texts = [String(times.endedBefore), String(times.now)];

  async function findAfter({ endedAt, keyId }: Position): Promise<EndedKey[]> {
    const rows = await run('listEnded', ...texts, endedAt, keyId || FIRST_ID);
    return rows.map(readEnded);
  }

  async function deleteBatch(keyIds: readonly string[]): Promise<readonly string[]> {
    const [deleted] = await run('purge', ...texts, JSON.stringify(keyIds));
    return deleted as readonly string[];
  }

  return purgeInBatches(findAfter, deleteBatch);
}
