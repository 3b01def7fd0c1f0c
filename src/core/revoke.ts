/**
 * Ends keys at once and for good. A key cannot be un-revoked or deleted, so the keys in an audit
 * log can always be looked up.
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
  // Either another call was faster, or the store is broken and wrote nothing. Then the caller must
  // not be told that the key is revoked.
  const { revokedAt } = await requireOwn(context, authority, keyId);
  const isRevoked = Number.isSafeInteger(revokedAt);
  if (!isRevoked) throw new StoreError('store.markEnded broke its contract; see KeyStore');
}
