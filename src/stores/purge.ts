/** The parts of `purgeEnded` that all stores share. */
import { assert, readFields } from '../core/input.js';
import type { Awaitable } from '../core/store.js';
import { untilNextTurn } from '../core/thenable.js';
import { timeOf } from '../core/times.js';

/** The options of `purgeEnded`. */
export interface PurgeOptions {
  /**
   * Deletes only keys that were revoked, retired or expired before this time. Not in the future.
   */
  readonly endedBefore: Date;
}

/** The times that a purge uses, in milliseconds since the epoch. */
export interface PurgeTimes {
  readonly endedBefore: number;
  readonly now: number;
}

/** Validates the options. Throws a `TypeError` if `endedBefore` is not a past time. */
export function readPurgeTimes(options: PurgeOptions): PurgeTimes {
  const { endedBefore } = readFields(options, ['endedBefore'], 'purgeEnded');
  const instead = 'purgeEnded: endedBefore: pass a valid Date that is not in the future';
  const time = timeOf(endedBefore);
  const now = Date.now();
  // An invalid date is NaN, which makes the comparison false.
  assert(time <= now, instead);
  return { endedBefore: time, now };
}

/** A position in the order in which keys ended. An index has this order. */
export interface Position {
  /** When a key ended: an integer as text, because a damaged one may be beyond 2^53. */
  readonly endedAt: string;
  readonly keyId: string;
}

/** The position before every other: the smallest 64-bit integer. */
export const BEGINNING: Position = { endedAt: '-9223372036854775808', keyId: '' };

/** A key that has ended. */
export interface EndedKey extends Position {
  /** False while a key that depends on this one has not ended. */
  readonly isDue: boolean;
}

/** Returns the ids of the keys to delete. */
function dueOf(found: readonly EndedKey[]): string[] {
  return found.filter(({ isDue }) => isDue).map(({ keyId }) => keyId);
}

/**
 * Deletes batch after batch, and returns the ids of the deleted keys.
 *
 * @param findAfter Finds the next ended keys after a position; returns an empty list at the end.
 * @param deleteBatch Deletes those that are still due, and returns their ids.
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
    // Lets other work run, which a synchronous driver would otherwise keep waiting.
    await untilNextTurn();
  }
}
