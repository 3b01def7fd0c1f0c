/**
 * The changes that this process knows of.
 *
 * Each change increments the generation. An entry stores the generation in which its look-up was
 * sent, and is outdated if its key or one of its digests changed later. This also covers look-ups
 * in progress, and no entry has to be searched for and removed.
 */
import { type Usage, withUsage } from '../core/record.js';
import { mergeUsage } from '../core/usage.js';
import type { CacheSettings } from './cache-options.js';
import { type Entry, setRecord } from './entry.js';

/**
 * The cache remembers at least this many changes, in about 2 MB, if that many happen within the
 * longest life of an entry. Each cache draws its own limit, up to twice as high: all processes
 * receive the same messages, and would otherwise reach the limit with the same one.
 */
const MIN_CHANGES = 10_000;

/**
 * How many keys' usage is remembered, in about 10 MB (more if they use many scopes). The next key
 * clears all of it.
 */
const MAX_USED = 10_000;

/** The last change to one name. */
interface Change {
  readonly generation: number;
  /** When it was added. */
  readonly at: number;
}

/** The recorded usage of one key. */
interface RecordedUsage extends Change {
  readonly usage: Usage;
}

/** The changes and the usage that this process knows of. */
export interface KnownChanges {
  /** Counts changes and usage so far. */
  generation: number;
  /** The generation of the last change. Usage increments the generation, but is not a change. */
  lastChange: number;
  /** Entries of an earlier generation are outdated, whatever they hold. */
  oldestValid: number;
  /** The last change to each key id or digest, oldest first. */
  readonly changed: Map<string, Change>;
  /** The most changes to remember. Drawn when first needed. */
  maxChanges: number | undefined;
  /**
   * The recorded usage of each key id, oldest first. It is merged into entries: if usage counted as
   * a change, every key in use would be looked up again after every batch.
   */
  readonly used: Map<string, RecordedUsage>;
  /**
   * The longest life of an entry, in milliseconds. Changes older than that no longer matter and are
   * dropped.
   */
  readonly longestLifeMs: number;
  readonly now: () => number;
}

/** Starts with no changes. */
export function createKnownChanges(settings: CacheSettings): KnownChanges {
  const { maxStalenessMs, staleIfErrorMs, now } = settings;
  return {
    generation: 0,
    lastChange: 0,
    oldestValid: 0,
    changed: new Map(),
    maxChanges: undefined,
    used: new Map(),
    longestLifeMs: maxStalenessMs + staleIfErrorMs,
    now,
  };
}

// ── Recording changes ────────────────────────────────────────────────────────────────────────────

/** Outdates every entry of a key id or a digest, including look-ups in progress. */
export function outdate(changes: KnownChanges, name: string): void {
  const at = changes.now();
  changes.generation += 1;
  changes.lastChange = changes.generation;
  // Deleted first, so that it moves to the end.
  changes.changed.delete(name);
  changes.changed.set(name, { generation: changes.generation, at });
  // The next look-up returns its usage, and usage reported before the key was created is void.
  changes.used.delete(name);
  forgetOldest(changes, at);
}

/** Outdates every entry. */
export function outdateAll(changes: KnownChanges): void {
  changes.generation += 1;
  changes.lastChange = changes.generation;
  changes.oldestValid = changes.generation;
  changes.changed.clear();
}

/**
 * Drops changes that are older than any entry can be and, in a storm of changes, the oldest of the
 * rest. Entries that were last confirmed before a dropped change are outdated. Normally they have
 * expired by then. In a storm, each of them is looked up again at its next use, so keys in use stay
 * cached.
 */
function forgetOldest(changes: KnownChanges, now: number): void {
  for (const [name, change] of changes.changed) {
    const isOver = now - change.at >= changes.longestLifeMs;
    if (!isOver && !isFull(changes)) return;
    changes.changed.delete(name);
    changes.oldestValid = change.generation;
  }
}

function isFull(changes: KnownChanges): boolean {
  if (changes.changed.size <= MIN_CHANGES) return false;
  changes.maxChanges ??= MIN_CHANGES + Math.floor(Math.random() * MIN_CHANGES);
  return changes.changed.size > changes.maxChanges;
}

/**
 * Remembers usage that was recorded for a key. Outdates nothing: no decision depends on usage, and
 * the next look-up returns it.
 */
export function addUsage(changes: KnownChanges, keyId: string, usage: Usage): void {
  const { used } = changes;
  if (used.size >= MAX_USED) used.clear();
  const at = changes.now();
  const merged = mergeUsage(used.get(keyId)?.usage, usage);
  changes.generation += 1;
  // Deleted first, so that it moves to the end.
  used.delete(keyId);
  used.set(keyId, { usage: merged, generation: changes.generation, at });
  for (const [oldest, recorded] of used) {
    // Any live entry was looked up later than this, so it already includes this usage.
    if (recorded.at > at - changes.longestLifeMs) return;
    used.delete(oldest);
  }
}

// ── Updating entries ─────────────────────────────────────────────────────────────────────────────

/** Checks whether an entry is still correct. If so, merges its key's usage into it. */
export function bringUpToDate(changes: KnownChanges, entry: Entry): boolean {
  // Most hits end here: nothing has changed since the last one.
  if (entry.generation === changes.generation) return true;
  if (isOutdated(changes, entry)) return false;
  const { record } = entry;
  const recorded = record && changes.used.get(record.keyId);
  if (record && recorded && recorded.generation > entry.generation) {
    const merged = withUsage(record, mergeUsage(record, recorded.usage));
    // Malformed usage would make the merged record malformed, too.
    if (merged === null) return false;
    setRecord(entry, merged);
  }
  entry.generation = changes.generation;
  return true;
}

/** Checks whether a change since the entry was opened may be missing from its answer. */
export function mayOutdate(changes: KnownChanges, entry: Entry): boolean {
  if (entry.generation >= changes.lastChange) return false;
  // Before the answer, the key behind a digest is unknown: it may be any key that has changed.
  return entry.keyId === undefined || isOutdated(changes, entry);
}

function isOutdated(changes: KnownChanges, entry: Entry): boolean {
  if (entry.generation < changes.oldestValid) return true;
  const { record } = entry;
  if (record !== null && hasChanged(changes, record.keyId, entry)) return true;
  return entry.keys.some((key) => hasChanged(changes, key, entry));
}

function hasChanged(changes: KnownChanges, name: string, entry: Entry): boolean {
  const changedIn = changes.changed.get(name)?.generation;
  return changedIn !== undefined && changedIn > entry.generation;
}
