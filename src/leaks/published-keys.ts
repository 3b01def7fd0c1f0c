/** The public keys with which GitHub signs: fetched when one is needed, and kept for a day. */
import { StoreError } from '../core/errors.js';
import { answerInTime } from '../core/outage.js';
import { readBody } from '../http/body.js';
import { type PublicKey, readPublicKey } from './signature.js';

/** `fetch`, or what stands in for it where a proxy is needed. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Milliseconds from some moment on, by a clock that nobody sets. */
export type SteadyClock = () => number;

/** The keys, by the identifier that a report names. */
export interface PublishedKeys {
  /**
   * The key of this identifier; `null` if none in use has it.
   *
   * @throws StoreError if the list cannot be had, so that nobody knows.
   */
  find(identifier: string): Promise<PublicKey | null>;
}

/** How long a list is taken for true. */
const MAX_AGE_MS = 24 * 3_600_000;
/** An identifier that is not in the list asks for it again, but no more often than this. */
const PAUSE_MS = 60_000;
/** The same after a list that could not be had. */
const PAUSE_AFTER_FAILURE_MS = 5_000;
/** A key that is in use no longer may have signed what is still under way. */
const OVERLAP_MS = 10 * 60_000;
/** The list is there within this time, or not at all. */
const TIMEOUT_MS = 5_000;
/** The one that GitHub publishes has less than 2 kB. */
const MAX_BYTES = 64 * 1024;

interface UsableKey {
  readonly key: PublicKey;
  /** When it ends, by the steady clock. */
  readonly until: number;
}

/** Keeps the list of one address. */
export function createPublishedKeys(url: string, fetch: Fetch, now: SteadyClock): PublishedKeys {
  let keys: ReadonlyMap<string, UsableKey> = new Map();
  let askedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let asking: Promise<void> | null = null;

  function findUsable(identifier: string): PublicKey | null {
    const found = keys.get(identifier);
    return found !== undefined && now() < found.until ? found.key : null;
  }

  async function renew(): Promise<void> {
    askedAt = now();
    hasFailed = true;
    const listed = await fetchInTime(url, fetch);
    hasFailed = false;
    keys = mergeKeys(keys, listed, now());
  }

  /** Reports at the same moment wait for one answer. */
  function renewTogether(): Promise<void> {
    asking ??= renew().finally(() => {
      asking = null;
    });
    return asking;
  }

  return {
    async find(identifier) {
      const found = findUsable(identifier);
      if (found !== null) return found;
      const pause = hasFailed ? PAUSE_AFTER_FAILURE_MS : PAUSE_MS;
      if (asking !== null || now() - askedAt >= pause) await renewTogether();
      else if (hasFailed) throw outOfReach();
      return findUsable(identifier);
    },
  };
}

/** What is listed now, and for a while what was before. */
function mergeKeys(
  old: ReadonlyMap<string, UsableKey>,
  listed: ReadonlyMap<string, PublicKey>,
  time: number,
): ReadonlyMap<string, UsableKey> {
  const merged = new Map<string, UsableKey>();
  for (const [identifier, { key, until }] of old) {
    const end = Math.min(until, time + OVERLAP_MS);
    if (end > time) merged.set(identifier, { key, until: end });
  }
  for (const [identifier, key] of listed) merged.set(identifier, { key, until: time + MAX_AGE_MS });
  return merged;
}

function fetchInTime(url: string, fetch: Fetch): Promise<ReadonlyMap<string, PublicKey>> {
  const late = new AbortController();
  const list = fetchList(url, fetch, late.signal);
  return answerInTime('the list of public keys', list, TIMEOUT_MS, () => late.abort());
}

/** Those that are in use. Entries that cannot be read are none. */
async function fetchList(
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PublicKey>> {
  const text = await fetchText(url, fetch, signal).catch((cause: unknown) => {
    throw outOfReach(cause);
  });
  const keys = new Map<string, PublicKey>();
  for (const { identifier, pem } of entriesIn(text)) {
    const key = await readPublicKey(pem);
    if (key !== null) keys.set(identifier, key);
  }
  return keys;
}

async function fetchText(url: string, fetch: Fetch, signal: AbortSignal): Promise<string> {
  // Wherever a redirection leads, nobody has agreed to trust it: its status is none of these.
  const response = await fetch(url, { redirect: 'manual', signal });
  if (!response.ok) throw new Error(`the answer has status ${response.status}`);
  const text = await readBody(response, MAX_BYTES);
  if (typeof text !== 'string') throw new Error('the answer is too long, or was read before');
  return text;
}

interface ListEntry {
  readonly identifier: string;
  readonly pem: string;
}

/** `{ "public_keys": [{ "key_identifier", "key", "is_current" }] }` */
function entriesIn(text: string): readonly ListEntry[] {
  const list = listIn(text);
  if (!Array.isArray(list)) throw new StoreError('the list of public keys has another shape');
  return list.flatMap((entry: unknown) => {
    const { key_identifier, key, is_current } = Object(entry) as Readonly<Record<string, unknown>>;
    const isText = typeof key_identifier === 'string' && typeof key === 'string';
    return isText && is_current === true ? [{ identifier: key_identifier, pem: key }] : [];
  });
}

function listIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly public_keys?: unknown } | null)?.public_keys;
  } catch {
    return undefined;
  }
}

function outOfReach(cause?: unknown): StoreError {
  return new StoreError('the list of public keys is out of reach: see causeOf', cause);
}
