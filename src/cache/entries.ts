/** Answered look-ups. Known keys go to the user's cache, unknown keys to a separate map. */
import { setBounded } from '../core/bounded.js';
import type { CacheSettings, LookupCache } from './cache-options.js';
import { type Answer, createEntry, type Entry, isYounger, type Question } from './entry.js';
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
  /** Returns the answer with this name if it is young enough and still correct. */
  recall(name: string): Answer | undefined;
  /** Returns the answer with this name if it may be used while the store fails. */
  recallStale(name: string): Answer | undefined;
  /** Keeps an answered entry, unless the entry already kept was sent later. */
  keep(entry: Entry): void;
}

/** Makes an empty set of entries. The user's cache may already hold entries of other caches. */
export function createEntries(settings: CacheSettings, changes: KnownChanges): Entries {
  const { maxStalenessMs, staleIfErrorMs, now } = settings;
  const owner = {};
  const entryMap = createEntryMap(settings.cache, owner);

  function open(question: Question): Entry {
    return createEntry(question, owner, now(), changes.generation);
  }

  function recall(name: string): Answer | undefined {
    const entry = entryMap.get(name);
    if (entry === undefined) return undefined;
    const limitMs = entry.record !== null ? maxStalenessMs : ABSENT_MS;
    const isYoung = isYounger(entry.since, limitMs, settings);
    if (isYoung && bringUpToDate(changes, entry)) return entry.answer;
    if (recallStale(name) === undefined) entryMap.delete(name);
    return undefined;
  }

  function recallStale(name: string): Answer | undefined {
    const entry = entryMap.get(name);
    if (entry === undefined || !holdsLiveKey(entry)) return undefined;
    const age = now() - entry.since;
    const isUsable = staleIfErrorMs > 0 && age >= 0 && age < changes.longestLifeMs;
    return isUsable && bringUpToDate(changes, entry) ? entry.answer : undefined;
  }

  function keep(entry: Entry): void {
    const kept = entryMap.get(entry.name);
    if (kept === undefined && entry.onlyReplaces) return;
    // A look-up that was sent later may be answered first; its answer is more recent.
    if (kept !== undefined && kept.since > entry.since) return;
    entryMap.delete(entry.name);
    entryMap.set(entry);
  }

  return { open, recall, recallStale, keep };
}

/** Entries by name. */
interface EntryMap {
  get(name: string): Entry | undefined;
  set(entry: Entry): void;
  delete(name: string): void;
}

/**
 * Keeps known keys in the user's cache, which may hold other caches' entries, and unknown keys
 * here.
 */
function createEntryMap(cache: LookupCache, owner: object): EntryMap {
  const absent = new Map<string, Entry>();
  return {
    get(name) {
      const entry = cache.get(name) as Entry | undefined;
      return entry?.owner === owner ? entry : absent.get(name);
    },
    set(entry) {
      if (entry.record !== null) cache.set(entry.name, entry);
      else setBounded(absent, entry.name, entry, MAX_ABSENT);
    },
    delete(name) {
      cache.delete(name);
      absent.delete(name);
    },
  };
}

/**
 * Checks whether an entry has a key that was neither revoked nor suspended when it was looked up.
 */
function holdsLiveKey({ record }: Entry): boolean {
  return record !== null && record.revokedAt === null && record.suspendedAt === null;
}
