/** Shows keys to those who manage them. */
import { type Authority, type Context, checkAuthority, findOwn, showRow } from './context.js';
import { StoreError } from './errors.js';
import { expect, fields, isUuid, quote, whole } from './input.js';
import type { KeyInfo } from './record.js';
import type { ListPosition } from './store.js';

/** `after`: `next` of the page before. `limit`: 1 to 1,000; 100 unless given. */
export type ListInput = { readonly after?: string | null | undefined; readonly limit?: number | undefined };

/** One page, newest first. `next` is what to pass as `after` for the page behind it; `null` on the last. */
export type ListPage = { readonly keys: readonly KeyInfo[]; readonly next: string | null };

export async function list({ store }: Context, input: ListInput | undefined, authority: Authority): Promise<ListPage> {
  const { entityUuid } = checkAuthority(authority);
  const { after = null, limit: asked = 100 } = fields(input === undefined ? {} : input, ['after', 'limit'], 'list');
  const limit = whole(asked, 1, 1000, 'limit');
  // One more than asked for: whether there is a next page.
  const rows = await store.list({ entityUuid, after: readCursor(after), limit: limit + 1 });
  const right = rows.length <= limit + 1 && rows.every((row) => row?.entityUuid === entityUuid);
  if (!right) throw new StoreError('store.list returned more than it was asked for');
  const keys = rows.slice(0, limit).map(showRow);
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  return { keys, next: last ? cursorOf(last) : null };
}

export const get = async (context: Context, keyId: string, authority: Authority): Promise<KeyInfo | null> =>
  findOwn(context, keyId, checkAuthority(authority)).then((row) => row && showRow(row));

/** A cursor is the position of the last record shown: creation time in base 36, a dot, key id. */
const cursorOf = ({ createdAt, keyId }: ListPosition) => `${createdAt.toString(36)}.${keyId}`;

/** Reads a cursor: what is written back as it stood is genuine. */
function readCursor(cursor: unknown): ListPosition | null {
  if (cursor === null) return null;
  const [time = '', keyId = ''] = typeof cursor === 'string' ? cursor.slice(0, 64).split('.') : [];
  const read = { createdAt: Number.parseInt(time, 36), keyId };
  const genuine = cursorOf(read) === cursor && Number.isSafeInteger(read.createdAt) && isUuid(keyId);
  expect(genuine, `after: pass \`next\` of the page before, not ${quote(cursor)}`);
  return read;
}
