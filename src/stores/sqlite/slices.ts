/**
 * Parts of listings over all entities. Each begins after a cursor, a text that names the last
 * record of the part before.
 */
import { assert, MAX_TIME } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { ExpiringQuery, Slice } from '../../core/store.js';
import { isText } from '../bindable.js';
import { toRecord } from '../rows.js';

/** The position of a record by its expiry. */
interface ExpiryPosition {
  readonly expiresAt: number;
  readonly keyId: string;
}

/** The cursor of `listAll`: which listing it is of, and a key id. */
const ALL = /^all\.(.+)$/s;

/** The cursor of `listExpiring`: which listing it is of, a time, and a key id. */
const EXPIRING = /^expiring\.(-?\d{1,16})\.(.+)$/s;

/** The key id after which a part of `listAll` begins; an empty text at the beginning. */
export function readAllCursor(after: string | null | undefined): string {
  return readCursor(after, ALL, 'listAll')?.at(1) ?? '';
}

/** The position after which a part of `listExpiring` begins: a time, and a key id. */
export function readExpiringStart({ after, from }: ExpiringQuery): ExpiryPosition {
  const found = readCursor(after, EXPIRING, 'listExpiring');
  // An empty text is before every key id.
  if (found === null) return { expiresAt: from ?? -MAX_TIME, keyId: '' };
  return { expiresAt: Number(found.at(1)), keyId: String(found.at(2)) };
}

/** Null at the beginning. */
function readCursor(
  after: string | null | undefined,
  pattern: RegExp,
  what: string,
): RegExpExecArray | null {
  if (after === null || after === undefined) return null;
  const found = isText(after) ? pattern.exec(after) : null;
  assert(found !== null, `${what}: after: pass \`next\` of the previous part, or null`);
  return found;
}

function writeAllCursor({ keyId }: KeyRecord): string {
  return `all.${keyId}`;
}

function writeExpiringCursor({ expiresAt, keyId }: KeyRecord): string {
  return `expiring.${expiresAt}.${keyId}`;
}

/** The part of `listAll` in rows of which one more was asked for than a part has. */
export function toAllSlice(rows: readonly unknown[], limit: number): Slice<KeyRecord> {
  return toSlice(rows, limit, writeAllCursor);
}

/** The same of `listExpiring`. */
export function toExpiringSlice(rows: readonly unknown[], limit: number): Slice<KeyRecord> {
  return toSlice(rows, limit, writeExpiringCursor);
}

function toSlice(
  rows: readonly unknown[],
  limit: number,
  writeCursor: (last: KeyRecord) => string,
): Slice<KeyRecord> {
  const items = rows.slice(0, limit).map(toRecord);
  const last = items.at(-1);
  const isLast = rows.length <= limit || last === undefined;
  return { items, next: isLast ? null : writeCursor(last) };
}
