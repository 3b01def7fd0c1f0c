/** Fetches the public keys with which GitHub signs its reports. */
import { createFetchedList, type Fetch, type FetchedList } from '../http/fetched-list.js';
import { type PublicKey, readPublicKey } from './signature.js';

const ADDRESS = 'https://api.github.com/meta/public_keys/secret_scanning';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A removed key stays valid for ten minutes, for reports that it signed before. */
const TIMES = {
  maxAgeMs: 24 * HOUR_MS,
  refreshMs: HOUR_MS,
  pauseMs: MINUTE_MS,
  overlapMs: 10 * MINUTE_MS,
};

/**
 * Keeps the keys by identifier.
 *
 * @param report Called once with each failed fetch, however many reports waited for it.
 */
export function createPublishedKeys(
  fetch: Fetch | undefined,
  report: (error: unknown) => void,
): FetchedList<PublicKey> {
  const url = new URL(ADDRESS);
  return createFetchedList({ name: 'github', url, fetch, read: readList, ...TIMES }, report);
}

/**
 * Reads `{ "public_keys": [{ "key_identifier", "key" }] }`. Returns the readable keys, whether
 * current or not: the list names every key that may sign.
 */
async function readList(json: unknown): Promise<ReadonlyMap<string, PublicKey>> {
  const { public_keys } = Object(json) as { readonly public_keys?: unknown };
  if (!Array.isArray(public_keys)) throw new Error('the list has an unknown shape');
  const keys = new Map<string, PublicKey>();
  for (const entry of public_keys as readonly unknown[]) {
    const { key_identifier, key: pem } = Object(entry) as Readonly<Record<string, unknown>>;
    const key = typeof pem === 'string' ? await readPublicKey(pem) : null;
    if (typeof key_identifier === 'string' && key !== null) keys.set(key_identifier, key);
  }
  return keys;
}
