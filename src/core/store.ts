/**
 * The contract of a store: seven methods, and four optional ones for reports and caches. An
 * interface without code.
 *
 * A store may answer synchronously or with promises. It never sees a plaintext key, makes no
 * decisions and checks no scopes: the core checks everything that it returns. If a method throws or
 * rejects, the core treats the store as broken, and the request gets a 503. `keyscope/testing` has
 * the suite that every store must pass.
 */
import type { KeyRecord, Usage } from './record.js';

/** A value, or a promise of one. */
export type Awaitable<T> = T | PromiseLike<T>;

/** The options of a call, the last argument of every method. */
export interface CallOptions {
  /** Aborted once nobody waits for the answer any more. The store may then stop working on it. */
  readonly signal?: AbortSignal | undefined;
  /** If true, the answer must not come from a cache. A store without one ignores this. */
  readonly fresh?: boolean | undefined;
}

// ── Listings ────────────────────────────────────────────────────────────────────────────────────

/** A position in a listing: the creation time and id of the last record seen. */
export interface ListPosition {
  readonly createdAt: number;
  readonly keyId: string;
}

/** A query for one part of a listing. */
export interface ListQuery {
  /** Only keys with this prefix. */
  readonly prefix: string;
  /** The entity that owns the keys; with `addressing`, the entity that they address. */
  readonly entityId: string;
  /**
   * If true, lists the keys of other entities whose `accessibleEntities` contain this one,
   * including those from which it withdrew. Default: false.
   */
  readonly addressing?: boolean | undefined;
  /** The position of the last record before this part; null for the first part. */
  readonly after: ListPosition | null;
  readonly limit: number;
}

/** A part of a listing over all entities. */
export interface Slice<T> {
  readonly items: readonly T[];
  /**
   * Pass it as `after` for the next part. A text in the store's own format; null on the last part.
   */
  readonly next: string | null;
}

/** A query for one part of a listing over all entities. */
export interface SliceQuery {
  /** `next` of the previous part; null for the first part. */
  readonly after: string | null;
  readonly limit: number;
}

/** A query for keys that expire soon. */
export interface ExpiringQuery extends SliceQuery {
  /** Only keys that expire at this time or later. Default: no lower limit. */
  readonly from?: number | undefined;
  /** Only keys that expire before this time. Both are milliseconds since the epoch. */
  readonly before: number;
}

/** A query for one part of the keys that were marked recently. */
export interface ChangedQuery {
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** The last key of the previous part; null or absent for the first part. */
  readonly after?: ChangedKey | null | undefined;
  readonly limit: number;
}

/** A key that was marked. It is also a position in the listing of such keys. */
export interface ChangedKey {
  readonly keyId: string;
  /** When the newest mark was written, in milliseconds since the epoch. */
  readonly changedAt: number;
}

/** The live keys of one digest scheme. */
export interface SchemeSummary {
  /** `s1` or `h1.<pepper id>`. */
  readonly scheme: string;
  /** The number of live keys. */
  readonly live: number;
  /** When one of them was last used, in milliseconds since the epoch; null for never. */
  readonly lastUsedAt: number | null;
}

/** A query for one part of the keys of a lineage. */
export interface LineageQuery {
  /** Only keys whose `rootKeyId` or `issuedUnder` this is. */
  readonly rootKeyId: string;
  /** The id of the last key of the previous part; null for the first part. */
  readonly after: string | null;
  readonly limit: number;
}

// ── Marks ───────────────────────────────────────────────────────────────────────────────────────

/** When a mark is made, in milliseconds. `changedAt` becomes the later of its value and `at`. */
interface MarkTime {
  readonly at: number;
}

/**
 * Ends a key for good. Without `replaces`, it applies only if `revokedAt` is null, which becomes
 * `at`. With it, it applies only if `revokedAt` is set, which stays, and `seal` is `replaces`.
 */
export interface RevokeMark extends MarkTime {
  readonly kind: 'revoke';
  /** Becomes `endedBy`. */
  readonly by: string | null;
  /** Becomes `endReason`. */
  readonly reason: string | null;
  /** Becomes `seal`, in the same write. */
  readonly seal: string | null;
  /** The `seal` as read, to mark a row again that is revoked already. Null is like absent. */
  readonly replaces?: string | null | undefined;
}

/** Suspends a key at `at`. Applies only if `revokedAt` and `suspendedAt` are null. */
export interface SuspendMark extends MarkTime {
  readonly kind: 'suspend';
  /** Becomes `endedBy`. */
  readonly by: string | null;
  /** Becomes `endReason`. */
  readonly reason: string | null;
}

/**
 * Sets the end of a key that has a successor. Applies only if `revokedAt`, `suspendedAt` and
 * `retireAt` are null and `withdrawn` is as given.
 */
export interface RetireMark extends MarkTime {
  readonly kind: 'retire';
  /** Becomes `retireAt`. */
  readonly retireAt: number;
  /** Becomes `endedBy`. */
  readonly by: string | null;
  /** Becomes `endReason`. */
  readonly reason: string | null;
  /** `withdrawn` as it was when the successor's entities were chosen. Default: an empty list. */
  readonly withdrawn?: readonly string[] | undefined;
}

