/** What a cache requires of a channel for changed keys: an interface without code. */
import type { Awaitable } from './store.js';

/**
 * How a process tells the others that a key has ended: Redis pub/sub, LISTEN and NOTIFY, or
 * anything similar. Carries only key ids, and may lose, repeat, delay and reorder them. Whoever can
 * publish can only make a process ask its database more often.
 */
export interface Invalidation {
  /**
   * Tells every process. It is not awaited, and its errors are dropped, so log them here.
   */
  publish(keyId: string): Awaitable<void>;
  /**
   * From now on, calls `listener` with each key id that another process publishes; its own may be
   * included. If it throws or rejects, it is called again alongside a later look-up, at most once a
   * second. Once it has succeeded, it has to keep the subscription up itself; what was missed while
   * it was down is bounded by `maxStalenessMs`.
   */
  subscribe(listener: (keyId: string) => void): Awaitable<unknown>;
}
