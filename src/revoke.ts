/** Ends keys, for good and at once. There is no un-revoke and no delete: audit rows keep naming something. */
import type { Authority } from './authority.js';
import { checkAuthority } from './authority.js';
import { AccessError } from './errors.js';
import type { KeyringEvent } from './events.js';
import { expect, isUuid, quote } from './input.js';
import type { Clock } from './outage.js';
import type { KeyStore } from './store.js';

export interface RevokeOptions {
  readonly store: KeyStore;
  readonly clock: Clock;
  readonly emit: (event: KeyringEvent) => void;
}

export function createRevoke(options: RevokeOptions) {
  const { store, clock, emit } = options;
  return async (keyId: string, authority: Authority): Promise<void> => {
    const { entityUuid } = checkAuthority(authority);
    expect(typeof keyId === 'string', `keyId: pass a string, not ${quote(keyId)}`);
    const record = isUuid(keyId) ? await store.findById(keyId) : null;
    // Another entity's key and no key at all answer alike.
    if (record?.entityUuid !== entityUuid) throw new AccessError('not_found', 'no_such_key');
    const now = clock();
    const wrote = await store.markEnded(keyId, { revokedAt: now });
    if (wrote) emit({ type: 'key.revoked', time: now, keyId, entityUuid });
  };
}
