/** What the reads of all stores have in common: what is asked, and which part of a listing. */
import { assert } from '../core/input.js';
import type { KeyRecord } from '../core/record.js';
import type { ChangedKey, ChangedQuery, KeyStore, Slice } from '../core/store.js';
import type { Writes } from './writes.js';

/** The methods that only read, those that are optional in the contract included. */
export type Reads = Omit<Required<KeyStore>, keyof Writes | 'isInProcess'>;

/** What each request asks for. */
export type LookUps = Pick<Reads, 'findByDigest' | 'findById'>;

/** What management asks for: the keys of an entity, and of a lineage. */
export type Listings = Pick<Reads, 'list' | 'listLineage'>;

/** What reports and caches ask for, over all entities. */
export type Reports = Omit<Reads, keyof LookUps | keyof Listings>;

// ── Parameters ──────────────────────────────────────────────────────────────────────────────────

/**
 * Whether `value` may be a parameter in a look-up of an id or a digest. Drivers give objects a
 * special meaning, and databases refuse a NUL or truncate text at it; no id or digest contains one.
 */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

/** The same where half a surrogate pair would arrive as U+FFFD. */
export function isWholeText(value: unknown): value is string {
  return isText(value) && value.isWellFormed();
}

// ── Parts of listings over all entities ─────────────────────────────────────────────────────────

/** A position in the order of expiry. */
export interface ExpiryPosition {
  readonly expiresAt: number;
  readonly keyId: string;
}

/** Cursors begin with the listing that they are of, so that none is taken for the other's. */
const ALL = /^all\.(.*)$/s;
const EXPIRING = /^expiring\.(-?\d{1,16})\.(.*)$/s;

/** The cursor of `listAll` that names a record. */
export function formatAllCursor({ keyId }: KeyRecord): string {
  return `all.${keyId}`;
}

/** The cursor of `listExpiring` that names a record. */
export function formatExpiringCursor({ expiresAt, keyId }: KeyRecord): string {
  return `expiring.${expiresAt}.${keyId}`;
}

/** Whether a key id, also one that somebody has edited, can be in the store's own cursors. */
type IsId = (keyId: string) => boolean;

/** The key id that a cursor of `listAll` names; null for the first part. */
export function readAllCursor(after: unknown, isId: IsId): string | null {
  const parts = readCursor(after, ALL, isId, 'listAll');
  return parts === null ? null : String(parts[1]);
}

/** The position that a cursor of `listExpiring` names; null for the first part. */
export function readExpiringCursor(after: unknown, isId: IsId): ExpiryPosition | null {
  const parts = readCursor(after, EXPIRING, isId, 'listExpiring');
  return parts === null ? null : { expiresAt: Number(parts[1]), keyId: String(parts[2]) };
}

/** The parts of a cursor, the last of which is a key id. A caller may leave the cursor out. */
function readCursor(
  after: unknown,
  pattern: RegExp,
  isId: IsId,
  method: string,
): readonly string[] | null {
  if (after === null || after === undefined) return null;
  const parts = typeof after === 'string' ? pattern.exec(after) : null;
  const isCursor = parts !== null && isId(String(parts.at(-1)));
  assert(isCursor, `${method}: after: pass \`next\` of the previous part, or null`);
  return parts;
}

/**
 * A part of at most `limit` items, from those found, of which one more was asked for: it tells
 * whether there is another part.
 *
 * @param toCursor Makes the cursor of the next part, from the last item of this one and the first
 *   that follows.
 */
export function toSlice<T>(
  found: readonly T[],
  limit: number,
  toCursor: (last: T, following: T) => string,
): Slice<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const following = found[limit];
  const hasMore = last !== undefined && following !== undefined;
  return { items, next: hasMore ? toCursor(last, following) : null };
}

// ── What has changed ────────────────────────────────────────────────────────────────────────────

/** Not before any other. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** The position that all keys of a part of `listChanged` follow: a time, then a key id. */
export function readChangesStart({ since, after }: ChangedQuery): ChangedKey {
  const isWithin = after !== null && after !== undefined && after.changedAt >= since;
  // Otherwise the last position in the millisecond before.
  return isWithin ? after : { changedAt: since - 1, keyId: LAST_ID };
}
