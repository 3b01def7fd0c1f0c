/** What a keyring requires of a verifier of short-lived tokens: an interface without code. */
import type { Principal } from './principal.js';

/**
 * Checks a JWT and returns the same `Principal` that a key would, with `via: 'jwt'`. `verify`
 * rejects with `AccessError` `invalid_token` on anything that is not a valid token for this
 * service, and with `StoreError` if the keys to check it are unavailable. If it does not settle
 * within the keyring's `storeTimeoutMs`, that is a `StoreError`, too.
 *
 * The principal's `keyId` is the key that the token was exchanged for, its parent. The keyring
 * checks the ids, entities and scopes again; the verifier is responsible for `name`, `metadata` and
 * `expiresAt`.
 */
export interface TokenVerifier {
  verify(token: string): Promise<Principal>;
}
