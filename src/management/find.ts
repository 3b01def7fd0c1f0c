/** Finds keys for management calls and shows them, including damaged ones. */
import type { Context } from '../core/context.js';
import { isEntityId } from '../core/entity.js';
import { AccessError, InputError, StoreError } from '../core/errors.js';
import { quote } from '../core/input.js';
import { looksLikeKey } from '../core/masking.js';
import { isLaterFormat, type KeyRecord, readRecord } from '../core/record.js';
import { isSealed } from '../core/seal.js';
import { isUuid } from '../core/uuid.js';
import { schemeOf } from '../core/verify.js';
import type { CheckedAuthority } from './authority.js';
import { hasEnded, shownState } from './ended.js';
import { type DamagedKey, type KeyInfo, toKeyInfo } from './info.js';

/** Reads an unchecked row of any keyring, bypassing the cache. Returns null if there is none. */
export async function readFresh({ store }: Context, keyId: string): Promise<KeyRecord | null> {
  return store.findById(keyId, { fresh: true });
}

/** Reads the unchecked row of a key of this keyring. Throws `not_found`. */
export async function findRow(context: Context, keyId: unknown): Promise<KeyRecord> {
  if (typeof keyId !== 'string') {
    throw new InputError('keyId', `keyId: pass a string, not ${quote(keyId)}`);
  }
  if (looksLikeKey(keyId)) throw new InputError('keyId', "keyId: pass the key's id, not the key");
  const row = isUuid(keyId) ? await readFresh(context, keyId) : null;
  if (row === null) throw new AccessError('not_found', 'no_such_key');
  if (row.prefix !== context.format.prefix) throw foreignKey();
  return row;
}

/** Does the same for a key that the entity owns. */
export async function requireOwn(
  context: Context,
  authority: CheckedAuthority,
  keyId: unknown,
): Promise<KeyRecord> {
  const row = await findRow(context, keyId);
  if (row.entityId !== authority.entityId) throw foreignKey();
  return row;
}

/** Checks whether a row is one of this keyring and of the entity. */
export function isOwn({ format }: Context, entityId: string, row: KeyRecord): boolean {
  return row.prefix === format.prefix && row.entityId === entityId;
}

/** The error for another's key. The caller learns only `not_found`; the event has the reason. */
export function foreignKey(): AccessError {
  return new AccessError('not_found', 'foreign_key');
}

/** Shows a row, whatever its state. */
export function readInfo(context: Context, row: unknown): KeyInfo | DamagedKey {
  const record = readRecord(row);
  if (record === null) return readDamaged(context, row as KeyRecord);
  const state = shownState(context, record);
  const scheme = schemeOf(context, record);
  const tampered = scheme !== undefined && !isSealed(record, scheme);
  return toKeyInfo(record, state, tampered);
}

function readDamaged(context: Context, row: KeyRecord): DamagedKey {
  const { keyId, entityId } = row;
  const isFiled = isUuid(keyId) && isEntityId(entityId);
  if (!isFiled) throw new StoreError('the store returned a row without its key id or entity');
  const unread = isLaterFormat(row) ? 'unknown_format' : 'damaged';
  return { state: hasEnded(context, row) ? 'revoked' : unread, keyId, entityId };
}
