/**
 * What keyscope requires of a database: seven methods, and four that only reports and caches ask
 * for. An interface without code.
 *
 * Answers may be synchronous or promises. A store never sees a plaintext key, makes no decisions
 * and checks no scopes: the core checks everything that it returns. If a method throws or rejects,
 * the store is broken, and the request is answered with 503. `keyscope/testing` has the suite that
 * every store must pass.
 */
import type { KeyRecord, Usage } from './record.js';

/** A value, or a promise of one. */
export type Awaitable<T> = T | PromiseLike<T>;

/** The last argument of every method. */
export interface CallOptions {
  /** Aborted when nobody waits for the answer any more: a store may then stop working on it. */
  readonly signal?: AbortSignal | undefined;
  /** The answer must not come from a cache. A store without one ignores this. */
  readonly fresh?: boolean | undefined;
}

// ── Listings ────────────────────────────────────────────────────────────────────────────────────

/** A position in a listing: the creation time and id of the last record seen. */
export interface ListPosition {
  readonly createdAt: number;
  readonly keyId: string;
}

/** Which part of a listing. */
export interface ListQuery {
  /** Only keys with this prefix. */
  readonly prefix: string;
  /** Whose keys; with `addressing`, the entity that they address. */
  readonly entityUuid: string;
  /**
   * If true, the keys of other entities whose `accessibleEntities` contain this one, also those
   * from which it withdrew. Default: false.
   */
  readonly addressing?: boolean | undefined;
  /** The position of the last record before this part; null for the first part. */
  readonly after: ListPosition | null;
  readonly limit: number;
}

/** A part of a listing over all entities. */
export interface Slice<T> {
  readonly items: readonly T[];
  /** What to pass as `after` for the next part: a text of the store's own; null on the last. */
  readonly next: string | null;
}

/** Which part of a listing over all entities. */
export interface SliceQuery {
  /** `next` of the previous part; null for the first. */
  readonly after: string | null;
  readonly limit: number;
}

/** Which keys end soon. */
export interface ExpiringQuery extends SliceQuery {
  /** Only keys that expire at this time or later. Default: however long ago it was. */
  readonly from?: number | undefined;
  /** Only keys that expire before this time. Both are milliseconds since the epoch. */
  readonly before: number;
}

/** Which part of the keys that were marked lately. */
export interface ChangedQuery {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The last key of the previous part; null or absent for the first part. */
  readonly after?: ChangedKey | null | undefined;
  readonly limit: number;
}

/** A key that was marked, which is also a position in the listing of these. */
export interface ChangedKey {
  readonly keyId: string;
  /** When the newest mark was written, in milliseconds since the epoch. */
  readonly changedAt: number;
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

// ── Marks ───────────────────────────────────────────────────────────────────────────────────────

/**
 * Ends a key for good: only where `revokedAt` is null, or where somebody else has set it and `seal`
 * is `replaces`.
 */
export interface RevokeMark {
  readonly kind: 'revoke';
  /** Becomes `revokedAt` and `changedAt`. Milliseconds, as all times. */
  readonly at: number;
  /** Becomes `endedBy`. */
  readonly by: string | null;
  /** Becomes `endReason`. */
  readonly reason: string | null;
  /** Becomes `seal`, in the same write. */
  readonly seal: string | null;
  /** The `seal` as it was read. If it is a text, a row with this seal is marked again. */
  readonly replaces?: string | null | undefined;
}

/** Suspends a key: only where `revokedAt` and `suspendedAt` are null. */
export interface SuspendMark {
  readonly kind: 'suspend';
  /** Becomes `suspendedAt` and `changedAt`. */
  readonly at: number;
  /** Becomes `endedBy`. */
  readonly by: string | null;
  /** Becomes `endReason`. */
  readonly reason: string | null;
}

/**
 * Sets the end of a key that has a successor: only where `revokedAt`, `suspendedAt` and `retireAt`
 * are null and `withdrawn` is as given.
 */
export interface RetireMark {
  readonly kind: 'retire';
  /** Becomes `retireAt`. */
  readonly at: number;
  /** Becomes `changedAt`. Default: `at`. */
  readonly changedAt?: number | undefined;
  /** Becomes `endedBy`. */
  readonly by: string | null;
  /** Becomes `endReason`. */
  readonly reason: string | null;
  /** What `withdrawn` was when the successor's entities were chosen. Default: nothing. */
  readonly withdrawn?: readonly string[] | undefined;
}

/**
 * Ends a suspension: only where `revokedAt` is null and `suspendedAt` is not. `suspendedAt`,
 * `endedBy` and `endReason` become null.
 */
export interface ResumeMark {
  readonly kind: 'resume';
  /** Becomes `changedAt`. */
  readonly at: number;
}

/** Adds one entity to the end of `withdrawn`: only where it is not in there. */
export interface WithdrawMark {
  readonly kind: 'withdraw';
  /** Becomes `changedAt`. */
  readonly at: number;
  readonly entityUuid: string;
}

/** What can happen to a key after it was made. Everything that a mark does not name stays. */
export type Mark = RevokeMark | SuspendMark | RetireMark | ResumeMark | WithdrawMark;

/** The use of one key. */
export interface UsageEntry extends Usage {
  readonly keyId: string;
}

// ── The store ───────────────────────────────────────────────────────────────────────────────────

/** What a store promises, method by method. `keyscope/testing` tests it. */
export interface KeyStore {
  /**
   * Whether the records end with the process, as in memory. The command then hands out no key: it
   * would die with the command. Default: false.
   */
  readonly isInProcess?: boolean | undefined;

