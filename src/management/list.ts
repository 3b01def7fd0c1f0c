/** Lists keys for the entities that own them and for the entities that they address. */
import type { Context } from '../core/context.js';
import { StoreError } from '../core/errors.js';
import { assert, readFlag, readInput, readInputFields, readInteger } from '../core/input.js';
import type { KeyRecord } from '../core/record.js';
import type { ListPosition } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import type { CheckedAuthority } from './authority.js';
import { readInfo, requireOwn } from './find.js';
import type { DamagedKey, KeyInfo } from './info.js';

/** The input of `list`: a page of the keys that an entity owns, or of those that address it. */
export interface ListInput {
  /** `next` of the previous page; null or absent for the first page. */
  readonly after?: string | null | undefined;
  /** The most keys on a page: 1 to 1,000. Default: 100. */
  readonly limit?: number | undefined;
  /** True lists the keys of others that address this entity. Default: false. */
  readonly addressing?: boolean | undefined;
}

/** A {@link ListInput} for the keys that an entity owns. */
export interface OwnInput extends ListInput {
  readonly addressing?: false | undefined;
}

/** A {@link ListInput} for the keys of others that address an entity. */
export interface AddressingInput extends ListInput {
  readonly addressing: true;
}

/** A page of keys, newest first. */
export interface ListPage<Key = KeyInfo> {
  /** The keys. A record that cannot be read is a `DamagedKey`, and hides no other. */
  readonly keys: readonly (Key | DamagedKey)[];
  /** Pass it as `after` for the next page. Null on the last page. */
  readonly next: string | null;
}

/** Another entity's key, as the entity that it addresses sees it. */
export interface AddressedKey extends Pick<KeyInfo, AddressedField> {
  /** Contains only the entity that asks. */
  readonly accessibleEntities: readonly string[];
  /** The entity that asks, if it has withdrawn from the key; otherwise empty. */
  readonly withdrawn: readonly string[];
}

type AddressedField =
  | 'keyId'
  | 'prefix'
  | 'hint'
  | 'name'
  | 'entityId'
  | 'scopes'
  | 'state'
  | 'createdAt'
  | 'expiresAt';

type AnyKey = KeyInfo | AddressedKey;

export async function list(
  context: Context,
  authority: CheckedAuthority,
  input: ListInput = {},
): Promise<ListPage<AnyKey>> {
  const { entityId } = authority;
  const given = readInputFields(input, ['after', 'limit', 'addressing'], 'list');
  const limit = readInput(given, 'limit', (value = 100, what) => readInteger(value, 1, 1000, what));
  const after = readInput(given, 'after', readCursor);
  const addressing = readInput(given, 'addressing', (flag = false, what) => readFlag(flag, what));
  const { prefix } = context.format;
  // One more than requested, to find out whether there is a next page.
  const query = { prefix, entityId, addressing, after, limit: limit + 1 };
  const rows = await context.store.list(query, { fresh: true });
  const isAsked = ({ prefix: found, entityId: owner }: KeyRecord): boolean =>
    found === prefix && (owner === entityId) !== addressing;
  if (rows.length > limit + 1 || !rows.every(isAsked)) {
    throw new StoreError('store.list returned more than it was asked for');
  }
  const infos = rows.slice(0, limit).map((row) => readInfo(context, row));
  const keys = addressing ? infos.map((info) => toAddressed(info, entityId)) : infos;
  const next = rows.length > limit ? cursorAfter(rows[limit - 1] as KeyRecord) : null;
  return { keys, next };
}

function toAddressed(info: KeyInfo | DamagedKey, asking: string): AddressedKey | DamagedKey {
  if (!('name' in info)) return info;
  const { keyId, prefix, hint, name, entityId, scopes, state, createdAt, expiresAt } = info;
  const isAsking = (entity: string): boolean => entity === asking;
  const accessibleEntities = info.accessibleEntities.filter(isAsking);
  if (accessibleEntities.length === 0) {
    // The row was edited. It stays in the list, so that it hides no other.
    if (info.tampered) {
      return { state: state === 'revoked' ? state : 'damaged', keyId, entityId };
    }
    throw new StoreError('store.list returned more than it was asked for');
  }
  return {
    keyId,
    prefix,
    hint,
    name,
    entityId,
    accessibleEntities,
    withdrawn: info.withdrawn.filter(isAsking),
    scopes,
    state,
    createdAt,
    expiresAt,
  };
}

export async function get(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<KeyInfo | DamagedKey> {
  return readInfo(context, await requireOwn(context, authority, keyId));
}

/** Makes the cursor after an unchecked row: its creation time in base 36, a dot, its key id. */
function cursorAfter({ createdAt, keyId }: ListPosition): string {
  if (Number.isSafeInteger(createdAt)) return `${createdAt.toString(36)}.${keyId}`;
  throw new StoreError('store.list returned a row without its position; see KeyStore');
}

/** Reads a cursor, if there is one. It is genuine if writing it again gives the same text. */
function readCursor(cursor: unknown): ListPosition | null {
  if (cursor == null) return null;
  const [time = '', keyId = ''] = String(cursor).slice(0, 64).split('.');
  const createdAt = Number.parseInt(time, 36);
  const isPosition = Number.isSafeInteger(createdAt) && isUuid(keyId);
  const isGenuine = isPosition && cursorAfter({ createdAt, keyId }) === cursor;
  assert(isGenuine, 'after: pass `next` of the previous page', cursor);
  return { createdAt, keyId };
}
