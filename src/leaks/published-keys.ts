/** Fetches GitHub's public signing keys when it needs one, and keeps them for a day. */
import { StoreError } from '../core/errors.js';
import { answerInTime } from '../core/outage.js';
import { isCloudflareWorkers } from '../core/thenable.js';
import { readBody } from '../http/body.js';
import { type PublicKey, readPublicKey } from './signature.js';

/** `fetch`, or a replacement, for example to use a proxy. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A monotonic clock, in milliseconds. */
export type SteadyClock = () => number;

/** The public keys by identifier. */
export interface PublishedKeys {
  /**
   * Returns the key with this identifier, or `null` if the list has none. Returns `undefined` if
   * unknown: the list is unavailable, or was fetched a moment ago and may have changed since.
   */
  find(identifier: string): Promise<PublicKey | null | undefined>;
}

/** The maximum age of a list. */
const MAX_AGE_MS = 24 * 3_600_000;
/** A list of this age is fetched again in the background. */
const REFRESH_MS = 3_600_000;
/** The minimum time between fetches for unknown identifiers. */
const PAUSE_MS = 60_000;
/** The minimum time before another fetch after a failed one. */
const PAUSE_AFTER_FAILURE_MS = 5_000;
/** How long a removed key stays valid, for reports that it signed before. */
const OVERLAP_MS = 10 * 60_000;
/** The timeout of a fetch. */
const TIMEOUT_MS = 5_000;
/** GitHub's list has less than 2 kB. */
const MAX_BYTES = 64 * 1024;

const ADDRESS = 'https://api.github.com/meta/public_keys/secret_scanning';

interface ListedKey {
  readonly key: PublicKey;
  /** The end of its validity, by the steady clock. */
  readonly until: number;
}

/**
 * Keeps the list.
 *
 * @param report Called once per failed fetch, however many reports waited for it.
 */
export function createPublishedKeys(
  fetch: Fetch,
  now: SteadyClock,
  report: (error: unknown) => void,
): PublishedKeys {
  let keys: ReadonlyMap<string, ListedKey> = new Map();
  let askedAt = Number.NEGATIVE_INFINITY;
  let hasFailed = false;
  let asking: Promise<void> | null = null;

  async function renew(): Promise<void> {
    askedAt = now();
    const listed = await fetchInTime(fetch).catch(report);
    hasFailed = !listed;
    if (listed) keys = mergeKeys(keys, listed, now());
  }

  /** Shares one fetch between concurrent reports. Returns whether it succeeded. */
  async function renewTogether(): Promise<boolean> {
    const pause = hasFailed ? PAUSE_AFTER_FAILURE_MS : PAUSE_MS;
    if (asking === null && now() - askedAt < pause) return false;
    // On Workers, a fetch may be cancelled with the request that started it.
    if (isCloudflareWorkers()) asking = null;
    asking ??= renew().finally(() => {
      asking = null;
    });
    await asking;
    return !hasFailed;
  }

  return {
    async find(identifier) {
      const found = findListed(keys, identifier, now());
      // In the background, so that a slow address does not delay a report.
      if (found && found.until - now() <= MAX_AGE_MS - REFRESH_MS) void renewTogether();
      // An unknown key may be listed by now.
      if (found || !(await renewTogether())) return found?.key;
      return findListed(keys, identifier, now())?.key ?? null;
    },
  };
}

function findListed(
  keys: ReadonlyMap<string, ListedKey>,
  identifier: string,
  time: number,
): ListedKey | undefined {
  const found = keys.get(identifier);
  return found !== undefined && time < found.until ? found : undefined;
}

/** Returns the listed keys and, for a while, keys that the list no longer has. */
function mergeKeys(
  old: ReadonlyMap<string, ListedKey>,
  listed: ReadonlyMap<string, PublicKey>,
  time: number,
): ReadonlyMap<string, ListedKey> {
  const merged = new Map<string, ListedKey>();
  for (const [identifier, { key, until }] of old) {
    const end = Math.min(until, time + OVERLAP_MS);
    if (end > time) merged.set(identifier, { key, until: end });
  }
  for (const [identifier, key] of listed) merged.set(identifier, { key, until: time + MAX_AGE_MS });
  return merged;
}

function fetchInTime(fetch: Fetch): Promise<ReadonlyMap<string, PublicKey>> {
  const late = new AbortController();
  const list = fetchList(fetch, late.signal);
  return answerInTime('the list of public keys', list, TIMEOUT_MS, () => late.abort());
}

/** Returns the readable keys, whether current or not: the list names every key that may sign. */
async function fetchList(
  fetch: Fetch,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PublicKey>> {
  const text = await fetchText(fetch, signal).catch((cause: unknown) => {
    throw new StoreError('the list of public keys cannot be fetched: see causeOf', cause);
  });
  const keys = new Map<string, PublicKey>();
  for (const { identifier, pem } of entriesIn(text)) {
    const key = await readPublicKey(pem);
    if (key !== null) keys.set(identifier, key);
  }
  return keys;
}

async function fetchText(fetch: Fetch, signal: AbortSignal): Promise<string> {
  // Follows no redirects, because nobody has agreed to trust their targets. They are not `ok`.
  const response = await fetch(ADDRESS, { redirect: 'manual', signal });
  if (!response.ok) throw new Error(`the answer has the status ${response.status}`);
  const text = await readBody(response, MAX_BYTES);
  if (typeof text !== 'string') throw new Error('the answer is too long or was already read');
  return text;
}

interface ListEntry {
  readonly identifier: string;
  readonly pem: string;
}

/** `{ "public_keys": [{ "key_identifier", "key" }] }` */
function entriesIn(text: string): readonly ListEntry[] {
  const list = listIn(text);
  if (!Array.isArray(list)) throw new StoreError('the list of public keys has an unknown shape');
  return list.flatMap((entry: unknown) => {
    const { key_identifier, key } = Object(entry) as Readonly<Record<string, unknown>>;
    const isKey = typeof key_identifier === 'string' && typeof key === 'string';
    return isKey ? [{ identifier: key_identifier, pem: key }] : [];
  });
}

function listIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly public_keys?: unknown } | null)?.public_keys;
  } catch {
    return undefined;
  }
}
