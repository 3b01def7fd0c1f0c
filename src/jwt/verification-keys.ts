/** Finds the keys that verify tokens, from any source. */
import { isStoreError } from '../core/errors.js';
import { isThenable, within } from '../core/thenable.js';
import type { TokenAlgorithm } from './algorithms.js';
import { HEADER_CHECKS, holdsAll, keysUnavailable, tokenRefused } from './claims.js';
import { createFetchedKeys } from './fetched-keys.js';
import type { JWTVerifyGetKey } from './jose.js';
import { readKeySet } from './key-set.js';

/**
 * Reads the option `jwks`: keys, a promise of keys, or the URL of keys.
 *
 * @param report Called once with each failed fetch.
 * @returns The function that jose calls for the key of a token. It throws `AccessError` on a bad
 *   header, and `StoreError` if the keys cannot be fetched or used.
 * @throws TypeError on an invalid option. A promised set is not checked yet.
 */
export function readVerificationKeys(
  jwks: unknown,
  algorithms: readonly TokenAlgorithm[],
  report: (error: unknown) => void,
): JWTVerifyGetKey {
  const find = readKeys(jwks, algorithms, report);

  return async (header, token) => {
    // Checked here because jose has already decoded the header. Decoding it twice would measurably
    // slow down each token.
    if (!holdsAll(HEADER_CHECKS, header)) throw tokenRefused();
    try {
      return await find(header, token);
    } catch (error) {
      // A missing key is the token's fault. A key that cannot be fetched or used is not.
      if (isStoreError(error) || isMissingKey(error)) throw error;
      throw keysUnavailable(error);
    }
  };
}

function readKeys(
  jwks: unknown,
  algorithms: readonly TokenAlgorithm[],
  report: (error: unknown) => void,
): JWTVerifyGetKey {
  if (jwks instanceof URL) return createFetchedKeys(jwks, report);
  if (isThenable(jwks)) return createPromisedKeys(jwks, algorithms);
  return readKeySet(jwks, algorithms);
}

function isMissingKey(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === 'ERR_JWKS_NO_MATCHING_KEY';
}

/** The timeout of a promised set in milliseconds, the same as that of a fetched one. */
const TIMEOUT_MS = 5_000;

/**
 * Finds keys in a promised set. If the set is malformed, it is too late to fail at start-up, so
 * every token gets a `StoreError`.
 */
function createPromisedKeys(
  set: PromiseLike<unknown>,
  algorithms: readonly TokenAlgorithm[],
): JWTVerifyGetKey {
  let find: JWTVerifyGetKey | undefined;
  let waiting: Promise<JWTVerifyGetKey> | undefined;

  async function read(): Promise<JWTVerifyGetKey> {
    find = readKeySet(await set, algorithms);
    return find;
  }

  const reading = read();
  // Each `verify` reports the rejection. Before the first one, it would be unhandled.
  reading.catch(() => {});

  return async (header, token) => {
    if (find !== undefined) return find(header, token);
    // The timeout runs once, from the first token. A set that arrives later is still used.
    waiting ??= awaitInTime(reading);
    const found = await waiting;
    return found(header, token);
  };
}

/** @throws StoreError if the keys are rejected or malformed, or do not arrive in time. */
async function awaitInTime(reading: Promise<JWTVerifyGetKey>): Promise<JWTVerifyGetKey> {
  try {
    const giveUp = (): never => {
      throw new Error('the promised key set did not arrive in time');
    };
    return await within(TIMEOUT_MS, reading, giveUp, true);
  } catch (error) {
    throw keysUnavailable(error);
  }
}
