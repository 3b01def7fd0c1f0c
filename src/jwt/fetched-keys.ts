/** A verifier's key set that is published at an address. */
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

/** The pause after the start of such a fetch, in milliseconds. */
const REFRESH_PAUSE_MS = 30_000;

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
 * jose fetches the set when it is first needed, and for a `kid` that is not in it, at most every
 * 30 s. A set in memory is used for fifteen minutes by either clock: from eight on, it is fetched
 * again in the background, at most every 30 s, so that an address that hangs delays nobody whose
 * key is known. A failed fetch says nothing about a token: it is a `StoreError`, and there is no
 * new attempt for 5 s.
 *
 * @param report Told of each fetch in the background that failed. Never throws.
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
    // The clock was set back. jose would not see the set age until the clock has caught up.
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
    // The latest set has no key for tokens, and jose still has the one before.
    if (fetching.fetched === undefined) throw keysUnavailable();
    return found;
  };
}

function assertIsSafe({ protocol, hostname, username, password }: URL): void {
  const isLocal = protocol === 'http:' && LOCAL_HOSTS.includes(hostname);
  const isSecure = protocol === 'https:' || isLocal;
  assert(isSecure, 'jwks: pass an https URL; http is for this machine alone');
  assert(username === '' && password === '', 'jwks: pass a URL without credentials');
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
