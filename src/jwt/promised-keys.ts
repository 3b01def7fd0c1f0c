/** A verifier's key set that is still pending when the verifier is made. */
import type { TokenAlgorithm } from './algorithms.js';
import type { JWTVerifyGetKey } from './jose.js';
import { readKeySet } from './key-set.js';
import { keysBroken } from './refusal.js';

/** How long a promised set is awaited, in milliseconds: as long as jose waits for a response. */
const TIMEOUT_MS = 5_000;

/**
 * Keys that are still pending. If they prove malformed, requests are being served, and no start-up
 * is left to fail: every token is answered with a `StoreError`.
 */
export function promisedKeys(
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
  // Each `verify` reports the rejection; before the first one, nobody handles it.
  reading.catch(() => {});

  return async (header, token) => {
    if (find !== undefined) return find(header, token);
    // Waited for once, from the first token on. A set that arrives later is used all the same.
    waiting ??= inTime(reading);
    const found = await waiting;
    return found(header, token);
  };
}

/** @throws StoreError, also if the keys do not come in time. */
async function inTime(reading: Promise<JWTVerifyGetKey>): Promise<JWTVerifyGetKey> {
  try {
    return await Promise.race([reading, rejectLater()]);
  } catch (error) {
    throw keysBroken(error);
  }
}

/** By a signal, because unlike a timer of `setTimeout` it does not keep a Node process alive. */
function rejectLater(): Promise<never> {
  return new Promise((_resolve, reject) => {
    const late = () => reject(new Error('the promised key set did not come in time'));
    AbortSignal.timeout(TIMEOUT_MS).addEventListener('abort', late);
  });
}
