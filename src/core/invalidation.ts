/** The channel over which caches and open streams learn of changed keys. */
import type { Awaitable } from './store.js';

/**
 * A channel that announces ended keys to all processes: Redis pub/sub, LISTEN and NOTIFY, or
 * anything similar. It carries key ids, and beats, which look like key ids but name no key. It may
 * lose, repeat, delay and reorder them. Anyone who can publish can only make a process query its
 * database more often.
 */
export interface Invalidation {
  /**
   * Sends a message to every process. Nothing awaits it. If it throws or rejects, no call fails;
   * only the `onError` of `cacheStore` gets the error. The same holds for `subscribe`.
   */
  publish(keyId: string): Awaitable<void>;
  /**
   * Starts calling `listener` with each message that any process publishes, including this one: a
   * cache uses its own beat to find out whether the channel works. If `subscribe` throws or
   * rejects, the cache calls it again alongside a later look-up, at most once a second. After it
   * has succeeded, the implementation must keep the subscription alive. `maxStalenessMs` bounds the
   * effect of messages missed while it was down.
   */
  subscribe(listener: (keyId: string) => void): Awaitable<unknown>;
}

/** How long to wait before retrying a failed subscription, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Makes a function that subscribes at the time it is given, in milliseconds. Call it as often as
 * you like: it does nothing while `subscribe` runs, after it has succeeded, and within a second of
 * an attempt that failed.
 *
 * @param onError Called if `subscribe` throws or rejects. Never throws.
 */
export function createSubscription(
  subscribe: () => Awaitable<unknown>,
  onError: (error: unknown) => void,
): (time: number) => Promise<void> {
  let retryAt = Number.NEGATIVE_INFINITY;
  return async (time) => {
    const isDue = time >= retryAt;
    if (!isDue) return;
    retryAt = Number.POSITIVE_INFINITY;
    try {
      await subscribe();
    } catch (error) {
      retryAt = time + RETRY_MS;
      onError(error);
    }
  };
}
