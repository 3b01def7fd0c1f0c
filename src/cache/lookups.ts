/**
 * The look-ups that are cached: by digest, and by key id. Each is answered from the cache, or by
 * one query that concurrent callers share.
 */
import { type KeyRecord, readRecord } from '../core/record.js';
import type { Awaitable, CallOptions, KeyStore } from '../core/store.js';
import { isThenable, within } from '../core/thenable.js';
import { isUuid } from '../core/uuid.js';
import { mapAnswer, runThen } from './awaitable.js';
import type { CacheSettings } from './cache-options.js';
import { createEntries, type Entries } from './entries.js';
import { type Entry, NO_ROWS, type Question, type Rows } from './entry.js';
import { bringUpToDate, type KnownChanges } from './known-changes.js';
import { createPendingLookups, type PendingLookups, SharedCall } from './pending-lookups.js';

/**
 * Separates the digests in an entry's name. No digest contains it; a look-up with a text that does
 * is not cached.
 */
const SEPARATOR = '\n';

/**
 * How the names of entries by key id begin. No digest begins like this; a look-up with a text that
 * does is not cached.
 */
const BY_ID = 'id:';

/** How long the store is waited for where there is something else to answer, in milliseconds. */
const PATIENCE_MS = 1_000;

/** Where the answers come from that are cached. */
export type LookupStore = Pick<KeyStore, 'findByDigest' | 'findById'>;

/** What look-ups of one kind have in common. */
interface LookupState {
  readonly changes: KnownChanges;
  readonly entries: Entries;
  readonly pending: PendingLookups;
}

/** A look-up that the cache cannot answer. */
interface Request extends Question {
  /** Looks up in the store. */
  readonly ask: (call: CallOptions | undefined) => Awaitable<Rows>;
  readonly options: CallOptions | undefined;
  /** Keeps a fresh answer. */
  readonly keepFresh: (entry: Entry) => void;
}

/**
 * Starts with an empty cache. What is cached is returned at once, without a promise; told to be
 * `fresh`, a look-up asks the store.
 */
export function createLookups(
  settings: CacheSettings,
  changes: KnownChanges,
  store: LookupStore,
): LookupStore {
  const entries = createEntries(settings, changes);
  const byDigest = { changes, entries, pending: createPendingLookups(settings, changes) };
  const byId = { changes, entries, pending: createPendingLookups(settings, changes) };

  return {
    findByDigest(digests, options) {
      const name = nameOf(digests);
      if (name === undefined) return store.findByDigest(digests, options);
      const kept = options?.fresh ? undefined : entries.recall(name);
      if (kept !== undefined) return kept.rows;
      const ask: Request['ask'] = (call) => store.findByDigest(digests, call);
      const keepFresh = entries.keep;
      return askStore(byDigest, { name, keys: digests, keyId: undefined, ask, options, keepFresh });
    },
    findById(keyId, options) {
      // Callers may pass anything.
      if (!isUuid(keyId)) return store.findById(keyId, options);
      const name = BY_ID + keyId;
      const kept = options?.fresh ? undefined : entries.recall(name);
      if (kept !== undefined) return toRecord(kept.rows);
      const ask: Request['ask'] = (call) => mapAnswer(store.findById(keyId, call), toRows);
      // Management asks for fresh answers. Kept, those of a job that reads each key would evict the
      // keys in use.
      const keepFresh = entries.replace;
      const rows = askStore(byId, { name, keys: [keyId], keyId, ask, options, keepFresh });
      return mapAnswer(rows, toRecord);
    },
  };
}

// ── Names and answers ───────────────────────────────────────────────────────────────────────────

/** One name for the digests of a look-up; `undefined` if they cannot have one. */
function nameOf(digests: readonly string[]): string | undefined {
  if (digests.length === 0) return undefined;
  for (const digest of digests) {
    // Callers may pass anything as a digest.
    if (typeof digest !== 'string') return undefined;
    if (digest.includes(SEPARATOR) || digest.startsWith(BY_ID)) return undefined;
  }
  return digests.join(SEPARATOR);
}

/** The answer to a look-up by id, as one by digest has it. */
function toRows(answer: KeyRecord | null): Rows {
  return answer === null ? NO_ROWS : [answer];
}

/** The reverse. An answer that breaks the store's contract comes out as it went in. */
function toRecord(rows: Rows): KeyRecord | null {
  return rows.length === 0 ? null : (rows[0] as KeyRecord);
}

