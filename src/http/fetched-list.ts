/**
 * Fetches a list that another party publishes, such as its public keys, and keeps it. Only entries
 * that check the signatures of others load this.
 */
import { StoreError } from '../core/errors.js';
import { answerInTime } from '../core/outage.js';
import { isCloudflareWorkers } from '../core/thenable.js';
import { assertIsSecure } from './address.js';
import { readBody } from './body.js';

/** `fetch`, or a replacement, for example to use a proxy. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Items by name. */
type Items<Item> = ReadonlyMap<string, Item>;

/** A published list, and how long it is used. All times are in milliseconds. */
export interface PublishedList<Item> {
  /** The name of the list, for errors. */
  readonly name: string;
  readonly url: URL;
  /** Default: the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Reads the items from the list's JSON. It throws if it cannot. */
  readonly read: (json: unknown) => Items<Item> | Promise<Items<Item>>;
  /** The maximum age. */
  readonly maxAgeMs: number;
  /** The age at which the list is fetched again in the background. */
  readonly refreshMs: number;
  /**
   * The minimum age at which it is fetched again for an unknown name, and the minimum time between
   * fetches in the background.
   */
  readonly pauseMs: number;
  /** How long an item stays after a fetch of a list without it. */
  readonly overlapMs: number;
}

/** A published list that is fetched when it is needed. */
export interface FetchedList<Item> {
  /**
   * Finds an item. It waits for a fetch only if the item is unknown, or once after the clock was
   * set back.
   *
   * @returns `null` if the list has no such item. `undefined` if it had none at the last fetch,
   *   less than `pauseMs` ago, and may have one by now.
   * @throws StoreError if the list cannot be fetched, or could not be in the last five seconds.
   */
  find(name: string): Promise<Item | null | undefined>;
}

/** The minimum time between a failed fetch, with both its tries, and the next one. */
const RETRY_MS = 5_000;

/** The time limit of a fetch, for both its tries together. */
const TIMEOUT_MS = 5_000;

/** 64 KiB, about a hundred keys. */
const MAX_BYTES = 65_536;

// GitHub refuses requests without a user agent, and Cloudflare Workers send none by themselves.
const HEADERS = { accept: 'application/json, */*;q=0.1', 'user-agent': 'keyscope' };

/**
 * A moment by two clocks. It has passed when it has by either of them: `Date.now` may be set back,
 * and `performance.now` may stop while the machine sleeps.
 */
interface Moment {
  readonly date: number;
  readonly time: number;
}

interface KeptItem<Item> {
  readonly item: Item;
  readonly until: Moment;
}

const PAST: Moment = { date: 0, time: 0 };

/**
 * Keeps a list. One fetch runs at a time, follows no redirects, takes at most 5 s and reads at most
 * 64 KiB. A fetch fails only if its second try does, which follows the first at once. A list
 * without items is not tried again: it counts as a failed fetch, but ends the items before it.
 *
 * @param report Called once with each failed fetch, after its last try. Never throws.
 * @throws TypeError if the URL is not https, or has credentials.
 */
export function createFetchedList<Item>(
  list: PublishedList<Item>,
  report: (error: unknown) => void,
): FetchedList<Item> {
  assertIsSecure(list.url, list.name);
  let kept: Items<KeptItem<Item>> = new Map();
  let keptDate = 0;
  // When to fetch again at the earliest: for an unknown name, and in the background.
  let unknownAt = PAST;
  let refreshAt = PAST;

  const renew = createFetching(list, report, (items) => {
    kept = mergeItems(kept, items, list);
    if (items.size === 0) throw new Error('the list has no usable items');
    keptDate = Date.now();
    unknownAt = momentIn(list.pauseMs);
    refreshAt = momentIn(list.refreshMs);
  });

  return {
    async find(name) {
      // The clock was set back, so it does not show how long the machine slept.
      if (Date.now() < keptDate) {
        keptDate = Date.now();
        unknownAt = PAST;
        await renew().catch(() => {});
      }
      const known = itemIn(kept, name);
      // In the background, so that a slow address does not delay anyone with a known name.
      if (known !== undefined && isPast(refreshAt)) {
        refreshAt = momentIn(list.pauseMs);
        renew().catch(() => {});
      }
      if (known !== undefined || !isPast(unknownAt)) return known;
      await renew();
      return itemIn(kept, name) ?? null;
    },
  };
}

/** Returns a function that fetches the list, unless it failed to in the last five seconds. */
function createFetching<Item>(
  list: PublishedList<Item>,
  report: (error: unknown) => void,
  keep: (items: Items<Item>) => void,
): () => Promise<void> {
  let fetching: Promise<void> | undefined;
  let failure: StoreError | undefined;
  let retryAt = PAST;

  async function start(): Promise<void> {
    if (!isPast(retryAt)) throw failure;
    try {
      keep(await fetchInTime(list));
    } catch (cause) {
      retryAt = momentIn(RETRY_MS);
      failure = new StoreError(`${list.name}: the list cannot be fetched or used`, cause);
      report(failure);
      throw failure;
    }
  }

  return () => {
    // On Workers, a fetch may be cancelled with the request that started it.
    if (isCloudflareWorkers()) fetching = undefined;
    fetching ??= start().finally(() => {
      fetching = undefined;
    });
    return fetching;
  };
}

function momentIn(milliseconds: number): Moment {
  return { date: Date.now() + milliseconds, time: performance.now() + milliseconds };
}

function isPast({ date, time }: Moment): boolean {
  return Date.now() >= date || performance.now() >= time;
}

function earlier(one: Moment, other: Moment): Moment {
  return { date: Math.min(one.date, other.date), time: Math.min(one.time, other.time) };
}

function itemIn<Item>(kept: Items<KeptItem<Item>>, name: string): Item | undefined {
  const found = kept.get(name);
  return found === undefined || isPast(found.until) ? undefined : found.item;
}

/** Returns the new items and, for a while, those that the list no longer has. */
function mergeItems<Item>(
  kept: Items<KeptItem<Item>>,
  items: Items<Item>,
  { maxAgeMs, overlapMs }: PublishedList<Item>,
): Items<KeptItem<Item>> {
  const merged = new Map<string, KeptItem<Item>>();
  for (const [name, { item, until }] of kept) {
    const end = earlier(until, momentIn(overlapMs));
    if (!isPast(end)) merged.set(name, { item, until: end });
  }
  for (const [name, item] of items) merged.set(name, { item, until: momentIn(maxAgeMs) });
  return merged;
}

function fetchInTime<Item>(list: PublishedList<Item>): Promise<Items<Item>> {
  const over = new AbortController();
  // Tried once more at once: a connection that was closed while idle is not an outage.
  const items = fetchItems(list, over.signal).catch((error: unknown) => {
    if (over.signal.aborted) throw error;
    return fetchItems(list, over.signal);
  });
  // Also ends an answer that was not read to its end.
  return answerInTime(list.name, items, TIMEOUT_MS).finally(() => over.abort());
}

async function fetchItems<Item>(
  { url, fetch = globalThis.fetch, read }: PublishedList<Item>,
  signal: AbortSignal,
): Promise<Items<Item>> {
  // Nobody has agreed to trust the target of a redirect, which has another status.
  const response = await fetch(url.href, { redirect: 'manual', headers: HEADERS, signal });
  if (response.status !== 200) throw new Error(`the answer has the status ${response.status}`);
  const text = await readBody(response, MAX_BYTES);
  const isWhole = typeof text === 'string';
  if (!isWhole) throw new Error(`the answer broke off, or has more than ${MAX_BYTES} bytes`);
  return read(JSON.parse(text));
}
