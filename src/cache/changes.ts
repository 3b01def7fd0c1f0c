/**
 * What has changed since a look-up was sent.
 *
 * Each change increments the generation. An entry knows the generation in which its look-up was
 * sent, and is outdated once a change of its key, or of one of its digests, is newer. This covers
 * look-ups in progress too, and nothing needs to be searched for and removed.
 */
import type { Usage } from '../core/record.js';
import { mergeUsage } from '../core/usage.js';
import { type Entry, mergeEntryUsage } from './entry.js';

/** How many changes are remembered individually; the next one outdates every entry. */
const MAX_CHANGES = 10_000;

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
  /** Remembers usage that was recorded for a key. Outdates nothing. */
  addUsage(keyId: string, usage: Usage): void;
  /** Whether an entry is still correct. If it is, the usage of its key is merged into it. */
  update(entry: Entry): boolean;
}

interface RecordedUsage {
  readonly usage: Usage;
  readonly generation: number;
}

/** The changes and the usage that are known. */
interface History {
  generation: number;
  /** Entries of an earlier generation are outdated, whatever they hold. */
  oldestValid: number;
  /** By key id or digest: the generation of the last change that outdates an entry. */
  readonly changed: Map<string, number>;
  /**
   * By key id: its recorded usage, which is merged into entries. If it counted as a change, every
   * key in use would be looked up after every batch.
   */
  readonly used: Map<string, RecordedUsage>;
}

/** Starts an empty history. */
export function createChanges(): Changes {
  const history: History = { generation: 0, oldestValid: 0, changed: new Map(), used: new Map() };
  return {
    generation: () => history.generation,
    add: (name) => addChange(history, name),
    addUsage: (keyId, usage) => addUsage(history, keyId, usage),
    update: (entry) => updateEntry(history, entry),
  };
}

function addChange(history: History, name: string): void {
  history.generation += 1;
  if (history.changed.size >= MAX_CHANGES) {
    history.changed.clear();
    history.oldestValid = history.generation;
  }
  history.changed.set(name, history.generation);
  // The next look-up returns its usage, and usage reported before the key was made is void.
  history.used.delete(name);
}

function addUsage(history: History, keyId: string, usage: Usage): void {
  // Entries are not outdated: no decision depends on usage, and the next look-up returns it.
  if (history.used.size >= MAX_USED) history.used.clear();
  const merged = mergeUsage(history.used.get(keyId)?.usage, usage);
  history.generation += 1;
  history.used.set(keyId, { usage: merged, generation: history.generation });
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

function isOutdated(history: History, entry: Entry): boolean {
  if (entry.generation < history.oldestValid) return true;
  const record = entry.rows[0];
  if (record !== undefined && hasChanged(history, record.keyId, entry)) return true;
  return entry.digests.some((digest) => hasChanged(history, digest, entry));
}

function hasChanged(history: History, name: string, entry: Entry): boolean {
  const changedIn = history.changed.get(name);
  return changedIn !== undefined && changedIn > entry.generation;
}
