/**
 * What keyscope asks of a database: seven methods, none optional. An interface and no code.
 *
 * Answers may be synchronous or promises. A store never sees a plaintext key, never decides, and checks no
 * scope: the core checks everything that comes back. Anything thrown or rejected means that the store is
 * broken, and the request is answered with 503. `keyscope/testing` has the suite that every store must pass.
 */
import type { KeyRecord, Usage } from './record.js';

/** A value, or a promise of one. */
export type Awaitable<T> = T | PromiseLike<T>;

/** A position in a listing: the creation time and id of the last record seen. */
export type ListPosition = { readonly createdAt: number; readonly keyId: string };

/** How a key ends: revoked for good, or retired at a time by its successor. Milliseconds. */
export type Ending = { readonly revokedAt: number } | { readonly retireAt: number };

/** Which part of an entity's keys. */
export type ListQuery = { readonly entityUuid: string; readonly after: ListPosition | null; readonly limit: number };

/** That a key was used. */
export type UsageEntry = Usage & { readonly keyId: string };

/** How many live keys stand under one digest scheme (`s1`, `h1.<pepper id>`), and when one of them was last used. */
export type SchemeSummary = { readonly scheme: string; readonly live: number; readonly lastUsedAt: number | null };

/** What a store promises, method by method. `keyscope/testing` holds it to that. */
export interface KeyStore {
  /**
   * Writes a new record, durably before it answers. Atomic: all of it or nothing.
   * Throws where a record with this key id or this digest exists already, and leaves that one as it is.
   */
  insert(record: KeyRecord): Awaitable<void>;

  /**
   * Every record whose digest is one of `digests`, compared byte for byte; an empty list where there is none. The
   * digests are distinct.
   * Sees every write that was acknowledged before the call.
   */
  findByDigest(digests: readonly string[]): Awaitable<readonly KeyRecord[]>;

  /** The record with this key id, or `null`. Sees every write that was acknowledged before the call. */
  findById(keyId: string): Awaitable<KeyRecord | null>;

  /**
   * At most `limit` records of one entity, ended ones included, newest first: by `createdAt`, then by `keyId`,
   * both descending. With `after`, those that come behind that position: a listing neither repeats nor skips
   * a record while keys are added.
   */
  list(query: ListQuery): Awaitable<readonly KeyRecord[]>;

  /**
   * Ends a key by one conditional write: `retireAt` only where both marks are null, `revokedAt` only where
   * `revokedAt` is null. True only to the one caller that wrote; false also where there is no such key.
   * Durable before it answers. No other field and no other record changes.
   */
  markEnded(keyId: string, ending: Ending): Awaitable<boolean>;

  /**
   * Records use. Writes `lastUsedAt` and each entry of `scopesUsed` only forward, leaves scopes that are not
   * mentioned, and ignores unknown key ids. Need not be atomic over the batch.
   */
  touch(entries: readonly UsageEntry[]): Awaitable<void>;

  /**
   * One row a digest scheme that has live keys at the time `now`: neither revoked nor past `retireAt` or
   * `expiresAt`. `now` is the keyring's clock, never the database's. A store may leave the parameter out and ask a clock
   * of its own; then a keyring with another clock, or a database's clock that is off, counts what is live at that time.
   */
  summarize(now: number): Awaitable<readonly SchemeSummary[]>;
}
