/** Limits how many commands are sent at once. */
import { createSlots } from '../../core/slots.js';
import { untilNextTurn } from '../../core/thenable.js';
import { HANGS_AFTER_MS } from '../look-ups.js';
import type { Link } from './client.js';

/**
 * The most commands to send at once, so that a request behind them waits only a few milliseconds.
 */
export const MAX_AT_ONCE = 500;

/** Makes a link that sends at most that many commands at once, and queues the others in order. */
export function limitConcurrency(link: Link): Link {
  const slots = createSlots(MAX_AT_ONCE);
  return { ...link, send: (key, command) => slots.take(() => link.send(key, command)) };
}

/**
 * Makes the link of each look-up. At most {@link MAX_AT_ONCE} of their commands are sent at once,
 * and the next one never in the turn that has read an answer. Otherwise answers keep coming while
 * they are read, and block the event loop until all have arrived. A command is not sent if its
 * caller has given up.
 */
export function createLookUpLinks(link: Link): (signal: AbortSignal | undefined) => Link {
  const slots = createSlots(MAX_AT_ONCE, HANGS_AFTER_MS);
  return (signal) => ({
    ...link,
    send: (key, command) =>
      new Promise((resolve, reject) => {
        async function send(): Promise<void> {
          try {
            signal?.throwIfAborted();
            resolve(await link.send(key, command));
          } catch (error) {
            reject(error as Error);
          }
          await untilNextTurn();
        }
        void slots.take(send);
      }),
  });
}

/**
 * Applies `act` to each of `all`, part by part, and throws the first error at the end. After an
 * error the others still run. If a whole part fails, the server is down, and the rest is skipped.
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
