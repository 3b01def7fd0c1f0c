/** Answered look-ups: known keys are in the user's cache, unknown ones in a separate map. */
import type { CacheSettings, LookupCache } from './cache-options.js';
import { type Entry, isYounger, NO_ROWS, type Question } from './entry.js';
import { bringUpToDate, type KnownChanges } from './known-changes.js';

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
  open(question: Question): Entry;
  /** The entry of this name, if it is young enough and still correct. */
  recall(name: string): Entry | undefined;
  /** The entry of this name, if it may be used while the store fails. */
  recallStale(name: string): Entry | undefined;
  /** Keeps an answered entry, unless the kept one was sent later. */
  keep(entry: Entry): void;
  /** The same, but only if there is one to replace. */
  replace(entry: Entry): void;
}

/** Starts empty, although the user's cache may hold entries of other caches. */
export function createEntries(settings: CacheSettings, changes: KnownChanges): Entries {
  const { maxStalenessMs, staleIfErrorMs, now } = settings;
  const owner = {};
  const { find, drop, put } = createPlaces(settings.cache, owner);

  function open({ name, keys, keyId }: Question): Entry {
    const { generation } = changes;
    return { name, keys: [...keys], keyId, owner, rows: NO_ROWS, since: now(), generation };
  }

  function recall(name: string): Entry | undefined {
    const entry = find(name);
    if (entry === undefined) return undefined;
    const limitMs = entry.rows.length > 0 ? maxStalenessMs : ABSENT_MS;
    if (isYounger(entry.since, limitMs, settings) && bringUpToDate(changes, entry)) return entry;
    if (recallStale(name) === undefined) drop(name);
    return undefined;
  }

  function recallStale(name: string): Entry | undefined {
    const entry = find(name);
    if (entry === undefined || !holdsLiveKey(entry)) return undefined;
    const age = now() - entry.since;
    const isUsable = staleIfErrorMs > 0 && age >= 0 && age < changes.longestLifeMs;
    return isUsable && bringUpToDate(changes, entry) ? entry : undefined;
  }

  function keep(entry: Entry): void {
    // A look-up that was sent later but answered first is more recent.
    const kept = find(entry.name);
    if (kept !== undefined && kept.since > entry.since) return;
    drop(entry.name);
    put(entry);
  }

  function replace(entry: Entry): void {
    if (find(entry.name) !== undefined) keep(entry);
  }

  return { open, recall, recallStale, keep, replace };
}

/** Where entries are. */
interface Places {
  find(name: string): Entry | undefined;
  drop(name: string): void;
  put(entry: Entry): void;
}

/** Known keys are in the cache of the user, which may hold entries of others; unknown ones here. */
function createPlaces(cache: LookupCache, owner: object): Places {
  const absent = new Map<string, Entry>();
  return {
    find(name) {
      const entry = cache.get(name) as Entry | undefined;
      return entry?.owner === owner ? entry : absent.get(name);
    },
    drop(name) {
      cache.delete(name);
      absent.delete(name);
    },
    put(entry) {
      if (entry.rows.length > 0) cache.set(entry.name, entry);
      else setBounded(absent, entry.name, entry, MAX_ABSENT);
    },
  };
}

/** Adds to a map of at most `limit` entries; drops the oldest if it is full. */
export function setBounded<T>(map: Map<string, T>, name: string, entry: T, limit: number): void {
  map.set(name, entry);
  if (map.size <= limit) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/** Whether an entry has a key that was neither revoked nor suspended when it was looked up. */
function holdsLiveKey({ rows }: Entry): boolean {
  const record = rows[0];
  return record !== undefined && record.revokedAt === null && record.suspendedAt === null;
}
