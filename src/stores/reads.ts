/**
 * The reads that all stores share: their types, checks of parameters, and the parts of listings.
 */
import { assert } from '../core/input.js';
import type { KeyRecord } from '../core/record.js';
import type { ChangedKey, ChangedQuery, ExpiringQuery, KeyStore, Slice } from '../core/store.js';
import type { Writes } from './writes.js';

/** The methods that only read, including the optional ones of the contract. */
export type Reads = Omit<Required<KeyStore>, keyof Writes | 'isInProcess'>;

/** The reads that requests use. */
export type LookUps = Pick<Reads, 'findByDigest' | 'findById'>;

/** The reads that management uses: the keys of an entity, and of a lineage. */
export type Listings = Pick<Reads, 'list' | 'listLineage'>;

/** The reads that reports and caches use, over all entities. */
export type Reports = Omit<Reads, keyof LookUps | keyof Listings>;

// ── Parameters ──────────────────────────────────────────────────────────────────────────────────

/**
 * Checks whether `value` may be a parameter in a look-up of an id or a digest. Drivers give objects
 * a special meaning, and databases reject a NUL or truncate the text there. No id or digest
 * contains a NUL.
 */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}

/** Does the same where half a surrogate pair would arrive as U+FFFD. */
export function isWholeText(value: unknown): value is string {
  return isText(value) && value.isWellFormed();
}

// ── Parts of listings over all entities ─────────────────────────────────────────────────────────

/** A position in the order of expiry. */
export interface ExpiryPosition {
  readonly expiresAt: number;
  readonly keyId: string;
}

/** Cursors begin with the name of their listing, so that they cannot be mixed up. */
const ALL = /^all\.(.*)$/s;
const EXPIRING = /^expiring\.(-?\d{1,16})\.(.*)$/s;

/** Returns the cursor of `listAll` for a record. */
export function formatAllCursor({ keyId }: KeyRecord): string {
  return `all.${keyId}`;
}

/** Returns the cursor of `listExpiring` for a record. */
export function formatExpiringCursor({ expiresAt, keyId }: KeyRecord): string {
  return `expiring.${expiresAt}.${keyId}`;
}

/** Checks whether a key id, perhaps one edited by hand, can occur in the store's own cursors. */
type IsId = (keyId: string) => boolean;

/** Returns the key id in a cursor of `listAll`, or null for the first part. */
export function readAllCursor(after: unknown, isId: IsId): string | null {
  const parts = readCursor(after, ALL, isId, 'listAll');
  return parts === null ? null : String(parts[1]);
}

/** Returns the position in a cursor of `listExpiring`, or null for the first part. */
export function readExpiringCursor(after: unknown, isId: IsId): ExpiryPosition | null {
  const parts = readCursor(after, EXPIRING, isId, 'listExpiring');
  return parts === null ? null : { expiresAt: Number(parts[1]), keyId: String(parts[2]) };
}

/**
 * Returns the position after which a part of `listExpiring` begins.
 *
 * @param firstId Sorts before every other id.
 */
export function readExpiringStart(
  { after, from }: ExpiringQuery,
  isId: IsId,
  firstId: string = '',
): ExpiryPosition {
  // Not -Infinity, which is not an integer and which JSON lacks.
  const beginning = { expiresAt: from ?? Number.MIN_SAFE_INTEGER, keyId: firstId };
  return readExpiringCursor(after, isId) ?? beginning;
}

/** Splits a cursor; its last part is a key id. A caller may leave the cursor out. */
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
 * Returns a part of at most `limit` items. The query asked for one item more, which shows whether
 * another part follows.
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

// ── Changes ──────────────────────────────────────────────────────────────────────────────────────

/** Sorts after every other id. */
export const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Returns the position after which a part of `listChanged` begins: a time, then a key id. */
export function readChangesStart({ since, after }: ChangedQuery): ChangedKey {
  const isWithin = after !== null && after !== undefined && after.changedAt >= since;
  // The last position in the millisecond before `since`.
  return isWithin ? after : { changedAt: since - 1, keyId: LAST_ID };
}
