/** A verifier's key set that is published at an address. */
import { isStoreError } from '../core/errors.js';
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

/** How long a set is used if it cannot be fetched again, in milliseconds. */
const MAX_AGE_MS = 900_000;

/** From this age on, in milliseconds, the next set is fetched while this one is used. */
const REFRESH_MS = 480_000;

/** The pause after a failed fetch, in milliseconds. */
const PAUSE_MS = 5_000;

/** 64 KiB, about a hundred keys. */
const MAX_BYTES = 65_536;

const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** A fetched set, and when it was fetched by both clocks. */
interface FetchedSet {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  /** By `Date.now`. */
  readonly date: number;
  /** By `performance.now`. */
  readonly time: number;
}

/** The results of fetching so far. */
interface Fetching {
  /** The last set; undefined if that set had no key for tokens. */
  fetched: FetchedSet | undefined;
  /** When a fetch last failed, by `performance.now`. */
  failedAt: number | undefined;
}

/**
 * jose fetches the set when it is first needed, when it is older than ten minutes, and for a `kid`
 * that is not in it, at most every 30 s. With the first token after eight minutes it is fetched in
 * advance, so that an address that hangs delays nobody whose key is known. A failed fetch says
 * nothing about a token: it is a `StoreError`, and there is no new attempt for 5 s. Until a fetch
 * succeeds, keys of the previous set are accepted, for at most fifteen minutes by either clock.
 *
 * @throws TypeError if `url` is not https, or has credentials.
 */
export function createFetchedKeys(url: URL): JWTVerifyGetKey {
  assertIsSafe(url);
  const fetching: Fetching = { fetched: undefined, failedAt: undefined };
  const startFetching = () => createRemoteJWKSet(url, { [customFetch]: createFetch(fetching) });
  let remote = startFetching();
  let latestDate: number | undefined;

  function noteDate(): void {
    const date = Date.now();
    if (latestDate === undefined || date > latestDate) latestDate = date;
  }

  return async (header, token) => {
    // The clock was set back. jose would not see the set age until the clock has caught up.
    if (latestDate !== undefined && Date.now() < latestDate) {
      remote = startFetching();
      latestDate = undefined;
    }
    // Whoever needs the new set waits for the same fetch, and hears of its failure.
    if (isAged(fetching.fetched)) remote.reload().catch(() => {});
    const current = remote(header, token).finally(noteDate);
    // Not awaited if the last fetch failed: the next one may take 5 s, too, and tokens of known
    // keys need not wait for it.
    if (!hasFailedSince(fetching)) {
      try {
        return await current;
      } catch (error) {
        if (!isStoreError(error)) throw error;
      }
    }
    current.catch(() => {});
    const { fetched } = fetching;
    if (fetched === undefined || !isFresh(fetched)) return current;
    // A key that is not in the previous set may be in the new one, so the token is not at fault.
    return fetched.find(header, token).catch(() => current);
  };
}

function isAged(fetched: FetchedSet | undefined): boolean {
  return fetched !== undefined && ageOf(fetched) >= REFRESH_MS;
}

function assertIsSafe({ protocol, hostname, username, password }: URL): void {
  const isLocal = protocol === 'http:' && LOCAL_HOSTS.includes(hostname);
  const isSecure = protocol === 'https:' || isLocal;
  assert(isSecure, 'jwks: pass an https URL; http is for this machine alone');
  assert(username === '' && password === '', 'jwks: pass a URL without credentials');
}

/** Whether there is a set, and a later fetch has failed. */
function hasFailedSince({ fetched, failedAt }: Fetching): boolean {
  return fetched !== undefined && failedAt !== undefined && failedAt >= fetched.time;
}

function isFresh(fetched: FetchedSet): boolean {
  return ageOf(fetched) < MAX_AGE_MS;
}

/**
 * In milliseconds, by the clock that says more: `Date.now` may be set back, and `performance.now`
 * may stop while the machine sleeps.
 */
function ageOf({ date, time }: FetchedSet): number {
  return Math.max(Date.now() - date, performance.now() - time);
}

/** Makes the `fetch` that jose calls. It pauses after a failure, and remembers what it fetched. */
function createFetch(fetching: Fetching): FetchImplementation {
  return async (address, options) => {
    const { failedAt } = fetching;
    if (failedAt !== undefined && performance.now() - failedAt < PAUSE_MS) throw keysUnavailable();
    try {
      const set = await fetchJson(address, options);
      fetching.fetched = readFetchedSet(set);
      if (fetching.fetched === undefined) {
        throw new Error('no key of the set has a kid, and tokens name theirs');
      }
      return Response.json(set);
    } catch (error) {
      fetching.failedAt = performance.now();
      throw keysUnavailable(error);
    }
  };
}

/**
 * Throws if `set` is not a key set. Returns `undefined` if none of its keys has a `kid`: the
 * previous set's keys were removed then, too.
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
  if (response.status !== 200) throw new Error(`the key set was answered with ${response.status}`);
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
