/** Issues and verifies a key in a store, and checks whether it still exists. */
import { createKeyring, defineScopes, isAccessError, type KeyStore } from 'keyscope';
import { expect } from 'vitest';

const OWN = 'aaaaaaaa-0000-4000-8000-00000000000a';
const catalog = defineScopes({ threats: { read: 'Read threats.' } });

export function keyringOf(store: KeyStore) {
  return createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
}

export async function issueKey(store: KeyStore): Promise<string> {
  const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const { key } = await keyringOf(store).issue(input, { entityId: OWN, scopes: 'all' });
  return key;
}

/** Takes a key from issue to revoke. */
export async function expectKeysIn(store: KeyStore): Promise<void> {
  const keyring = keyringOf(store);
  const key = await issueKey(store);
  const { keyId, scopes } = await keyring.verify(key);
  expect(scopes).toEqual(['threats:read']);
  await keyring.revoke(keyId, { entityId: OWN });
  const error = await keyring.verify(key).catch((reason: unknown) => reason);
  expect(isAccessError(error) && error.reason).toBe('revoked');
}
