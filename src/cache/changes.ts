/**
 * What has changed since a look-up was sent.
 *
 * Each change increments the generation. An entry knows the generation in which its look-up was
 * sent, and is outdated once a change of its key, or of one of its digests, is newer. This covers
 * look-ups in progress too, and nothing needs to be searched for and removed.
 */
import type { Usage } from '../core/record.js';
import { mergeUsage } from '../core/usage.js';
import type { CacheSettings } from './cache-options.js';
import { type Entry, mergeEntryUsage } from './entry.js';

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

/** Tracks what has changed, and which entries are still correct. */
export interface Changes {
  /** The number of changes so far. */
  generation(): number;
  /** Outdates every entry of a key, named by its id, or of a digest. */
  add(name: string): void;
  /** Outdates every entry. */
  addAll(): void;
  /** Remembers usage that was recorded for a key. Outdates nothing. */
  addUsage(keyId: string, usage: Usage): void;
  /** Whether something has changed since an entry was opened that its answer may have missed. */
  mayOutdate(entry: Entry): boolean;
  /** Whether an entry is still correct. If it is, the usage of its key is merged into it. */
  update(entry: Entry): boolean;
}

/** The last change of one name. */
interface Change {
  readonly generation: number;
  /** When it was added. */
  readonly at: number;
}

interface RecordedUsage {
  readonly usage: Usage;
  readonly generation: number;
  /** When it was last recorded. */
  readonly at: number;
}

/** The changes and the usage that are known. */
interface History {
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
   * key in use would be looked up after every batch.
   */
  readonly used: Map<string, RecordedUsage>;
}

/**
 * Starts an empty history. A change is forgotten after the longest life of an entry, when none is
 * left that it could outdate.
 */
export function createChanges(settings: CacheSettings): Changes {
  const history: History = {
    generation: 0,
    lastChange: 0,
    oldestValid: 0,
    changed: new Map(),
    maxChanges: undefined,
    used: new Map(),
  };
  return {
    generation: () => history.generation,
    add: (name) => addChange(history, name, settings),
    addAll: () => addAll(history),
    addUsage: (keyId, usage) => addUsage(history, keyId, usage, settings),
    mayOutdate: (entry) => mayOutdate(history, entry),
    update: (entry) => updateEntry(history, entry),
  };
}

function addChange(history: History, name: string, settings: CacheSettings): void {
  const { generation } = history;
  const change: Change = { generation: generation + 1, at: settings.now() };
  history.generation = change.generation;
  history.lastChange = change.generation;
  // Removed first, so that it comes last.
  history.changed.delete(name);
  history.changed.set(name, change);
  // The next look-up returns its usage, and usage reported before the key was made is void.
  history.used.delete(name);
  forgetOldest(history, change.at, longestLifeOf(settings));
}

function addAll(history: History): void {
  history.generation += 1;
  history.lastChange = history.generation;
  history.oldestValid = history.generation;
  history.changed.clear();
}

/**
 * Forgets the changes that are as old as an entry can be, and in a storm the oldest of the others.
 * Entries that were not read since a forgotten change are outdated. In time, those are over anyway;
 * in a storm, each is looked up again at its next use, and what is in use stays.
 */
function forgetOldest(history: History, now: number, longestLifeMs: number): void {
  for (const [name, change] of history.changed) {
    const isOver = now - change.at >= longestLifeMs;
    if (!isOver && !isFull(history)) return;
    history.changed.delete(name);
    history.oldestValid = change.generation;
  }
}

function isFull(history: History): boolean {
  if (history.changed.size <= MIN_CHANGES) return false;
  history.maxChanges ??= MIN_CHANGES + Math.floor(Math.random() * MIN_CHANGES);
  return history.changed.size > history.maxChanges;
}

function addUsage(history: History, keyId: string, usage: Usage, settings: CacheSettings): void {
  // Entries are not outdated: no decision depends on usage, and the next look-up returns it.
  const { used } = history;
  if (used.size >= MAX_USED) used.clear();
  const at = settings.now();
  const merged = mergeUsage(used.get(keyId)?.usage, usage);
  history.generation += 1;
  // Removed first, so that it comes last.
  used.delete(keyId);
  used.set(keyId, { usage: merged, generation: history.generation, at });
  forgetUsage(used, at - longestLifeOf(settings));
}

/** Every entry that lives was looked up later, and has it. */
function forgetUsage(used: Map<string, RecordedUsage>, before: number): void {
  for (const [keyId, { at }] of used) {
    if (at > before) return;
    used.delete(keyId);
  }
}

/** How old an entry can be, in milliseconds. */
function longestLifeOf({ maxStalenessMs, staleIfErrorMs }: CacheSettings): number {
  return maxStalenessMs + staleIfErrorMs;
}

function updateEntry(history: History, entry: Entry): boolean {
  // Most hits end here: nothing has changed since the last one.
  if (entry.generation === history.generation) return true;
  if (isOutdated(history, entry)) return false;
  const record = entry.rows[0];
  const recorded = record && history.used.get(record.keyId);
  if (record && recorded && recorded.generation > entry.generation) {
    if (!mergeEntryUsage(entry, record, recorded.usage)) return false;
  }
  entry.generation = history.generation;
  return true;
}

function mayOutdate(history: History, entry: Entry): boolean {
  if (entry.generation >= history.lastChange) return false;
  // Which key a digest is of is not known before the answer: it may be any that has changed.
  return entry.keyId === undefined || isOutdated(history, entry);
}

function isOutdated(history: History, entry: Entry): boolean {
  if (entry.generation < history.oldestValid) return true;
  const record = entry.rows[0];
  if (record !== undefined && hasChanged(history, record.keyId, entry)) return true;
  return entry.keys.some((key) => hasChanged(history, key, entry));
}

function hasChanged(history: History, name: string, entry: Entry): boolean {
  const changedIn = history.changed.get(name)?.generation;
  return changedIn !== undefined && changedIn > entry.generation;
}
