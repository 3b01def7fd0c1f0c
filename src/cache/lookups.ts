/**
 * The cached look-ups, by digest and by key id. Each is answered from the cache, or by one query
 * that concurrent callers share.
 *
 * A cached answer, and that of a synchronous store, is returned synchronously.
 */
import { type KeyRecord, readRecord } from '../core/record.js';
import type { Awaitable, CallOptions, KeyStore } from '../core/store.js';
import { isThenable, within } from '../core/thenable.js';
import { isUuid } from '../core/uuid.js';
import { mapAnswer } from './awaitable.js';
import type { CacheSettings } from './cache-options.js';
import { createEntries, type Entries } from './entries.js';
import { type Answer, type Entry, type Question, type Rows, setRecord } from './entry.js';
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

/** The parts that all look-ups of one cache share. */
interface Lookups {
  readonly store: LookupStore;
  readonly changes: KnownChanges;
  readonly entries: Entries;
  readonly pending: PendingLookups;
}

/** A look-up that the cache cannot answer. */
interface Request extends Question {
  readonly options: CallOptions | undefined;
  /** The generation in which it was made: the answer shows every change up to it. */
  readonly askedIn: number;
}

/** Makes the look-ups, with an empty cache. */
export function createLookups(
  settings: CacheSettings,
  changes: KnownChanges,
  store: LookupStore,
): LookupStore {
  const entries = createEntries(settings, changes);
  const pending = createPendingLookups(settings, changes);
  const lookups: Lookups = { store, changes, entries, pending };

  return {
    findByDigest(digests, options) {
      const name = nameOf(digests);
      if (name === undefined) return store.findByDigest(digests, options);
      // 1. Answer from the cache. Most look-ups end here.
      const kept = options?.fresh ? undefined : entries.recall(name);
      if (kept !== undefined) return kept as Rows;
      const question = { name, keys: digests, keyId: undefined, onlyReplaces: false };
      const request = { ...question, options, askedIn: changes.generation };
      return joinOrAsk(lookups, request) as Awaitable<Rows>;
    },
    findById(keyId, options) {
      // Callers may pass anything.
      if (!isUuid(keyId)) return store.findById(keyId, options);
      const name = BY_ID + keyId;
      const kept = options?.fresh ? undefined : entries.recall(name);
      if (kept !== undefined) return kept as KeyRecord | null;
      // Management asks for fresh answers. If they were added, a job that reads every key would
      // evict the keys in use.
      const question = { name, keys: [keyId], keyId, onlyReplaces: Boolean(options?.fresh) };
      const request = { ...question, options, askedIn: changes.generation };
      return joinOrAsk(lookups, request) as Awaitable<KeyRecord | null>;
    },
  };
}

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

// ── The steps after the first ────────────────────────────────────────────────────────────────────

/** Steps 2 to 6. */
function joinOrAsk(lookups: Lookups, request: Request): Awaitable<Answer> {
  if (request.options?.fresh) return askAlone(lookups, request);
  // 2. Join a look-up in progress.
  const joined = lookups.pending.join(request.name, request.options);
  if (joined === undefined) return askForAll(lookups, request);
  return joined.answer.then((answer) => {
    // If it was sent before a change that precedes this request, but its answer was still correct
    // on arrival, its entry now has a later generation. If not, ask again: that is late enough.
    return joined.entry.generation >= request.askedIn ? answer : joinOrAsk(lookups, request);
  });
}

/** Steps 3 to 6, for everyone who asks until there is an answer. */
function askForAll(lookups: Lookups, request: Request): Awaitable<Answer> {
  // 3. Open an entry. Its age, and the changes that outdate it, count from before the query.
  const entry = lookups.entries.open(request);
  // 4. Ask the store.
  const call = new SharedCall(request.options);
  let answer: Awaitable<Answer>;
  try {
    answer = send(lookups.store, request, call);
  } catch (error) {
    call.end();
    return recallStale(lookups, entry, error);
  }
  if (isThenable(answer)) return share(lookups, entry, call, answer);
  call.end();
  return receive(lookups, entry, answer);
}

/** Step 5, for a store that answers later. Until then, others may join the look-up. */
function share(
  lookups: Lookups,
  entry: Entry,
  call: SharedCall,
  later: PromiseLike<Answer>,
): Promise<Answer> {
  const { entries, pending } = lookups;
  const received = receiveLater(lookups, entry, call, later);
  let answer = received;
  if (entries.recallStale(entry.name) !== undefined) {
    answer = within(PATIENCE_MS, received, () => {
      const stale = entries.recallStale(entry.name);
      // The key has changed meanwhile: only the store knows.
      if (stale === undefined) return received;
      call.giveUp();
      return stale;
    });
  }
  pending.add({ entry, answer, call });
  return answer;
}

async function receiveLater(
  lookups: Lookups,
  entry: Entry,
  call: SharedCall,
  later: PromiseLike<Answer>,
): Promise<Answer> {
  try {
    return receive(lookups, entry, await later);
  } catch (error) {
    return recallStale(lookups, entry, error);
  } finally {
    call.end();
  }
}

/** Step 6. Reads the answer into its entry, and keeps the entry. */
function receive({ changes, entries }: Lookups, entry: Entry, answer: Answer): Answer {
  const record = readAnswer(answer, entry);
  // Not cached; the core rejects it.
  if (record === undefined) return answer;
  setRecord(entry, record);
  // If the key has changed meanwhile, this answers only requests from before the change.
  if (bringUpToDate(changes, entry)) entries.keep(entry);
  return entry.answer;
}

/** Step 6, if the store failed: the last known answer, if `insecureStaleIfErrorMs` allows it. */
function recallStale({ entries }: Lookups, { name }: Entry, error: unknown): Answer {
  const stale = entries.recallStale(name);
  if (stale === undefined) throw error;
  return stale;
}

/**
 * Steps 3, 4 and 6 for a fresh look-up. Nothing in the cache or in progress may answer it, because
 * that was sent earlier.
 */
function askAlone(lookups: Lookups, request: Request): Awaitable<Answer> {
  const entry = lookups.entries.open(request);
  const answer = send(lookups.store, request, request.options);
  return mapAnswer(answer, (found) => receive(lookups, entry, found));
}

// ── The store ───────────────────────────────────────────────────────────────────────────────────

function send(
  store: LookupStore,
  { keys, keyId }: Question,
  call: CallOptions | undefined,
): Awaitable<Answer> {
  return keyId === undefined ? store.findByDigest(keys, call) : store.findById(keyId, call);
}

/**
 * Returns the record to cache if the answer is one well-formed record that was asked for, and null
 * if there is none. Returns `undefined` for any other answer. The record is a frozen copy, the same
 * object for every hit, so the keyring checks its seal only once.
 */
function readAnswer(answer: unknown, { keys, keyId }: Question): KeyRecord | null | undefined {
  if (keyId !== undefined) {
    if (answer === null) return null;
    const record = readRecord(answer);
    return record?.keyId === keyId ? record : undefined;
  }
  if (!Array.isArray(answer) || answer.length > 1) return undefined;
  if (answer.length === 0) return null;
  const record = readRecord(answer[0]);
  return record !== null && keys.includes(record.digest) ? record : undefined;
}
