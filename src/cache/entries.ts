/** Answered look-ups: known keys in the user's cache, unknown ones apart. */
import { setBounded } from './bounded-map.js';
import type { Changes } from './changes.js';
import { type Entry, isYounger, NO_ROWS } from './entry.js';
import type { CacheSettings } from './options.js';

/**
 * How long "no such key" is trusted, in milliseconds; after that, a key that was made elsewhere
 * works.
 */
const ABSENT_MS = 5_000;

/**
 * How many look-ups of unknown keys are remembered, apart from the known keys: a guess evicts only
 * guesses.
 */
const MAX_ABSENT = 1_024;

/** The look-ups that have been answered, by name. */
export interface Entries {
  /** A new entry, without an answer. Its age, and the changes that it may miss, count from now. */
  open(digests: readonly string[]): Entry;
  /** The entry of this name, if it is young enough and still correct. */
  recall(name: string): Entry | undefined;
  /** Keeps an entry that has its answer, unless one is kept that was sent later. */
  keep(name: string, entry: Entry): void;
}

/** Starts with no entries, except that the user's cache may hold those of other caches. */
export function createEntries(settings: CacheSettings, changes: Changes): Entries {
  const { cache, maxStalenessMs, now } = settings;
  const owner = {};
  const absent = new Map<string, Entry>();

  function open(digests: readonly string[]): Entry {
    const generation = changes.generation();
    return { owner, digests: [...digests], rows: NO_ROWS, since: now(), generation };
  }

  function find(name: string): Entry | undefined {
    const entry = cache.get(name) as Entry | undefined;
    return entry?.owner === owner ? entry : absent.get(name);
  }

  function drop(name: string): void {
    cache.delete(name);
    absent.delete(name);
  }

  function recall(name: string): Entry | undefined {
    const entry = find(name);
    if (entry === undefined) return undefined;
    const limitMs = entry.rows.length > 0 ? maxStalenessMs : ABSENT_MS;
    if (isYounger(entry.since, limitMs, settings) && changes.update(entry)) return entry;
    drop(name);
    return undefined;
  }

  function keep(name: string, entry: Entry): void {
    // A look-up that was sent later but answered sooner knows more.
    const kept = find(name);
    if (kept !== undefined && kept.since > entry.since) return;
    drop(name);
    if (entry.rows.length > 0) cache.set(name, entry);
    else setBounded(absent, name, entry, MAX_ABSENT);
  }

  return { open, recall, keep };
}
