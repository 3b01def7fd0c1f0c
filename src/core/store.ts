/**
 * What keyscope requires of a database: seven methods, none optional. An interface without code.
 *
 * Answers may be synchronous or promises. A store never sees a plaintext key, makes no decisions
 * and checks no scopes: the core checks everything that it returns. If a method throws or rejects,
 * the store is broken, and the request is answered with 503. `keyscope/testing` has the suite that
 * every store must pass.
 */
import type { KeyRecord, Usage } from './record.js';

/** A value, or a promise of one. */
export type Awaitable<T> = T | PromiseLike<T>;

/** A position in a listing: the creation time and id of the last record seen. */
export interface ListPosition {
  readonly createdAt: number;
  readonly keyId: string;
}

/** How a key ends: revoked for good, or retired at a time by its successor. Milliseconds. */
export type Ending = { readonly revokedAt: number } | { readonly retireAt: number };

/** Which part of an entity's keys to list. */
export interface ListQuery {
  readonly entityUuid: string;
  /** The position of the last record before this part; null for the first part. */
  readonly after: ListPosition | null;
  readonly limit: number;
}

/** The use of one key. */
export interface UsageEntry extends Usage {
  readonly keyId: string;
}

/** The live keys of one digest scheme. */
export interface SchemeSummary {
  /** `s1` or `h1.<pepper id>`. */
  readonly scheme: string;
  /** How many keys are live. */
  readonly live: number;
  /** When one of them was last used, in milliseconds since the epoch; null for never. */
  readonly lastUsedAt: number | null;
}

/** What a store promises, method by method. `keyscope/testing` tests it. */
export interface KeyStore {
  /**
   * Writes a new record, durably before it answers. Atomic: all of it or nothing. Throws if a
   * record with this key id or this digest already exists, and leaves that one as it is.
   */
  insert(record: KeyRecord): Awaitable<void>;

  /**
   * Returns every record whose digest is one of `digests`, compared byte for byte; an empty list if
   * there is none. The digests are distinct. Sees every write that was acknowledged before the
   * call.
   */
  findByDigest(digests: readonly string[]): Awaitable<readonly KeyRecord[]>;

  /**
   * Returns the record with this key id, or `null`. Sees every write that was acknowledged before
   * the call.
   */
  findById(keyId: string): Awaitable<KeyRecord | null>;

  /**
   * Returns at most `limit` records of one entity, ended ones included, newest first: by
   * `createdAt`, then by `keyId`, both descending. With `after`, only those that follow that
   * position: a listing neither repeats nor skips a record while keys are added.
   */
  list(query: ListQuery): Awaitable<readonly KeyRecord[]>;

  /**
   * Ends a key by one conditional write: `retireAt` only if both marks are null, `revokedAt` only
   * if `revokedAt` is null. True only for the one caller that wrote; false also if there is no such
   * key. Durable before it answers. No other field and no other record changes.
   */
  markEnded(keyId: string, ending: Ending): Awaitable<boolean>;

  /**
   * Records use. Moves `lastUsedAt` and each entry of `scopesUsed` only forward, keeps scopes that
   * are not mentioned, and ignores unknown key ids. Need not be atomic over the batch.
   */
  touch(entries: readonly UsageEntry[]): Awaitable<void>;

  /**
   * Returns one row per digest scheme that has live keys at the time `now`: neither revoked nor
   * past `retireAt` or `expiresAt`. `now` is the keyring's clock, never the database's. A store may
   * ignore the parameter and use a clock of its own; if that one differs from the keyring's clock,
   * the store counts what is live at its own time.
   */
  summarize(now: number): Awaitable<readonly SchemeSummary[]>;
}
