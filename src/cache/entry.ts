/** The answer to one look-up, as the cache keeps it. */
import type { KeyRecord } from '../core/record.js';
import type { CacheSettings } from './cache-options.js';

/** The answer by digest: a list of at most one record. */
export type Rows = readonly KeyRecord[];

/** The answer by digest, or by key id. */
export type Answer = Rows | KeyRecord | null;

const NO_ROWS: Rows = Object.freeze([]);

/** The part of a look-up that its entry keeps. */
export interface Question {
  /** The name of its entry in the user's cache. */
  readonly name: string;
  /** The digests, or the key id. A change to any of them outdates the answer. */
  readonly keys: readonly string[];
  /** The key id, if the look-up is by id. */
  readonly keyId: string | undefined;
  /** Whether the answer may only replace an entry, and not add one. */
  readonly onlyReplaces: boolean;
}

/** A question and its answer. */
export interface Entry extends Question {
  /**
   * The cache that this entry belongs to. Caches may share one `LRUCache`, but do not see each
   * other's changes.
   */
  readonly owner: object;
  /** The record that was found, frozen; null if there is none, or no answer yet. */
  record: KeyRecord | null;
  /** The same in the form that the look-up returns. Frozen, because every hit returns it. */
  answer: Answer;
  /** The time before the look-up was sent. */
  readonly since: number;
  /** The last generation in which the entry was known to be correct. */
  generation: number;
}

/** Makes an entry without an answer. */
export function createEntry(
  { name, keys, keyId, onlyReplaces }: Question,
  owner: object,
  since: number,
  generation: number,
): Entry {
  const question = { name, keys: [...keys], keyId, onlyReplaces };
  return { ...question, owner, record: null, answer: null, since, generation };
}

/** Sets the record of an entry, and its answer. */
export function setRecord(entry: Entry, record: KeyRecord | null): void {
  entry.record = record;
  if (entry.keyId !== undefined) entry.answer = record;
  else entry.answer = record === null ? NO_ROWS : Object.freeze([record]);
}

/**
 * Checks whether something that began at `since` is younger than both `limitMs` and
 * `maxStalenessMs`. Returns false if it began in the future or the clock does not return a number.
 */
export function isYounger(since: number, limitMs: number, settings: CacheSettings): boolean {
  const age = settings.now() - since;
  return age >= 0 && age < Math.min(limitMs, settings.maxStalenessMs);
}
