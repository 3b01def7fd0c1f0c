/** Shows keys to those who manage them. */
import type { CheckedAuthority } from './authority.js';
import type { Context } from './context.js';
import { StoreError } from './errors.js';
import { findOwn, readInfo } from './find.js';
import type { KeyInfo } from './info.js';
import { assert, readFields, readInteger } from './input.js';
import type { ListPosition } from './store.js';
import { isUuid } from './uuid.js';

/** Which page of an entity's keys. */
export interface ListInput {
  /** `next` of the previous page; null or absent for the first. */
  readonly after?: string | null | undefined;
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined;
}

/** One page, newest first. */
export interface ListPage {
  readonly keys: readonly KeyInfo[];
  /** What to pass as `after` for the following page; null on the last. */
  readonly next: string | null;
}

export async function list(
  context: Context,
  authority: CheckedAuthority,
  input: ListInput = {},
): Promise<ListPage> {
  const { entityUuid } = authority;
  const { after = null, limit: asked = 100 } = readFields(input, ['after', 'limit'], 'list');
  const limit = readInteger(asked, 1, 1000, 'limit');
  const position = after === null ? null : readCursor(after);
  // One more than requested shows whether there is a next page.
  const rows = await context.store.list({ entityUuid, after: position, limit: limit + 1 });
  const isAsked = rows.length <= limit + 1 && rows.every((row) => row?.entityUuid === entityUuid);
  if (!isAsked) throw new StoreError('store.list returned more than it was asked for');
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const keys = rows.slice(0, limit).map(readInfo);
  return { keys, next: last === undefined ? null : writeCursor(last) };
}

export async function get(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<KeyInfo | null> {
  const row = await findOwn(context, authority, keyId);
  return row === null ? null : readInfo(row);
}

/** A cursor is the position of the last record shown: creation time in base 36, a dot, key id. */
function writeCursor({ createdAt, keyId }: ListPosition): string {
  return `${createdAt.toString(36)}.${keyId}`;
}

/** Reads a cursor: it is genuine if writing it again gives the same text. */
function readCursor(cursor: unknown): ListPosition {
  const position = typeof cursor === 'string' ? positionIn(cursor.slice(0, 64)) : null;
  const isGenuine = position !== null && writeCursor(position) === cursor;
  assert(isGenuine, 'after: pass `next` of the previous page', cursor);
  return position;
}

function positionIn(text: string): ListPosition | null {
  const [time = '', keyId = ''] = text.split('.');
  const createdAt = Number.parseInt(time, 36);
  return Number.isSafeInteger(createdAt) && isUuid(keyId) ? { createdAt, keyId } : null;
}
