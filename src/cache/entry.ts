/** The answer to one look-up, as the cache keeps it. */
import { type KeyRecord, readRecord, type Usage } from '../core/record.js';
import { mergeUsage } from '../core/usage.js';
import type { CacheSettings } from './options.js';

/** What a look-up answers: the records of some digests. */
export type Rows = readonly KeyRecord[];

/** The answer to a look-up of an unknown key. */
export const NO_ROWS: Rows = Object.freeze([]);

/** The answer to one look-up: a record, or none. */
export interface Entry {
  /**
   * The cache that it belongs to: caches may share one `LRUCache`, but do not know each other's
   * changes.
   */
  readonly owner: object;
  readonly digests: readonly string[];
  /** Of at most one record, and frozen: a hit answers this very list. */
  rows: Rows;
  /** The time before the look-up was sent. */
  readonly since: number;
  /** The last change up to which it is known to be correct. */
  generation: number;
}

/**
 * Whether what began at `since` is younger than `limitMs` and than `maxStalenessMs`. What began in
 * the future is not, nor is anything if the clock returns no number.
 */
export function isYounger(since: number, limitMs: number, settings: CacheSettings): boolean {
  const age = settings.now() - since;
  return age >= 0 && age < Math.min(limitMs, settings.maxStalenessMs);
}

/**
 * Moves the usage in an entry forward. `false`, and nothing changed, if the usage is malformed, so
 * that the merged record would be.
 */
export function mergeEntryUsage(entry: Entry, record: KeyRecord, usage: Usage): boolean {
  const merged = readRecord({ ...record, ...mergeUsage(record, usage) });
  if (merged === null) return false;
  entry.rows = Object.freeze([merged]);
  return true;
}
