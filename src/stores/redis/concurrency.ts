/** How many commands are sent at once. */
import type { Link } from './link.js';

/**
 * At most this many commands are sent at once, so that a request behind them waits at most some
 * milliseconds.
 */
export const MAX_AT_ONCE = 500;

/** A link that sends at most so many at once, and the others in the order in which they came. */
export function limitConcurrency(link: Link): Link {
  const waiting: (() => void)[] = [];
  let free = MAX_AT_ONCE;

  async function takeTurn(): Promise<void> {
    if (free === 0) return new Promise((resolve) => waiting.push(resolve));
    free -= 1;
  }

  /** Hands the turn to the next that waits; nobody else can take it in between. */
  function endTurn(): void {
    const next = waiting.shift();
    if (next === undefined) free += 1;
    else next();
  }

  return {
    ...link,
    async send(key, command) {
      await takeTurn();
      try {
        return await link.send(key, command);
      } finally {
        endTurn();
      }
    },
  };
}

/**
 * Applies `act` to each of `all`, part by part, and throws the first error at the end. One that
 * fails keeps no other from its turn; if all of a part fail, the server is away, and the rest is
 * left.
 */
export async function forEachInParts<T>(
  all: readonly T[],
  act: (each: T) => Promise<unknown>,
): Promise<void> {
  const errors: unknown[] = [];
  for (let from = 0; from < all.length; from += MAX_AT_ONCE) {
    const part = all.slice(from, from + MAX_AT_ONCE);
    const failed = await failuresOf(part, act);
    errors.push(...failed);
    if (failed.length === part.length) break;
  }
  if (errors.length > 0) throw errors[0];
}

async function failuresOf<T>(
  part: readonly T[],
  act: (each: T) => Promise<unknown>,
): Promise<unknown[]> {
  const results = await Promise.allSettled(part.map(act));
  const failed = results.filter((result) => result.status === 'rejected');
  return failed.map((result): unknown => result.reason);
}