/**
 * Ends a suspension. Applies only if `revokedAt` is null and `suspendedAt` is not. `suspendedAt`,
 * `endedBy` and `endReason` become null.
 */
export interface ResumeMark extends MarkTime {
  readonly kind: 'resume';
}

/** Appends an entity to `withdrawn`. Applies only if the entity is not in the list yet. */
export interface WithdrawMark extends MarkTime {
  readonly kind: 'withdraw';
  readonly entityId: string;
}

/** A change to a key after it was made. Fields that a mark does not name stay the same. */
export type Mark = RevokeMark | SuspendMark | RetireMark | ResumeMark | WithdrawMark;

/** The use of one key. */
export interface UsageEntry extends Usage {
  readonly keyId: string;
}

// ── The store ───────────────────────────────────────────────────────────────────────────────────

/** The contract of a store, method by method. `keyscope/testing` tests it. */
export interface KeyStore {
  /**
   * Whether the records exist only as long as the process, for example in memory. The command then
   * refuses to make a key, because the key would end with the command. Default: false.
   */
  readonly isInProcess?: boolean | undefined;

  /**
   * Writes a new record and its entry in every listing, and answers once both are durable. Atomic:
   * it writes everything or nothing. If a record with this key id or this digest exists, it throws
   * and leaves that record unchanged.
   */
  insert(record: KeyRecord, options?: CallOptions): Awaitable<void>;

  /**
   * Returns every record whose digest is one of `digests`, compared byte for byte, or an empty
   * list. The digests are distinct. Sees every write that was acknowledged before the call.
   */
  findByDigest(digests: readonly string[], options?: CallOptions): Awaitable<readonly KeyRecord[]>;

  /**
   * Returns the record with this key id, or `null`. Sees every write that was acknowledged before
   * the call.
   */
  findById(keyId: string, options?: CallOptions): Awaitable<KeyRecord | null>;

  /**
   * Returns at most `limit` records, including ended ones, newest first: by `createdAt`, then by
   * `keyId`, both descending. With `after`, returns only records that follow that position, so that
   * a listing neither repeats nor skips a record while keys are added.
   *
   * A damaged record appears in its place like any other: its row has at least the `keyId`,
   * `entityId`, `prefix` and `createdAt` under which the store filed it.
   */
  list(query: ListQuery, options?: CallOptions): Awaitable<readonly KeyRecord[]>;

  /**
   * Returns at most `limit` records with this `rootKeyId` or this `issuedUnder`, each once,
   * including ended ones, by `keyId`, ascending. With `after`, returns only records with a greater
   * id. A key that is added during a listing may come before `after`; the caller then lists again.
   */
  listLineage(query: LineageQuery, options?: CallOptions): Awaitable<readonly KeyRecord[]>;

  /**
   * Writes a mark if its condition holds, in one conditional write, so that only one of several
   * callers can win. Returns true only to the caller that wrote, and false also for an unknown key.
   * Answers once the write is durable. No other field and no other record changes.
   */
  mark(keyId: string, mark: Mark, options?: CallOptions): Awaitable<boolean>;

  /**
   * Records usage. Moves `lastUsedAt` and each entry of `scopesUsed` only forward, keeps scopes
   * that are not mentioned, and ignores unknown key ids. The batch need not be atomic.
   */
  touch(entries: readonly UsageEntry[], options?: CallOptions): Awaitable<void>;

  /**
   * Optional; `pepperReport` needs it. Returns one row per digest scheme with live keys at the time
   * `now`. Keys are live if they are neither revoked nor past `retireAt` or `expiresAt`. Suspended
   * keys count, because they can be resumed. Default of `now`: the store's own clock.
   */
  summarize?(now?: number, options?: CallOptions): Awaitable<readonly SchemeSummary[]>;

  /**
   * Optional; `expiringKeys` needs it. Returns the records of all entities that are not revoked and
   * whose `expiresAt` is in a span of time, by `expiresAt` and then by `keyId`, both ascending.
   */
  listExpiring?(query: ExpiringQuery, options?: CallOptions): Awaitable<Slice<KeyRecord>>;

  /**
   * Optional. Returns the records of all entities, each once, in an order that the store chooses.
   */
  listAll?(query: SliceQuery, options?: CallOptions): Awaitable<Slice<KeyRecord>>;

  /**
   * Optional; for caches that poll. Returns at most `limit` keys whose `changedAt` is `since` or
   * later, oldest first: by `changedAt`, then by `keyId`, both ascending. With `after`, returns
   * only keys that follow that position, whether or not the key is still there. A part with fewer
   * than `limit` keys is the last one.
   *
   * `after` gets past any number of keys that were marked in the same millisecond; `since` does
   * not. A mark can appear behind a position that a poller has passed, because clocks differ and
   * writes overlap. Each round therefore begins with a `since` some time in the past.
   */
  listChanged?(query: ChangedQuery, options?: CallOptions): Awaitable<readonly ChangedKey[]>;
}
