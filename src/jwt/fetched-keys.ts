/** A verifier's key set that is published at an address. */
import { isStoreError } from '../core/errors.js';
import { assert } from '../core/input.js';
import { isName } from './claims.js';
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type FetchImplementation,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
} from './jose.js';
import { keysBroken } from './refusal.js';

/** How long a set that cannot be fetched again is used, in milliseconds. */
const MAX_AGE_MS = 900_000;

/** The pause after a failed fetch, in milliseconds. */
const PAUSE_MS = 5_000;

/** 64 KiB, about a hundred keys. */
const MAX_BYTES = 65_536;

const LOCAL_HOSTS: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** A set that was fetched, and when, by both clocks. */
interface FetchedSet {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  /** By `Date.now`. */
  readonly date: number;
  /** By `performance.now`. */
  readonly time: number;
}

/** What fetching has led to. */
interface Fetching {
  /** The last set, unless a later one had no key for tokens. */
  fetched: FetchedSet | undefined;
  /** When a fetch last failed, by `performance.now`. */
  failedAt: number | undefined;
}

/**
 * jose fetches the set when it is first needed, when it is older than ten minutes, and for a `kid`
 * that is not in it, at most every 30 s. A failed fetch says nothing about a token: it is a
 * `StoreError`, with no new attempt for 5 s. Meanwhile, keys of the previous set are accepted until
 * that set is fifteen minutes old by both clocks.
 *
 * @throws TypeError if `url` is not https, or has credentials.
 */
export function fetchedKeys(url: URL): JWTVerifyGetKey {
  assertIsSafe(url);
  const fetching: Fetching = { fetched: undefined, failedAt: undefined };
  const begin = () => createRemoteJWKSet(url, { [customFetch]: createRareFetch(fetching) });
  let remote = begin();
  let latestDate: number | undefined;

  function noteDate(): void {
    const date = Date.now();
    if (latestDate === undefined || date > latestDate) latestDate = date;
  }

  return async (header, token) => {
    // The clock was set back. For jose, a set fetched in what is now the future would not age until
    // then.
    if (latestDate !== undefined && Date.now() < latestDate) {
      remote = begin();
      latestDate = undefined;
    }
    const current = remote(header, token).finally(noteDate);
    // Not awaited if the last fetch failed: the next one may take 5 s, too, and goes on beside
    // tokens of known keys.
    if (!hasFailedSince(fetching)) {
      try {
        return await current;
      } catch (error) {
        if (!isStoreError(error)) throw error;
      }
    }
    current.catch(() => {});
    const { fetched } = fetching;
    if (fetched === undefined || !isYoung(fetched)) return current;
    // A key that is not in the previous set may be in the new one, so the token is not at fault.
    return fetched.find(header, token).catch(() => current);
  };
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

/**
 * By both clocks: `Date.now` may be set back, and `performance.now` need not advance while the
 * machine sleeps.
 */
function isYoung({ date, time }: FetchedSet): boolean {
  return Date.now() - date < MAX_AGE_MS && performance.now() - time < MAX_AGE_MS;
}

/** Makes jose's `fetch`: it pauses after a failure, and notes what it has fetched. */
function createRareFetch(fetching: Fetching): FetchImplementation {
  return async (address, options) => {
    const { failedAt } = fetching;
    if (failedAt !== undefined && performance.now() - failedAt < PAUSE_MS) throw keysBroken();
    try {
      const set = await fetchJson(address, options);
      fetching.fetched = readFetchedSet(set);
      if (fetching.fetched === undefined) {
        throw new Error('no key of the set has a kid, and tokens name theirs');
      }
      return Response.json(set);
    } catch (error) {
      fetching.failedAt = performance.now();
      throw keysBroken(error);
    }
  };
}

/**
 * Throws unless it is a key set. `undefined`, if none of its keys is for tokens: that is an answer,
 * too, and means that the previous set's keys were removed.
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
