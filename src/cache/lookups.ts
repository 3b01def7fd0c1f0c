/** Look-ups by digest: answered from what is known, or asked once for all who want to know. */
import { readRecord, type Usage } from '../core/record.js';
import type { Awaitable } from '../core/store.js';
import { isThenable } from '../core/thenable.js';
import { createChanges } from './changes.js';
import { createEntries } from './entries.js';
import { type Entry, NO_ROWS, type Rows } from './entry.js';
import { createFlights } from './flights.js';
import type { CacheSettings } from './options.js';

/**
 * Separates the digests in an entry's name. No digest contains it; a look-up with a text that does
 * is not cached.
 */
const SEPARATOR = '\n';

/** Looks up records by digest, as a store does. */
export type Find = (digests: readonly string[]) => Awaitable<Rows>;

/** Look-ups, and what has changed since they were sent. */
export interface Lookups {
  /** Answers at once, and without a promise, what is known. */
  readonly find: Find;
  /** Whoever asks from now on sees the change of this key id or digest. */
  change(name: string): void;
  /** Notes what was recorded of a key's usage. */
  addUsage(keyId: string, usage: Usage): void;
}

/**
 * Starts without knowing anything.
 *
 * @param ask Asks the store.
 */
export function createLookups(settings: CacheSettings, ask: Find): Lookups {
  const changes = createChanges();
  const entries = createEntries(settings, changes);
  const flights = createFlights(settings);

  function find(digests: readonly string[]): Awaitable<Rows> {
    const name = nameOf(digests);
    if (name === undefined) return ask(digests);
    const entry = entries.recall(name);
    if (entry !== undefined) return entry.rows;
    return flights.join(name) ?? send(name, digests);
  }

  function send(name: string, digests: readonly string[]): Awaitable<Rows> {
    // Opened before the look-up is sent: its age counts from here, as do the changes that it may
    // have missed.
    const entry = entries.open(digests);
    const answer = ask(digests);
    if (!isThenable(answer)) return land(name, entry, answer);
    const rows = Promise.resolve(answer).then((settled) => land(name, entry, settled));
    flights.add(name, entry.since, rows);
    return rows;
  }

  function land(name: string, entry: Entry, answer: Rows): Rows {
    const rows = readAnswer(answer, entry.digests);
    // Left for the core to refuse, and not kept.
    if (rows === undefined) return answer;
    entry.rows = rows;
    // If it has changed meanwhile, this answers those who asked before, and nobody else.
    if (changes.update(entry)) entries.keep(name, entry);
    return entry.rows;
  }

  function change(name: string): void {
    changes.add(name);
    // Until they land, their keys are unknown, so all of them are dropped.
    flights.clear();
  }

  return { find, change, addUsage: changes.addUsage };
}

/** One name for the digests of one look-up; none if they are unfit for one. */
function nameOf(digests: readonly string[]): string | undefined {
  if (digests.length === 0 || !digests.every(isNamePart)) return undefined;
  return digests.join(SEPARATOR);
}

/** The digests are whatever the caller passed. */
function isNamePart(digest: unknown): boolean {
  return typeof digest === 'string' && !digest.includes(SEPARATOR);
}

/**
 * The rows to remember: none, or one that is well-formed and was asked for. `undefined` for any
 * other answer.
 */
function readAnswer(answer: unknown, digests: readonly string[]): Rows | undefined {
  if (!Array.isArray(answer) || answer.length > 1) return undefined;
  if (answer.length === 0) return NO_ROWS;
  // A frozen copy, the same object for every hit, so the keyring checks its seal only once.
  const record = readRecord(answer[0]);
  if (record === null || !digests.includes(record.digest)) return undefined;
  return Object.freeze([record]);
}
