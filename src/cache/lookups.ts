/** Look-ups by digest: answered from the cache, or by one query that concurrent callers share. */
import { readRecord, type Usage } from '../core/record.js';
import type { Awaitable } from '../core/store.js';
import { isThenable } from '../core/thenable.js';
import { createChanges } from './changes.js';
import { createEntries } from './entries.js';
import { type Entry, NO_ROWS, type Rows } from './entry.js';
import type { CacheSettings } from './options.js';
import { createPendingLookups } from './pending-lookups.js';

/**
 * Separates the digests in an entry's name. No digest contains it; a look-up with a text that does
 * is not cached.
 */
const SEPARATOR = '\n';

/** Looks up records by digest, as a store does. */
export type Find = (digests: readonly string[]) => Awaitable<Rows>;

/** Cached look-ups. */
export interface Lookups {
  /** Returns what is cached at once, without a promise. */
  readonly find: Find;
  /** Outdates a key id or digest: look-ups from now on see the change. */
  outdate(name: string): void;
  /** Remembers usage that was recorded for a key. */
  addUsage(keyId: string, usage: Usage): void;
}

/**
 * Starts with an empty cache.
 *
 * @param findInStore Looks up in the store.
 */
export function createLookups(settings: CacheSettings, findInStore: Find): Lookups {
  const changes = createChanges();
  const entries = createEntries(settings, changes);
  const pending = createPendingLookups(settings);

  function find(digests: readonly string[]): Awaitable<Rows> {
    const name = nameOf(digests);
    if (name === undefined) return findInStore(digests);
    const entry = entries.recall(name);
    if (entry !== undefined) return entry.rows;
    return pending.join(name) ?? send(name, digests);
  }

  function send(name: string, digests: readonly string[]): Awaitable<Rows> {
    // Opened before the look-up is sent: its age counts from here, and so do the changes that
    // outdate it.
    const entry = entries.open(digests);
    const answer = findInStore(digests);
    if (!isThenable(answer)) return receive(name, entry, answer);
    const rows = Promise.resolve(answer).then((settled) => receive(name, entry, settled));
    pending.add(name, entry.since, rows);
    return rows;
  }

  function receive(name: string, entry: Entry, answer: Rows): Rows {
    const rows = readAnswer(answer, entry.digests);
    // Not cached; the core refuses it.
    if (rows === undefined) return answer;
    entry.rows = rows;
    // If the key has changed in the meantime, this answers only requests from before the change.
    if (changes.update(entry)) entries.keep(name, entry);
    return entry.rows;
  }

  function outdate(name: string): void {
    changes.add(name);
    // Which keys they will return is not known until they are answered, so none can be joined.
    pending.clear();
  }

  return { find, outdate, addUsage: changes.addUsage };
}

/** One name for the digests of a look-up; `undefined` if they cannot have one. */
function nameOf(digests: readonly string[]): string | undefined {
  if (digests.length === 0 || !digests.every(isNamePart)) return undefined;
  return digests.join(SEPARATOR);
}

/** Callers may pass anything as a digest. */
function isNamePart(digest: unknown): boolean {
  return typeof digest === 'string' && !digest.includes(SEPARATOR);
}

/**
 * Returns the rows to cache: none, or one that is well-formed and was asked for. `undefined` for
 * any other answer.
 */
function readAnswer(answer: unknown, digests: readonly string[]): Rows | undefined {
  if (!Array.isArray(answer) || answer.length > 1) return undefined;
  if (answer.length === 0) return NO_ROWS;
  // A frozen copy, the same object for every hit, so the keyring checks its seal only once.
  const record = readRecord(answer[0]);
  if (record === null || !digests.includes(record.digest)) return undefined;
  return Object.freeze([record]);
}
