/** Fetches a verifier's key set from a URL. */
import { createFetchedList } from '../http/fetched-list.js';
import { isName } from './claims.js';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from './jose.js';

/** The times of a key set. A removed key ends with the next fetch. */
export const KEY_SET_TIMES = {
  maxAgeMs: 900_000,
  refreshMs: 480_000,
  pauseMs: 30_000,
  overlapMs: 0,
};

/** Finds the key for an algorithm among those with the same `kid`. */
type FindKey = ReturnType<typeof createLocalJWKSet>;

/**
 * Returns the function that finds the key of a token. The set is fetched on first use, for an
 * unknown `kid` at most every 30 s, and in the background after eight minutes. It is valid for
 * fifteen minutes. A failed fetch is a `StoreError`, because it says nothing about the token.
 *
 * @param report Called once with each failed fetch. Never throws.
 * @throws TypeError if `url` is not https, or has credentials.
 */
export function createFetchedKeys(url: URL, report: (error: unknown) => void): JWTVerifyGetKey {
  const keys = createFetchedList({ name: 'jwks', url, read: readSet, ...KEY_SET_TIMES }, report);
  // Throws the error of a missing key.
  const findNone = createLocalJWKSet({ keys: [] });
  return async (header, token) => {
    const find = (await keys.find(String(header.kid))) ?? findNone;
    return find(header, token);
  };
}

/** Reads a key set by `kid`. Without one, a key is of no use: tokens name it. */
function readSet(set: unknown): ReadonlyMap<string, FindKey> {
  const keySet = set as JSONWebKeySet;
  // Throws unless this is a key set.
  const find = createLocalJWKSet(keySet);
  const kids = keySet.keys.map(({ kid }) => kid).filter(isName);
  return new Map(kids.map((kid) => [kid, find]));
}
