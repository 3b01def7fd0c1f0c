/** The public keys with which GitHub signs: fetched when one is needed, and kept for a day. */
import { StoreError } from '../core/errors.js';
import { answerInTime } from '../core/outage.js';
import { isCloudflareWorkers } from '../core/thenable.js';
import { readBody } from '../http/body.js';
import { type PublicKey, readPublicKey } from './signature.js';

/** `fetch`, or what stands in for it where a proxy is needed. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Milliseconds from some moment on, by a clock that nobody sets. */
export type SteadyClock = () => number;

/** The keys, by the identifier that a report names. */
export interface PublishedKeys {
  /**
   * The key of this identifier; `null` if none in use has it; `undefined` if nobody knows, because
   * the list cannot be had, or was asked for a moment ago and may have got a key since.
   */
  find(identifier: string): Promise<PublicKey | null | undefined>;
}

/** How long a list is taken for true. */
const MAX_AGE_MS = 24 * 3_600_000;
/** From this age on, a list is asked for again while it is used. */
const REFRESH_MS = 3_600_000;
/** An identifier that is not in the list asks for it again, but no more often than this. */
const PAUSE_MS = 60_000;
/** The same after a list that could not be had. */
const PAUSE_AFTER_FAILURE_MS = 5_000;
/** A key that left the list may have signed what is still under way. */
const OVERLAP_MS = 10 * 60_000;
/** The list is there within this time, or not at all. */
const TIMEOUT_MS = 5_000;
/** The one that GitHub publishes has less than 2 kB. */
const MAX_BYTES = 64 * 1024;

interface ListedKey {
  /** `null` if it is listed, and is not in use. */
  readonly key: PublicKey | null;
  /** When it ends, by the steady clock. */
  readonly until: number;
}

/**
 * Keeps the list of one address.
 *
 * @param report Told of each list that could not be had, once, whoever waited for it.
 */
export function createPublishedKeys(
  url: string,
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
    const listed = await fetchInTime(url, fetch).catch(report);
    hasFailed = !listed;
    if (listed) keys = mergeKeys(keys, listed, now());
  }

  /** Reports at the same moment wait for one answer. Returns whether they got one. */
  async function renewTogether(): Promise<boolean> {
    const pause = hasFailed ? PAUSE_AFTER_FAILURE_MS : PAUSE_MS;
    if (asking === null && now() - askedAt < pause) return false;
    // There, what another request asked for may have ended with it.
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
      // In the background: an address that hangs delays no report.
      if (found?.key && found.until - now() <= MAX_AGE_MS - REFRESH_MS) void renewTogether();
      // What is not known, or not in use, may be another thing by now.
      if (found?.key || !(await renewTogether())) return found?.key;
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

/** What is listed now, and for a while what is listed no longer. */
function mergeKeys(
  old: ReadonlyMap<string, ListedKey>,
  listed: ReadonlyMap<string, PublicKey | null>,
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

function fetchInTime(url: string, fetch: Fetch): Promise<ReadonlyMap<string, PublicKey | null>> {
  const late = new AbortController();
  const list = fetchList(url, fetch, late.signal);
  return answerInTime('the list of public keys', list, TIMEOUT_MS, () => late.abort());
}

/** What is listed; `null` for a key that is not in use, or that cannot be read. */
async function fetchList(
  url: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, PublicKey | null>> {
  const text = await fetchText(url, fetch, signal).catch((cause: unknown) => {
    throw new StoreError('the list of public keys is out of reach: see causeOf', cause);
  });
  const keys = new Map<string, PublicKey | null>();
  for (const { identifier, pem } of entriesIn(text)) {
    // Listed twice, in use and not: it is not.
    if (keys.get(identifier) === null) continue;
    keys.set(identifier, await readPublicKey(pem));
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
  /** Empty for a key that is not in use. */
  readonly pem: string;
}

/** `{ "public_keys": [{ "key_identifier", "key", "is_current" }] }` */
function entriesIn(text: string): readonly ListEntry[] {
  const list = listIn(text);
  if (!Array.isArray(list)) throw new StoreError('the list of public keys has another shape');
  return list.flatMap((entry: unknown) => {
    const { key_identifier, key, is_current } = Object(entry) as Readonly<Record<string, unknown>>;
    if (typeof key_identifier !== 'string') return [];
    const isUsable = is_current === true && typeof key === 'string';
    return [{ identifier: key_identifier, pem: isUsable ? key : '' }];
  });
}

function listIn(text: string): unknown {
  try {
    return (JSON.parse(text) as { readonly public_keys?: unknown } | null)?.public_keys;
  } catch {
    return undefined;
  }
}
