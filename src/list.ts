/** Shows keys to those who manage them. */
import type { Authority } from './authority.js';
import { checkAuthority } from './authority.js';
import { StoreError } from './errors.js';
import { expect, fields, isUuid, quote, whole } from './input.js';
import type { KeyInfo } from './record.js';
import { toKeyInfo } from './record.js';
import type { KeyStore, ListPosition } from './store.js';

/** Which part of a listing. */
export interface ListInput {
  /** `next` of the page before. */
  readonly after?: string | null | undefined;
  /** 1 to 1,000; 100 unless given. */
  readonly limit?: number | undefined;
}

/** One page, newest first. */
export interface ListPage {
  readonly keys: readonly KeyInfo[];
  /** What to pass as `after` for the next page; `null` on the last. */
  readonly next: string | null;
}

export function createList(store: KeyStore) {
  return async (input: ListInput, authority: Authority): Promise<ListPage> => {
    const { entityUuid } = checkAuthority(authority);
    const given = fields(input, ['after', 'limit'], 'list');
    const limit = whole(given.limit ?? 100, 1, 1000, 'limit');
    const after = readCursor(given.after ?? null);
    // One more than asked for: whether there is a next page.
    const records = await store.list({ entityUuid, after, limit: limit + 1 });
    const foreign = records.some((record) => record.entityUuid !== entityUuid);
    if (foreign || records.length > limit + 1) throw new StoreError('store.list broke its contract');
    const page = records.slice(0, limit);
    const last = records.length > limit ? page.at(-1) : undefined;
    const next = last === undefined ? null : `${last.createdAt.toString(36)}.${last.keyId}`;
    return { keys: page.map(toKeyInfo), next };
  };
}

export function createGet(store: KeyStore) {
  return async (keyId: string, authority: Authority): Promise<KeyInfo | null> => {
    const { entityUuid } = checkAuthority(authority);
    expect(typeof keyId === 'string', `keyId: pass a string, not ${quote(keyId)}`);
    const record = isUuid(keyId) ? await store.findById(keyId) : null;
    return record?.entityUuid === entityUuid ? toKeyInfo(record) : null;
  };
}

/** A cursor is the position of the last record shown: creation time in base 36, a dot, key id. */
function readCursor(cursor: unknown): ListPosition | null {
  if (cursor === null) return null;
  const [time = '', keyId, ...rest] = typeof cursor === 'string' ? cursor.slice(0, 64).split('.') : [];
  const createdAt = Number.parseInt(time, 36);
  const canonical = createdAt.toString(36) === time && Number.isSafeInteger(createdAt);
  const genuine = canonical && isUuid(keyId) && rest.length === 0;
  expect(genuine, `after: pass \`next\` of the page before, not ${quote(cursor)}`);
  return { createdAt, keyId };
}
