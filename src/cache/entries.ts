/** Answered look-ups: known keys are in the user's cache, unknown ones in a separate map. */
import { setBounded } from './bounded-map.js';
import type { Changes } from './changes.js';
import { type Entry, isYounger, NO_ROWS } from './entry.js';
import type { CacheSettings } from './options.js';

/**
 * How long "no such key" is trusted, in milliseconds. A key that another process has made works
 * after that.
 */
const ABSENT_MS = 5_000;

/**
 * How many look-ups of unknown keys are remembered. They are kept apart from known keys, so that
 * guessed keys evict only guessed keys.
 */
const MAX_ABSENT = 1_024;

/** The look-ups that have been answered, by name. */
export interface Entries {
  /** Opens an entry without an answer. Its age and the changes that outdate it count from now. */
  open(digests: readonly string[]): Entry;
  /** The entry of this name, if it is young enough and still correct. */
  recall(name: string): Entry | undefined;
  /** Keeps an answered entry, unless the kept one was sent later. */
  keep(name: string, entry: Entry): void;
}

/** Starts empty, although the user's cache may hold entries of other caches. */
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
    // A look-up that was sent later but answered first is more recent.
    const kept = find(name);
    if (kept !== undefined && kept.since > entry.since) return;
    drop(name);
    if (entry.rows.length > 0) cache.set(name, entry);
    else setBounded(absent, name, entry, MAX_ABSENT);
  }

  return { open, recall, keep };
}