/**
 * Returns the rows to cache: none, or one that is well-formed and was asked for. `undefined` for
 * any other answer.
 */
function readRows(answer: unknown, { keys, keyId }: Question): Rows | undefined {
  if (!Array.isArray(answer) || answer.length > 1) return undefined;
  if (answer.length === 0) return NO_ROWS;
  // A frozen copy, the same object for every hit, so the keyring checks its seal only once.
  const record = readRecord(answer[0]);
  if (record === null) return undefined;
  const isAsked = keyId === undefined ? keys.includes(record.digest) : record.keyId === keyId;
  return isAsked ? Object.freeze([record]) : undefined;
}

// ── Queries ─────────────────────────────────────────────────────────────────────────────────────

/** Asks for itself if the answer must be fresh; otherwise shares a query with others. */
function askStore(state: LookupState, request: Request): Awaitable<Rows> {
  const { options, keepFresh } = request;
  if (!options?.fresh) return joinOrAsk(state, request, state.changes.generation);
  // Joins nobody: a look-up in progress was sent before this one was asked for.
  const entry = state.entries.open(request);
  return mapAnswer(request.ask(options), (rows) => receive(state, entry, keepFresh, rows));
}

/**
 * Joins a look-up in progress, or sends one.
 *
 * @param askedIn The generation of the request: its answer shows every change until then.
 */
function joinOrAsk(state: LookupState, request: Request, askedIn: number): Awaitable<Rows> {
  const lookup = state.pending.join(request.name, request.options);
  if (lookup === undefined) return askForAll(state, request);
  const { entry, answer } = lookup;
  if (entry.generation >= askedIn) return answer;
  // Sent before a change that came before this request. Found correct when it was answered, the
  // entry is of a later generation; otherwise the next look-up was sent late enough.
  return answer.then((rows) => {
    if (entry.generation >= askedIn) return rows;
    return state.entries.recall(request.name)?.rows ?? joinOrAsk(state, request, askedIn);
  });
}

/** Sends a look-up that others may join until it is answered. */
function askForAll(state: LookupState, request: Request): Awaitable<Rows> {
  const { entries, pending } = state;
  const call = new SharedCall(request.options);
  const entry = entries.open(request);
  const receiveRows = (rows: Rows): Rows => receive(state, entry, entries.keep, rows);
  const ask = (): Awaitable<Rows> => mapAnswer(request.ask(call), receiveRows);
  const answer = askOrRecall(
    () => runThen(ask, () => call.end()),
    () => entries.recallStale(request.name)?.rows,
    () => call.giveUp(),
  );
  if (!isThenable(answer)) return answer;
  const settled = Promise.resolve(answer);
  pending.add({ entry, answer: settled, call });
  return settled;
}

/**
 * Reads an answer into its entry, and keeps that. The entry was opened before the look-up was sent:
 * its age counts from there, and so do the changes that outdate it.
 */
function receive(
  { changes }: LookupState,
  entry: Entry,
  keep: Entries['keep'],
  answer: Rows,
): Rows {
  const rows = readRows(answer, entry);
  // Not cached; the core refuses it.
  if (rows === undefined) return answer;
  entry.rows = rows;
  // If the key has changed in the meantime, this answers only requests from before the change.
  if (bringUpToDate(changes, entry)) keep(entry);
  return entry.rows;
}

/**
 * Asks the store. If it throws, rejects or does not answer in time, answers what was known shortly
 * before, if `insecureStaleIfErrorMs` allows that.
 */
function askOrRecall(
  ask: () => Awaitable<Rows>,
  recall: () => Rows | undefined,
  giveUp: () => void,
): Rows | Promise<Rows> {
  function recallOrThrow(error: unknown): Rows {
    const rows = recall();
    if (rows === undefined) throw error;
    return rows;
  }

  let answer: Awaitable<Rows>;
  try {
    answer = ask();
  } catch (error) {
    return recallOrThrow(error);
  }
  if (!isThenable(answer)) return answer;
  const settled = Promise.resolve(answer).catch(recallOrThrow);
  if (recall() === undefined) return settled;
  return within(PATIENCE_MS, settled, () => {
    const rows = recall();
    // It has changed in the meantime: only the store knows.
    if (rows === undefined) return settled;
    giveUp();
    return rows;
  });
}
