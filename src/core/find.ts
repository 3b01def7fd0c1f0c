/** The keys of one entity, by id, for those who manage them. */
import type { CheckedAuthority } from './authority.js';
import type { Context } from './context.js';
import { AccessError, StoreError } from './errors.js';
import { type KeyInfo, toKeyInfo } from './info.js';
import { assert } from './input.js';
import { type KeyRecord, readRecord } from './record.js';
import { isUuid } from './uuid.js';

/**
 * The unchecked row of an entity's key; `null` for another entity's key, an id that is not a UUID,
 * or no key.
 */
export async function findOwn(
  context: Context,
  authority: CheckedAuthority,
  keyId: unknown,
): Promise<KeyRecord | null> {
  assert(typeof keyId === 'string', 'keyId: pass a string', keyId);
  const row = isUuid(keyId) ? await context.store.findById(keyId) : null;
  return row?.entityUuid === authority.entityUuid ? row : null;
}

/** The same, but throws if there is none. */
export async function requireOwn(
  context: Context,
  authority: CheckedAuthority,
  keyId: unknown,
): Promise<KeyRecord> {
  const row = await findOwn(context, authority, keyId);
  if (row === null) throw new AccessError('not_found', 'no_such_key');
  return row;
}

/** Reads a row to be shown: a malformed one is a broken store. Not checked: the seal. */
export function readInfo(row: unknown): KeyInfo {
  const record = readRecord(row);
  if (record === null) throw new StoreError('the store returned a malformed record');
  return toKeyInfo(record);
}
