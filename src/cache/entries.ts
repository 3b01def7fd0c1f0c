/** Answered look-ups. Known keys go to the user's cache, unknown keys to a separate map. */
import type { CacheSettings, LookupCache } from './cache-options.js';
import { type Entry, isYounger, NO_ROWS, type Question } from './entry.js';
import { bringUpToDate, type KnownChanges } from './known-changes.js';

/**
 * How long "no such key" is trusted, in milliseconds. A key created by another process works after
 * that.
 */
const ABSENT_MS = 5_000;

/**
 * How many unknown keys are remembered. They have their own map, so that guessed keys evict only
 * guessed keys.
 */
const MAX_ABSENT = 1_024;

/** The answered look-ups, by name. */
export interface Entries {
  /** Makes an entry without an answer. Its age, and the changes that outdate it, count from now. */
  open(question: Question): Entry;
  /** Returns the entry with this name if it is young enough and still correct. */
  recall(name: string): Entry | undefined;
  /** Returns the entry with this name if it may be used while the store fails. */
  recallStale(name: string): Entry | undefined;
  /** Keeps an answered entry, unless the entry already kept was sent later. */
  keep(entry: Entry): void;
  /** Does the same, but only if there is an entry to replace. */
  replace(entry: Entry): void;
}

/** Makes an empty set of entries. The user's cache may already hold entries of other caches. */
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
    // A look-up that was sent later may be answered first; its answer is more recent.
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

/** Finds, drops and stores entries in the right place. */
interface Places {
  find(name: string): Entry | undefined;
  drop(name: string): void;
  put(entry: Entry): void;
}

/**
 * Keeps known keys in the user's cache, which may hold other caches' entries, and unknown keys
 * here.
 */
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

/** Adds to a map, and drops the oldest entry if there are more than `limit`. */
export function setBounded<T>(map: Map<string, T>, name: string, entry: T, limit: number): void {
  map.set(name, entry);
  if (map.size <= limit) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}

/**
 * Checks whether an entry has a key that was neither revoked nor suspended when it was looked up.
 */
function holdsLiveKey({ rows }: Entry): boolean {
  const record = rows[0];
  return record !== undefined && record.revokedAt === null && record.suspendedAt === null;
}
