/**
 * Ends keys at once and for good. There is no un-revoke and no delete, so audit rows keep naming a
 * key record.
 */
import type { CheckedAuthority } from './authority.js';
import type { Context } from './context.js';
import { StoreError } from './errors.js';
import { requireOwn } from './find.js';

export async function revoke(
  context: Context,
  authority: CheckedAuthority,
  keyId: string,
): Promise<void> {
  await requireOwn(context, authority, keyId);
  const time = context.clock();
  const wrote = await context.store.markEnded(keyId, { revokedAt: time });
  if (wrote) {
    context.emit?.({ type: 'key.revoked', time, keyId, entityUuid: authority.entityUuid });
    return;
  }
  // Another call was faster; or the store wrote nothing, and then nobody may be told that the key
  // is revoked.
  const { revokedAt } = await requireOwn(context, authority, keyId);
  const isRevoked = Number.isSafeInteger(revokedAt);
  if (!isRevoked) throw new StoreError('store.markEnded broke its contract; see KeyStore');
}
