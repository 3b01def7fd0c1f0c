/** Ends keys, for good and at once. There is no un-revoke and no delete: audit rows keep naming something. */
import { type Authority, type Context, checkAuthority, findOwn } from './context.js';
import { AccessError } from './errors.js';

export async function revoke(context: Context, keyId: string, authority: Authority): Promise<void> {
  const by = checkAuthority(authority);
  if ((await findOwn(context, keyId, by)) === null) throw new AccessError('not_found', 'no_such_key');
  const time = context.clock();
  const wrote = await context.store.markEnded(keyId, { revokedAt: time });
  if (wrote) context.emit({ type: 'key.revoked', time, keyId, entityUuid: by.entityUuid });
}
