/**
 * The parts of listings over all entities, and their cursors: texts that name the last row of the
 * part before, as the table has it.
 */
import { assert } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { ExpiringQuery, Slice } from '../../core/store.js';
import { toRecord } from '../rows.js';
import type { Row } from './answers.js';

/** A position in the order of expiry. */
interface ExpiryPosition {
  readonly expiresAt: number;
  readonly keyId: string;
}

/** Before every time. */
const BEGINNING = Number.MIN_SAFE_INTEGER;

/** An id in a damaged row can be shorter than a UUID, and a time longer than any. */
const ALL_CURSOR = /^all\.(.{0,36})$/s;
const EXPIRING_CURSOR = /^expiring\.(-?\d{1,19})\.(.{0,36})$/s;

/** The key id after which a part of `listAll` begins; null for the first part. */
export function readAllCursor(after: unknown): string | null {
  if (after === null || after === undefined) return null;
  return matchCursor(after, ALL_CURSOR, 'listAll')[1] ?? null;
}

/** The position after which a part of `listExpiring` begins. */
export function readExpiringStart({ after, from }: ExpiringQuery): ExpiryPosition {
  // An empty text is before every key id. Callers may leave out the cursor.
  const isFirst = after === null || after === undefined;
  if (isFirst) return { expiresAt: from ?? BEGINNING, keyId: '' };
  const parts = matchCursor(after, EXPIRING_CURSOR, 'listExpiring');
  return { expiresAt: Number(parts[1]), keyId: parts[2] ?? '' };
}

function matchCursor(after: unknown, pattern: RegExp, method: string): RegExpExecArray {
  const parts = typeof after === 'string' ? pattern.exec(after) : null;
  assert(parts !== null, `${method}: after: pass what next of the part before was, or null`);
  return parts;
}

/** A part of `listAll`, from rows of which one more was asked for than the part may have. */
export function toAllSlice(rows: readonly Row[], limit: number): Slice<KeyRecord> {
  return toSlice(rows, limit, ({ key_id }) => `all.${key_id}`);
}

/** The same of `listExpiring`. */
export function toExpiringSlice(rows: readonly Row[], limit: number): Slice<KeyRecord> {
  return toSlice(rows, limit, ({ expires_at, key_id }) => `expiring.${expires_at}.${key_id}`);
}

function toSlice(
  rows: readonly Row[],
  limit: number,
  cursorAt: (row: Row) => string,
): Slice<KeyRecord> {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const isLast = rows.length <= limit || last === undefined;
  return { items: items.map(toRecord), next: isLast ? null : cursorAt(last) };
}
