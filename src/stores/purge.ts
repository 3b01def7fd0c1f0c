/** What `purgeEnded` of all stores have in common. */
import { assert, readFields } from '../core/input.js';

/** Which keys `purgeEnded` deletes. */
export interface PurgeOptions {
  /** Only keys that were revoked, retired or expired before this time. Not in the future. */
  readonly endedBefore: Date;
}

/** The times that a purge goes by, in milliseconds since the epoch. */
export interface PurgeTimes {
  readonly endedBefore: number;
  readonly now: number;
}

/** Reads the time before which keys must have ended. Throws a `TypeError` if it is none. */
export function readPurgeTimes(options: PurgeOptions): PurgeTimes {
  const { endedBefore } = readFields(options, ['endedBefore'], 'purgeEnded');
  return toPurgeTimes(endedBefore);
}

/** The same for a store with further options. */
export function toPurgeTimes(endedBefore: unknown): PurgeTimes {
  const instead = 'purgeEnded: endedBefore: pass a valid Date that is not in the future';
  assert(endedBefore instanceof Date, instead);
  const time = new Date(endedBefore).getTime();
  const now = Date.now();
  // NaN if the date is invalid, and then the comparison is false.
  assert(time <= now, instead);
  return { endedBefore: time, now };
}

/**
 * Deletes batch after batch, in the order of key ids, and returns the ids of what was deleted.
 *
 * @param findAfter Finds some keys that are due, of those behind a key id; none at the end.
 * @param deleteBatch Deletes those that still are, and returns their ids.
 */
export async function purgeInBatches(
  findAfter: (keyId: string) => Promise<readonly string[]>,
  deleteBatch: (keyIds: readonly string[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const deleted: string[] = [];
  let found = await findAfter('');
  while (found.length > 0) {
    deleted.push(...(await deleteBatch(found)));
    found = await findAfter(found.at(-1) ?? '');
  }
  return deleted;
}
