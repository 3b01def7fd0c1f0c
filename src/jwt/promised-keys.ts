/** A verifier's key set that is still pending when the verifier is made. */
import { within } from '../core/thenable.js';
import type { TokenAlgorithm } from './algorithms.js';
import type { JWTVerifyGetKey } from './jose.js';
import { readKeySet } from './key-set.js';
import { keysUnavailable } from './token-errors.js';

/** How long a promised set is awaited, in milliseconds: as long as jose waits for a response. */
const TIMEOUT_MS = 5_000;

/**
 * Finds keys in a set that is still pending. If the set turns out to be malformed, it is too late
 * to fail at start-up, so every token is answered with a `StoreError`.
 */
export function createPromisedKeys(
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
  // Each `verify` reports the rejection. Until the first one, it would be unhandled.
  reading.catch(() => {});

  return async (header, token) => {
    if (find !== undefined) return find(header, token);
    // The time-out runs once, from the first token. A set that arrives after it is still used.
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
