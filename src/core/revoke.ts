/**
 * Ends keys at once and for good. There is no un-revoke and no delete, so audit rows keep naming a
 * key record.
 */
import { type CheckedAuthority, type Context, requireOwn } from './context.js';
import { StoreError } from './errors.js';

export async function revoke(context: Context, by: CheckedAuthority, keyId: string): Promise<void> {
  await requireOwn(context, by, keyId);
  const time = context.clock();
  const wrote = await context.store.markEnded(keyId, { revokedAt: time });
  if (wrote) context.emit?.({ type: 'key.revoked', time, keyId, entityUuid: by.entityUuid });
  // Another call was faster; or the store wrote nothing, and then nobody may be told that the key
  // is revoked.
  else if (!Number.isSafeInteger((await requireOwn(context, by, keyId)).revokedAt))
    throw new StoreError('store.markEnded broke its contract; see KeyStore');
}
