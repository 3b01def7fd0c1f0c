/** Deletes keys that ended long ago. */
import { readFields, readInteger } from '../../core/input.js';
import {
  type EndedKey,
  type Position,
  type PurgeTimes,
  purgeInBatches,
  toPurgeTimes,
} from '../purge.js';
import { openSession, type PostgresClient } from './client.js';
import { isUnknownFunction } from './errors.js';
import { migrateIfNeeded } from './migrate.js';
import { createRunner, createSender, type RunStatement } from './query.js';
import { FIRST_ID, readEnded } from './reads.js';

/** The options of `purgeEnded`. */
export interface PurgeOptions {
  /**
   * Deletes only keys that were revoked, retired or expired before this time. Not in the future.
   */
  readonly endedBefore: Date;
  /** The most keys to read, and to delete in one transaction: 1 to 10,000. Default: 1,000. */
  readonly batchSize?: number | undefined;
}

/** The options after validation. */
interface Purge extends PurgeTimes {
  readonly batchSize: number;
}

/**
 * Deletes the rows of keys that ended before a time, by revocation, retirement or expiry, whichever
 * came first. An audit log may then name keys that nobody can look up.
 *
 * The row of a key stays while the key that replaced it has not ended. A row that another
 * transaction has locked is left for the next purge, so that nobody waits. Migrates first.
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
 * @param options `endedBefore`: the time. `batchSize`: how many rows a transaction deletes.
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
  const purge = readPurge(options);
  const schema = await migrateIfNeeded(session);
  return deleteInBatches(createRunner(createSender(session, false, () => schema)), purge);
}

function readPurge(options: PurgeOptions): Purge {
  const given = readFields(options, ['endedBefore', 'batchSize'], 'purgeEnded');
  const { endedBefore, batchSize = 1000 } = given;
  const times = toPurgeTimes(endedBefore);
  const size = readInteger(batchSize, 1, 10_000, 'purgeEnded: batchSize');
  return { ...times, batchSize: size };
}

function deleteInBatches(
  run: RunStatement,
  { endedBefore, now, batchSize }: Purge,
): Promise<readonly string[]> {
  const times = [String(endedBefore), String(now)];

  async function findAfter({ endedAt, keyId }: Position): Promise<EndedKey[]> {
    const position = [endedAt, keyId || FIRST_ID];
    const rows = await run('listEnded', ...times, ...position, String(batchSize));
    return rows.map(readEnded);
  }

  async function deleteBatch(keyIds: readonly string[]): Promise<readonly string[]> {
    const [deleted] = await purgeBatch(run, [...times, JSON.stringify(keyIds)]);
    return deleted as readonly string[];
  }

  return purgeInBatches(findAfter, deleteBatch);
}

/** Calls the function that belongs to the triggers, or if it does not exist deletes without it. */
async function purgeBatch(
  run: RunStatement,
  values: readonly string[],
): Promise<readonly unknown[]> {
  try {
    return await run('purge', ...values);
  } catch (error) {
    if (!isUnknownFunction(error)) throw error;
    return run('purgeUnguarded', ...values);
  }
}
