/** What `purgeEnded` of all stores have in common. */
import { assert, readFields } from '../core/input.js';
import type { Awaitable } from '../core/store.js';
import { nextTurn } from './query-slots.js';

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

/** A place in the order of ends, which an index has. */
export interface Position {
  /** When a key ended: an integer as text, because a damaged one may be beyond 2^53. */
  readonly endedAt: string;
  readonly keyId: string;
}

/** Before every other place: the smallest 64-bit integer. */
export const BEGINNING: Position = { endedAt: '-9223372036854775808', keyId: '' };

/** A key that has ended. */
export interface EndedKey extends Position {
  /** False as long as a key that has not ended follows from it. */
  readonly isDue: boolean;
}

/** The ids of the keys that are to be deleted. */
function dueOf(found: readonly EndedKey[]): string[] {
  return found.filter(({ isDue }) => isDue).map(({ keyId }) => keyId);
}

/**
 * Deletes batch after batch, and returns the ids of what was deleted.
 *
 * @param findAfter Finds some keys that have ended, of those behind a place; none at the end.
 * @param deleteBatch Deletes those that still are due, and returns their ids.
 */
export async function purgeInBatches(
  findAfter: (position: Position) => Awaitable<readonly EndedKey[]>,
  deleteBatch: (keyIds: readonly string[]) => Awaitable<readonly string[]>,
): Promise<readonly string[]> {
  const deleted: string[] = [];
  let position = BEGINNING;
  for (;;) {
    const found = await findAfter(position);
    const last = found.at(-1);
    if (last === undefined) return deleted;
    const due = dueOf(found);
    if (due.length > 0) deleted.push(...(await deleteBatch(due)));
    position = last;
    // A synchronous driver would keep everybody waiting.
    await new Promise<void>((resolve) => nextTurn(resolve));
  }
}
