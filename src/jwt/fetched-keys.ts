/** Fetches a verifier's key set from a URL. */
import { assert } from '../core/input.js';
import { isName, keysUnavailable } from './claims.js';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from './jose.js';

/** The maximum age of a set, in milliseconds. */
const MAX_AGE_MS = 900_000;

/** The age at which to fetch the next set in the background, in milliseconds. */
const REFRESH_MS = 480_000;

/** The minimum time between the starts of background fetches, in milliseconds. */
const REFRESH_PAUSE_MS = 30_000;

/** The pause after a failed fetch, in milliseconds. */
const PAUSE_MS = 5_000;

/** 64 KiB, about a hundred keys. */
const MAX_BYTES = 65_536;

const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** A fetched set, and the time of the fetch by both clocks. */
interface FetchedSet {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  /** By `Date.now`. */
  readonly date: number;
  /** By `performance.now`. */
  readonly time: number;
}

/** The results of earlier fetches. */
interface Fetching {
  /** The last set, or undefined if it had no key for tokens. */
  fetched: FetchedSet | undefined;
  /** The time of the last failure, by `performance.now`. */
  failedAt: number | undefined;
}

/**
 * Returns the function that finds the key of a token. jose fetches the set on first use and for an
 * unknown `kid`, at most every 30 s. A set is valid for fifteen minutes by either clock. After
 * eight minutes, it is fetched again in the background, at most every 30 s, so that a slow address
 * does not delay tokens with a known key. A failed fetch is a `StoreError`, because it says nothing
 * about the token; the next attempt is at the earliest 5 s later.
 *
 * @param report Called with each failure of a background fetch. Never throws.
 * @throws TypeError if `url` is not https, or has credentials.
 */
export function createFetchedKeys(url: URL, report: (error: unknown) => void): JWTVerifyGetKey {
  assertIsSafe(url);
  const fetching: Fetching = { fetched: undefined, failedAt: undefined };
  const startFetching = () => createRemoteJWKSet(url, { [customFetch]: createFetch(fetching) });
  let remote = startFetching();
  let latestDate = Number.NEGATIVE_INFINITY;
  let refreshedAt = Number.NEGATIVE_INFINITY;

  function noteDate(): void {
    latestDate = Math.max(latestDate, Date.now());
  }

  async function refresh(): Promise<void> {
    refreshedAt = performance.now();
    await remote.reload().catch(report).finally(noteDate);
  }

  return async (header, token) => {
    // The clock was set back. jose would not notice the age of the set until the clock catches up.
    if (Date.now() < latestDate) {
      remote = startFetching();
      latestDate = Date.now();
      await refresh();
    }
    const { fetched } = fetching;
    if (fetched !== undefined && ageOf(fetched) < MAX_AGE_MS) {
      const isDue = performance.now() - refreshedAt >= REFRESH_PAUSE_MS;
      if (isDue && ageOf(fetched) >= REFRESH_MS) void refresh();
      const known = await fetched.find(header, token).catch(() => undefined);
      if (known !== undefined) return known;
    }
    const found = await remote(header, token).finally(noteDate);
    // The latest set has no key for tokens, but jose still has the previous set.
    if (fetching.fetched === undefined) throw keysUnavailable();
    return found;
  };
}

function assertIsSafe({ protocol, hostname, username, password }: URL): void {
  const isLocal = protocol === 'http:' && LOCAL_HOSTS.includes(hostname);
  const isSecure = protocol === 'https:' || isLocal;
  assert(isSecure, 'jwks: pass an https URL. http is allowed only for this machine');
  assert(username === '' && password === '', 'jwks: pass a URL without credentials');
}

/**
 * Returns the age in milliseconds by the clock that shows more: `Date.now` may be set back, and
 * `performance.now` may stop while the machine sleeps.
 */
function ageOf({ date, time }: FetchedSet): number {
  return Math.max(Date.now() - date, performance.now() - time);
}

/** Makes the `fetch` for jose. It pauses after a failure and remembers the fetched set. */
function createFetch(fetching: Fetching): FetchImplementation {
  return async (address, options) => {
    const { failedAt } = fetching;
    if (failedAt !== undefined && performance.now() - failedAt < PAUSE_MS) throw keysUnavailable();
    try {
      const set = await fetchJson(address, options);
      fetching.fetched = readFetchedSet(set);
      if (fetching.fetched === undefined) {
        throw new Error('no key in the set has a kid, which tokens need');
      }
      return Response.json(set);
    } catch (error) {
      fetching.failedAt = performance.now();
      throw keysUnavailable(error);
    }
  };
}

/**
 * Reads a fetched set. Throws if it is not a key set. Returns `undefined` if no key has a `kid`,
 * because the keys of the previous set were then removed too.
 */
function readFetchedSet(set: unknown): FetchedSet | undefined {
  const keySet = set as JSONWebKeySet;
  const find = createLocalJWKSet(keySet);
  if (!keySet.keys.some(({ kid }) => isName(kid))) return undefined;
  return { find, date: Date.now(), time: performance.now() };
}

/** Reads at most 64 KiB. */
async function fetchJson(url: string, options: RequestInit): Promise<unknown> {
  const response = await fetch(url, options);
  if (response.status !== 200) throw new Error(`the key set has the status ${response.status}`);
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  // A 200 response to GET has a body, even if it is empty.
  for await (const chunk of response.body as ReadableStream<Uint8Array<ArrayBuffer>>) {
    length += chunk.length;
    if (length > MAX_BYTES) throw new Error(`the key set is longer than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(await new Blob(chunks).text());
}
