/**
 * The cached look-ups, by digest and by key id. Each is answered from the cache, or by one query
 * that concurrent callers share.
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
 * Separates the digests in an entry's name. No digest contains it; a look-up with such a text is
 * not cached.
 */
const SEPARATOR = '\n';

/**
 * The prefix of the names of entries by key id. No digest begins with it; a look-up with such a
 * text is not cached.
 */
const BY_ID = 'id:';

/** How long to wait for the store when a stale answer is available, in milliseconds. */
const PATIENCE_MS = 1_000;

/** The methods whose answers are cached. */
export type LookupStore = Pick<KeyStore, 'findByDigest' | 'findById'>;

/** The state that look-ups of one kind share. */
interface LookupState {
  readonly changes: KnownChanges;
  readonly entries: Entries;
  readonly pending: PendingLookups;
}

/** A look-up that the cache cannot answer. */
interface Request extends Question {
  /** Queries the store. */
  readonly ask: (call: CallOptions | undefined) => Awaitable<Rows>;
  readonly options: CallOptions | undefined;
  /** Caches a `fresh` answer. */
  readonly keepFresh: (entry: Entry) => void;
}

/**
 * Makes the look-ups, with an empty cache. A cached answer is returned synchronously. A look-up
 * with `fresh` always asks the store.
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
      // Management asks for fresh answers. If they were added, a job that reads every key would
      // evict the keys in use.
      const keepFresh = entries.replace;
      const rows = askStore(byId, { name, keys: [keyId], keyId, ask, options, keepFresh });
      return mapAnswer(rows, toRecord);
    },
  };
}

// ── Names and answers ───────────────────────────────────────────────────────────────────────────

/** Returns one name for the digests of a look-up, or `undefined` if they cannot have one. */
function nameOf(digests: readonly string[]): string | undefined {
  if (digests.length === 0) return undefined;
  for (const digest of digests) {
    // Callers may pass anything as a digest.
    if (typeof digest !== 'string') return undefined;
    if (digest.includes(SEPARATOR) || digest.startsWith(BY_ID)) return undefined;
  }
  return digests.join(SEPARATOR);
}

/** Converts an answer by id to the form of an answer by digest. */
function toRows(answer: KeyRecord | null): Rows {
  return answer === null ? NO_ROWS : [answer];
}

/** Converts it back. An answer that breaks the store's contract comes out unchanged. */
function toRecord(rows: Rows): KeyRecord | null {
  return rows.length === 0 ? null : (rows[0] as KeyRecord);
}

/**
 * Returns the rows to cache: none, or one well-formed record that was asked for. Returns
 * `undefined` for any other answer.
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

/** Sends a query for this request alone if the answer must be fresh; otherwise shares one. */
function askStore(state: LookupState, request: Request): Awaitable<Rows> {
  const { options, keepFresh } = request;
  if (!options?.fresh) return joinOrAsk(state, request, state.changes.generation);
  // It must not join a look-up in progress, which was sent earlier.
  const entry = state.entries.open(request);
  return mapAnswer(request.ask(options), (rows) => receive(state, entry, keepFresh, rows));
}

/**
 * Joins a look-up in progress, or sends one.
 *
 * @param askedIn The generation of the request: the answer shows every change up to it.
 */
function joinOrAsk(state: LookupState, request: Request, askedIn: number): Awaitable<Rows> {
  const lookup = state.pending.join(request.name, request.options);
  if (lookup === undefined) return askForAll(state, request);
  const { entry, answer } = lookup;
  if (entry.generation >= askedIn) return answer;
  // The look-up was sent before a change that precedes this request. If its answer was still
  // correct on arrival, the entry now has a later generation. If not, ask again: that look-up is
  // late enough.
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
 * Reads an answer into its entry, and keeps the entry. The entry was opened before the look-up was
 * sent: its age, and the changes that outdate it, count from then.
 */
function receive(
  { changes }: LookupState,
  entry: Entry,
  keep: Entries['keep'],
  answer: Rows,
): Rows {
  const rows = readRows(answer, entry);
  // Not cached; the core rejects it.
  if (rows === undefined) return answer;
  entry.rows = rows;
  // If the key has changed meanwhile, this answers only requests from before the change.
  if (bringUpToDate(changes, entry)) keep(entry);
  return entry.rows;
}

/**
 * Asks the store. If it throws, rejects or takes too long, returns the last known answer, provided
 * `insecureStaleIfErrorMs` allows it.
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
    // The key has changed meanwhile: only the store knows.
    if (rows === undefined) return settled;
    giveUp();
    return rows;
  });
}
