/** The keys that verify tokens, wherever they come from. */
import { isStoreError } from '../core/errors.js';
import { isThenable } from '../core/thenable.js';
import type { TokenAlgorithm } from './algorithms.js';
import { HEADER_CHECKS, holdsAll } from './claims.js';
import { createFetchedKeys } from './fetched-keys.js';
import type { JWTVerifyGetKey } from './jose.js';
import { readKeySet } from './key-set.js';
import { createPromisedKeys } from './promised-keys.js';
import { keysUnavailable, tokenRefused } from './token-errors.js';

/**
 * Reads the option `jwks`: keys, a promise of keys, or the URL of keys.
 *
 * @returns The function that jose calls for the key of a token. It throws `AccessError` on a bad
 *   header, and `StoreError` if the keys cannot be fetched or used.
 * @throws TypeError that says what to pass instead. A promised set is not checked yet.
 */
export function readVerificationKeys(
  jwks: unknown,
  algorithms: readonly TokenAlgorithm[],
): JWTVerifyGetKey {
  const find = readKeys(jwks, algorithms);

  return async (header, token) => {
    // Checked here because jose has already decoded the header. Decoding it twice would measurably
    // slow down each token.
    if (!holdsAll(HEADER_CHECKS, header)) throw tokenRefused();
    try {
      return await find(header, token);
    } catch (error) {
      // A missing key is the token's fault; one that cannot be fetched or used is not.
      if (isStoreError(error) || isMissingKey(error)) throw error;
      throw keysUnavailable(error);
    }
  };
}

function readKeys(jwks: unknown, algorithms: readonly TokenAlgorithm[]): JWTVerifyGetKey {
  if (jwks instanceof URL) return createFetchedKeys(jwks);
  if (isThenable(jwks)) return createPromisedKeys(jwks, algorithms);
  return readKeySet(jwks, algorithms);
}

function isMissingKey(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_JWKS_NO_MATCHING_KEY';
}
