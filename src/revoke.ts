/** Ends keys, for good and at once. There is no un-revoke and no delete: audit rows keep naming something. */
import { type Authority, type Context, checkAuthority, requireOwn } from './context.js';

export async function revoke(context: Context, keyId: string, authority: Authority): Promise<void> {
  const by = checkAuthority(authority);
  await requireOwn(context, keyId, by);
  const time = context.clock();
  const wrote = await context.store.markEnded(keyId, { revokedAt: time });
  if (wrote) context.emit?.({ type: 'key.revoked', time, keyId, entityUuid: by.entityUuid });
}
