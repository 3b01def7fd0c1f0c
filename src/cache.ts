/** Look-ups kept in memory for a bounded time, so that most requests ask no database. */
import type { Awaitable } from './store.js';

/**
 * How one process tells the others that a key has ended: Redis pub/sub, LISTEN and NOTIFY, or anything alike. Carries
 * key ids and nothing else. May lose, repeat, delay and reorder what it carries.
 */
export interface Invalidation {
  /** Tells every process; what becomes of it is not waited for. */
  publish(keyId: string): Awaitable<void>;
  /** Calls `listener` with each key id that another process published, from now on. */
  subscribe(listener: (keyId: string) => void): Awaitable<unknown>;
}