  /**
   * Writes a new record and its entry in every listing, durably before it answers. Atomic: all of
   * it or nothing. Throws if a record with this key id or this digest already exists, and leaves
   * that one as it is.
   */
  insert(record: KeyRecord, options?: CallOptions): Awaitable<void>;

  /**
   * Returns every record whose digest is one of `digests`, compared byte for byte; an empty list if
   * there is none. The digests are distinct. Sees every write that was acknowledged before the
   * call.
   */
  findByDigest(digests: readonly string[], options?: CallOptions): Awaitable<readonly KeyRecord[]>;

  /**
   * Returns the record with this key id, or `null`. Sees every write that was acknowledged before
   * the call.
   */
  findById(keyId: string, options?: CallOptions): Awaitable<KeyRecord | null>;

  /**
   * Returns at most `limit` records, ended ones included, newest first: by `createdAt`, then by
   * `keyId`, both descending. With `after`, only those that follow that position: a listing neither
   * repeats nor skips a record while keys are added.
   *
   * A damaged record takes its place like any other: its row has at least the `keyId`,
   * `entityUuid`, `prefix` and `createdAt` under which the store has filed it.
   */
  list(query: ListQuery, options?: CallOptions): Awaitable<readonly KeyRecord[]>;

  /**
   * Returns every record whose `rootKeyId` or `issuedUnder` this is, each once, ended ones
   * included, in any order.
   */
  listLineage(rootKeyId: string, options?: CallOptions): Awaitable<readonly KeyRecord[]>;

  /**
   * Writes a mark, if its condition holds: one conditional write, so that of several callers only
   * one can win. True only for the one that wrote; false also if there is no such key. Durable
   * before it answers. No other field and no other record changes.
   */
  mark(keyId: string, mark: Mark, options?: CallOptions): Awaitable<boolean>;

  /**
   * Records use. Moves `lastUsedAt` and each entry of `scopesUsed` only forward, keeps scopes that
   * are not mentioned, and ignores unknown key ids. Need not be atomic over the batch.
   */
  touch(entries: readonly UsageEntry[], options?: CallOptions): Awaitable<void>;

  /**
   * Optional; `pepperReport` needs it. Returns one row per digest scheme that has live keys at the
   * time `now`: neither revoked nor past `retireAt` or `expiresAt`; suspended ones count, because
   * they can be resumed. Default: the store's own clock.
   */
  summarize?(now?: number, options?: CallOptions): Awaitable<readonly SchemeSummary[]>;

  /**
   * Optional; `expiringKeys` needs it. Returns the records of all entities whose `expiresAt` is in
   * a span of time and which are not revoked, by `expiresAt` and then by `keyId`, both ascending.
   */
  listExpiring?(query: ExpiringQuery, options?: CallOptions): Awaitable<Slice<KeyRecord>>;

  /** Optional. Returns the records of all entities, each of them once, in an order of its own. */
  listAll?(query: SliceQuery, options?: CallOptions): Awaitable<Slice<KeyRecord>>;

  /**
   * Optional; for caches that ask instead of being told. Returns at most `limit` keys whose
   * `changedAt` is `since` or later, oldest first: by `changedAt`, then by `keyId`, both ascending.
   * With `after`, only those that follow that position, whether or not the key still stands there.
   * A part of fewer than `limit` is the last one.
   *
   * `after` leads past any number of keys that were marked in one millisecond; `since` does not. A
   * mark may show behind a position that a poller has passed, because clocks differ and writes
   * overlap: each round begins with a `since` that is some time back.
   */
  listChanged?(query: ChangedQuery, options?: CallOptions): Awaitable<readonly ChangedKey[]>;
}
