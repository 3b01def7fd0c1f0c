/** What a keyring asks of a verifier of short-lived tokens: an interface and no code. */
import type { Principal } from './principal.js';

/** Checks a JWT and yields the same `Principal` that a key would, with `via: 'jwt'`. */
export interface TokenVerifier {
  /**
   * Rejects with `AccessError` `invalid_token` on anything that is no valid token for this service, with `StoreError`
   * where the keys to check it cannot be had.
   * The principal's `keyId` is the key that the token was exchanged for, its parent.
   */
  verify(token: string): Promise<Principal>;
}
