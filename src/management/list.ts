/** Shows keys to those who manage them, and to those whom they address. */
import type { Context } from '../core/context.js';
import { StoreError } from '../core/errors.js';
import { assert, readFlag, readInput, readInputFields, readInteger } from '../core/input.js';
import type { KeyRecord, KeyState } from '../core/record.js';
import type { ListPosition } from '../core/store.js';
import { isUuid } from '../core/uuid.js';
import type { CheckedAuthority } from './authority.js';
import { readInfo, requireOwn } from './find.js';
import type { DamagedKey, KeyInfo } from './info.js';

/** Which page of the keys that belong to an entity, or that address it. */
export interface ListInput {
  /** `next` of the previous page; null or absent for the first. */
  readonly after?: string | null | undefined;
  /** 1 to 1,000; default 100. */
  readonly limit?: number | undefined;
  /** True lists the keys of others that address this entity. Default: false. */
  readonly addressing?: boolean | undefined;
}

/** The same for the keys that belong to an entity. */
export interface OwnInput extends ListInput {
  readonly addressing?: false | undefined;
}

/** The same for the keys of others that address an entity. */
export interface AddressingInput extends ListInput {
  readonly addressing: true;
}

/** One page, newest first. */
export interface ListPage<Key = KeyInfo> {
  /** `DamagedKey` where a record cannot be read: one bad row hides no other. */
  readonly keys: readonly (Key | DamagedKey)[];
  /** What to pass as `after` for the following page; null on the last. */
  readonly next: string | null;
}

/** What an entity learns of another's key that addresses it. */
export interface AddressedKey {
  /** Names the key. */
  readonly keyId: string;
  /** What the key begins with, before the last `_`. */
  readonly prefix: string;
  /** The last four characters of the key. */
  readonly hint: string;
  /** What its owner calls the key. */
  readonly name: string;
  /** The owner. */
  readonly entityUuid: string;
  /** Only the entity that asks. */
  readonly accessibleEntities: readonly string[];
  /** The entity that asks, if it cut itself off from the key; otherwise empty. */
  readonly withdrawn: readonly string[];
  /** Concrete, in the order of the catalog at the time. */
  readonly scopes: readonly string[];
  /** What became of the key: whether it is live, and if not, why. */
  readonly state: KeyState;
  /** When the key was made. */
  readonly createdAt: Date;
  /** When the key ends by itself; null for never. */
  readonly expiresAt: Date | null;
}

type AnyKey = KeyInfo | AddressedKey;

export async function list(
  context: Context,
  authority: CheckedAuthority,
  input: ListInput = {},
): Promise<ListPage<AnyKey>> {
  const { entityUuid } = authority;
  const given = readInputFields(input, ['after', 'limit', 'addressing'], 'list');
  const limit = readInput(given, 'limit', (value = 100, what) => readInteger(value, 1, 1000, what));
  const after = readInput(given, 'after', (value) => (value == null ? null : readCursor(value)));
  const addressing = readInput(given, 'addressing', (flag = false, what) => readFlag(flag, what));
  const { prefix } = context.format;
  // One more than requested shows whether there is a next page.
  const query = { prefix, entityUuid, addressing, after, limit: limit + 1 };
  const rows = await context.store.list(query, { fresh: true });
  const isAsked = ({ prefix: found, entityUuid: owner }: KeyRecord): boolean =>
    found === prefix && (owner === entityUuid) !== addressing;
  if (rows.length > limit + 1 || !rows.every(isAsked)) {
    throw new StoreError('store.list returned more than it was asked for');
  }
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  const infos = rows.slice(0, limit).map((row) => readInfo(context, row));
  const keys = addressing ? infos.map((info) => toAddressed(info, entityUuid)) : infos;
  return { keys, next: last === undefined ? null : cursorAfter(last) };
}

function toAddressed(info: KeyInfo | DamagedKey, asking: string): AddressedKey | DamagedKey {
  if (!('name' in info)) return info;
  const { keyId, prefix, hint, name, entityUuid, scopes, state, createdAt, expiresAt } = info;
  const isAsking = (entity: string): boolean => entity === asking;
  const accessibleEntities = info.accessibleEntities.filter(isAsking);
  if (accessibleEntities.length === 0) {
    // Somebody edited the row: it keeps its place, so that it hides no other.
    if (info.tampered) {
      return { state: state === 'revoked' ? state : 'damaged', keyId, entityUuid };
    }
    throw new StoreError('store.list returned more than it was asked for');
  }
  return {
    keyId,
    prefix,
    hint,
    name,
    entityUuid,
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

/** The cursor of an unchecked row. */
function cursorAfter(row: KeyRecord): string {
  if (Number.isSafeInteger(row.createdAt)) return writeCursor(row);
  throw new StoreError('store.list returned a row without its position; see KeyStore');
}

/** A cursor is the position of the last record shown: creation time in base 36, a dot, key id. */
function writeCursor({ createdAt, keyId }: ListPosition): string {
  return `${createdAt.toString(36)}.${keyId}`;
}

/** Reads a cursor: it is genuine if writing it again gives the same text. */
function readCursor(cursor: unknown): ListPosition {
  const [time = '', keyId = ''] = String(cursor).slice(0, 64).split('.');
  const createdAt = Number.parseInt(time, 36);
  const isPosition = Number.isSafeInteger(createdAt) && isUuid(keyId);
  const isGenuine = isPosition && writeCursor({ createdAt, keyId }) === cursor;
  assert(isGenuine, 'after: pass `next` of the previous page', cursor);
  return { createdAt, keyId };
}
