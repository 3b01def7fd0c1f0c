/** What a cache requires of a channel for changed keys: an interface without code. */
import type { Awaitable } from './store.js';

/**
 * How a process tells the others that a key has ended: Redis pub/sub, LISTEN and NOTIFY, or
 * anything similar. Carries only key ids, and beats, which have the form of one and are none; may
 * lose, repeat, delay and reorder them. Whoever can publish can only make a process ask its
 * database more often.
 */
export interface Invalidation {
  /**
   * Tells every process. It is not awaited: what it throws or rejects with fails no call, and is
   * told to the `onError` of `cacheStore` alone, as is that of `subscribe`.
   */
  publish(keyId: string): Awaitable<void>;
  /**
   * From now on, calls `listener` with each message that any process publishes, its own included:
   * by its own beat, a cache finds out whether the channel works. If it throws or rejects, it is
   * called again alongside a later look-up, at most once a second. Once it has succeeded, it has to
   * keep the subscription up itself; what was missed while it was down is bounded by
   * `maxStalenessMs`.
   */
  subscribe(listener: (keyId: string) => void): Awaitable<unknown>;
}
