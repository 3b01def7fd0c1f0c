/**
 * Parts of listings over all entities. A cursor names the first record of the part that it begins,
 * which the part before has read and not shown.
 */
import { assert } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { ExpiringQuery, Slice } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';

/** Not after any other. */
export const FIRST_ID: string = '00000000-0000-0000-0000-000000000000';

/** Not after any other: the smallest 64-bit integer. */
const FIRST_TIME = '-9223372036854775808';

/** Its listing, and a key id. */
const ALL = /^all\.([0-9a-f-]{36})$/;

/** Its listing, a time and a key id. */
const EXPIRING = /^expiring\.(-?\d{1,16})\.([0-9a-f-]{36})$/;

/** A position in the order of expiry, as parameters of the statement. */
interface ExpiryPosition {
  readonly expiresAt: string;
  readonly keyId: string;
}

/** The key id at which a part of `listAll` begins. */
export function readAllCursor(after: string | null | undefined): string {
  if (isFirst(after)) return FIRST_ID;
  const parts = matchCursor(after, ALL, 'listAll');
  return String(parts[1]);
}

/** The position at which a part of `listExpiring` begins. */
export function readExpiringStart({ after, from }: ExpiringQuery): ExpiryPosition {
  if (isFirst(after)) return { expiresAt: String(from ?? FIRST_TIME), keyId: FIRST_ID };
  const parts = matchCursor(after, EXPIRING, 'listExpiring');
  return { expiresAt: String(parts[1]), keyId: String(parts[2]) };
}

/** Callers may leave out the cursor to start at the first record. */
function isFirst(after: string | null | undefined): after is null | undefined {
  return after === null || after === undefined;
}

function matchCursor(after: unknown, pattern: RegExp, method: string): readonly string[] {
  const parts = typeof after === 'string' ? pattern.exec(after) : null;
  const isCursor = parts !== null && isUuid(parts.at(-1));
  assert(isCursor, `${method}: pass \`next\` of the previous part as \`after\`, or null`);
  return parts;
}

export function writeAllCursor({ keyId }: KeyRecord): string {
  return `all.${keyId}`;
}

export function writeExpiringCursor({ expiresAt, keyId }: KeyRecord): string {
  return `expiring.${expiresAt}.${keyId}`;
}

/** A part of `limit` records, made of as many and, unless it is the last part, one more. */
export function toSlice(
  records: readonly KeyRecord[],
  limit: number,
  writeCursor: (first: KeyRecord) => string,
): Slice<KeyRecord> {
  const following = records[limit];
  const next = following === undefined ? null : writeCursor(following);
  return { items: records.slice(0, limit), next };
}
