/** The look-ups that are cached: by digest, and by key id. */
import { type KeyRecord, readRecord } from '../core/record.js';
import type { Awaitable, CallOptions, KeyStore } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import type { CacheSettings } from './cache-options.js';
import { createEntries } from './entries.js';
import { NO_ROWS, type Question, type Rows } from './entry.js';
import type { KnownChanges } from './known-changes.js';
import { type CacheState, createLookup, type LookupKind } from './lookup.js';

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

/** Where the answers come from that are cached. */
export type LookupStore = Pick<KeyStore, 'findByDigest' | 'findById'>;

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
  const state: CacheState = { settings, changes, entries };
  const lookUpDigests = createLookup(byDigest(store), state);
  const lookUpId = createLookup(byId(store), state);

  return {
    findByDigest(digests, options) {
      const name = nameOf(digests);
      if (name === undefined) return store.findByDigest(digests, options);
      return lookUpDigests({ name, keys: digests, keyId: undefined }, options);
    },
    findById(keyId, options) {
      // Callers may pass anything.
      if (!isUuid(keyId)) return store.findById(keyId, options);
      return lookUpId({ name: BY_ID + keyId, keys: [keyId], keyId }, options);
    },
  };
}

// ── By digest ───────────────────────────────────────────────────────────────────────────────────

function byDigest(store: LookupStore): LookupKind<Question, Rows> {
  return {
    ask: ({ keys }, options) => store.findByDigest(keys, options),
    read: (answer, { keys }) => readRows(answer, ({ digest }) => keys.includes(digest)),
    toAnswer: (rows) => rows,
    keepsFresh: true,
  };
}

/** One name for the digests of a look-up; `undefined` if they cannot have one. */
function nameOf(digests: readonly string[]): string | undefined {
  if (digests.length === 0 || !digests.every(isNamePart)) return undefined;
  return digests.join(SEPARATOR);
}

/** Callers may pass anything as a digest. */
function isNamePart(digest: unknown): boolean {
  if (typeof digest !== 'string') return false;
  return !digest.includes(SEPARATOR) && !digest.startsWith(BY_ID);
}

// ── By key id ───────────────────────────────────────────────────────────────────────────────────

/** A question for one key. */
interface IdQuestion extends Question {
  readonly keyId: string;
}

function byId(store: LookupStore): LookupKind<IdQuestion, KeyRecord | null> {
  function ask(
    { keyId }: IdQuestion,
    options: CallOptions | undefined,
  ): Awaitable<KeyRecord | null> {
    return store.findById(keyId, options);
  }

  function read(answer: unknown, question: IdQuestion): Rows | undefined {
    const rows = answer === null ? [] : [answer];
    return readRows(rows, ({ keyId }) => keyId === question.keyId);
  }

  // Management asks for fresh answers. Kept, those of a job that reads each key would evict the
  // keys in use.
  return { ask, read, toAnswer: (rows) => rows[0] ?? null, keepsFresh: false };
}

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────

/**
 * Returns the rows to cache: none, or one that is well-formed and was asked for. `undefined` for
 * any other answer.
 */
function readRows(answer: unknown, isAsked: (record: KeyRecord) => boolean): Rows | undefined {
  if (!Array.isArray(answer) || answer.length > 1) return undefined;
  if (answer.length === 0) return NO_ROWS;
  // A frozen copy, the same object for every hit, so the keyring checks its seal only once.
  const record = readRecord(answer[0]);
  if (record === null || !isAsked(record)) return undefined;
  return Object.freeze([record]);
}
