/**
 * What has changed since a look-up was sent, as far as this process knows.
 *
 * Each change increments the generation. An entry knows the generation in which its look-up was
 * sent, and is outdated once a change of its key, or of one of its digests, is newer. This covers
 * look-ups in progress too, and nothing needs to be searched for and removed.
 */
import { readRecord, type Usage } from '../core/record.js';
import { mergeUsage } from '../core/usage.js';
import type { CacheSettings } from './cache-options.js';
import type { Entry } from './entry.js';

/**
 * At least this many changes are remembered, in about 2 MB, if as many happen within the longest
 * life of an entry. Each cache draws its own bound, up to twice as many: all processes hear the
 * same messages, and would otherwise reach it with the same one.
 */
const MIN_CHANGES = 10_000;

/**
 * How many keys have their usage remembered, in about 10 MB (more if they use many scopes); the
 * next key drops all of it.
 */
const MAX_USED = 10_000;

/** The last change of one name. */
interface Change {
  readonly generation: number;
  /** When it was added. */
  readonly at: number;
}

/** What was recorded for one key. */
interface RecordedUsage extends Change {
  readonly usage: Usage;
}

/** The changes and the usage that are known. */
export interface KnownChanges {
  /** How many there have been so far. */
  generation: number;
  /** The generation of the last change. Usage increments the generation, but changes nothing. */
  lastChange: number;
  /** Entries of an earlier generation are outdated, whatever they hold. */
  oldestValid: number;
  /** By key id or digest: the last change that outdates an entry. The oldest comes first. */
  readonly changed: Map<string, Change>;
  /** The most changes that are remembered; drawn when it is first needed. */
  maxChanges: number | undefined;
  /**
   * By key id: its recorded usage, which is merged into entries. If it counted as a change, every
   * key in use would be looked up after every batch. The oldest comes first.
   */
  readonly used: Map<string, RecordedUsage>;
  /** How old an entry can be, in milliseconds. Older changes outdate none, and are forgotten. */
  readonly longestLifeMs: number;
  readonly now: () => number;
}

/** Starts without a change. */
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

// ── What changes ────────────────────────────────────────────────────────────────────────────────

/** Outdates every entry of a key, named by its id, or of a digest: look-ups in progress, too. */
export function outdate(changes: KnownChanges, name: string): void {
  const at = changes.now();
  changes.generation += 1;
  changes.lastChange = changes.generation;
  // Removed first, so that it comes last.
  changes.changed.delete(name);
  changes.changed.set(name, { generation: changes.generation, at });
  // The next look-up returns its usage, and usage reported before the key was made is void.
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
 * Forgets the changes that are as old as an entry can be, and in a storm the oldest of the others.
 * Entries that were not read since a forgotten change are outdated. In time, those are over anyway;
 * in a storm, each is looked up again at its next use, and what is in use stays.
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
  // Removed first, so that it comes last.
  used.delete(keyId);
  used.set(keyId, { usage: merged, generation: changes.generation, at });
  for (const [oldest, recorded] of used) {
    // Entries that are still alive were looked up later than this, so they already include it.
    if (recorded.at > at - changes.longestLifeMs) return;
    used.delete(oldest);
  }
}

// ── What that means for an entry ────────────────────────────────────────────────────────────────

/** Whether an entry is still correct. If it is, the usage of its key is merged into it. */
export function bringUpToDate(changes: KnownChanges, entry: Entry): boolean {
  // Most hits end here: nothing has changed since the last one.
  if (entry.generation === changes.generation) return true;
  if (isOutdated(changes, entry)) return false;
  const record = entry.rows[0];
  const recorded = record && changes.used.get(record.keyId);
  if (record && recorded && recorded.generation > entry.generation) {
    const merged = readRecord({ ...record, ...mergeUsage(record, recorded.usage) });
    // Malformed usage: the merged record would be malformed, too.
    if (merged === null) return false;
    entry.rows = Object.freeze([merged]);
  }
  entry.generation = changes.generation;
  return true;
}

/** Whether something has changed since an entry was opened that its answer may have missed. */
export function mayOutdate(changes: KnownChanges, entry: Entry): boolean {
  if (entry.generation >= changes.lastChange) return false;
  // Which key a digest is of is not known before the answer: it may be any that has changed.
  return entry.keyId === undefined || isOutdated(changes, entry);
}

function isOutdated(changes: KnownChanges, entry: Entry): boolean {
  if (entry.generation < changes.oldestValid) return true;
  const record = entry.rows[0];
  if (record !== undefined && hasChanged(changes, record.keyId, entry)) return true;
  return entry.keys.some((key) => hasChanged(changes, key, entry));
}

function hasChanged(changes: KnownChanges, name: string, entry: Entry): boolean {
  const changedIn = changes.changed.get(name)?.generation;
  return changedIn !== undefined && changedIn > entry.generation;
}
