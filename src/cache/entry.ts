/** The answer to one look-up, as the cache keeps it. */
import type { KeyRecord } from '../core/record.js';
import type { CacheSettings } from './cache-options.js';

/** The answer to a look-up: a list of at most one record. */
export type Rows = readonly KeyRecord[];

/** The answer to a look-up of an unknown key. */
export const NO_ROWS: Rows = Object.freeze([]);

/** The request for a look-up. */
export interface Question {
  /** The name of its entry in the user's cache. */
  readonly name: string;
  /** The digests, or the key id. A change to any of them outdates the answer. */
  readonly keys: readonly string[];
  /** The id of the key, if it is known before the answer. */
  readonly keyId: string | undefined;
}

/** A question and its answer. */
export interface Entry extends Question {
  /**
   * The cache that this entry belongs to. Caches may share one `LRUCache`, but do not see each
   * other's changes.
   */
  readonly owner: object;
  /** At most one record. Frozen, because every hit returns this same list. */
  rows: Rows;
  /** The time before the look-up was sent. */
  readonly since: number;
  /** The last generation in which the entry was known to be correct. */
  generation: number;
}

/**
 * Checks whether something that began at `since` is younger than both `limitMs` and
 * `maxStalenessMs`. Returns false if it began in the future or the clock does not return a number.
 */
export function isYounger(since: number, limitMs: number, settings: CacheSettings): boolean {
  const age = settings.now() - since;
  return age >= 0 && age < Math.min(limitMs, settings.maxStalenessMs);
}
