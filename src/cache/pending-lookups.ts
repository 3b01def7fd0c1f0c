/** Look-ups in progress, which later requests for the same key join. */
import { setBounded } from './bounded-map.js';
import { isYounger, type Rows } from './entry.js';
import type { CacheSettings } from './options.js';

/** How many look-ups in progress can be joined. */
const MAX_PENDING = 1_024;

/** How long one can be joined, in milliseconds. A look-up that hangs delays no later request. */
const JOIN_MS = 1_000;

interface PendingLookup {
  /** The time before the look-up was sent. */
  readonly since: number;
  readonly rows: Promise<Rows>;
}

/** The look-ups in progress, by name. */
export interface PendingLookups {
  /** The answer of a look-up in progress, if there is one that may be joined. */
  join(name: string): Promise<Rows> | undefined;
  /** Lets others join a look-up until it is answered. */
  add(name: string, since: number, rows: Promise<Rows>): void;
  /** Lets no later request join the current ones; they answer only requests that have joined. */
  clear(): void;
}

/** Starts with no look-ups in progress. */
export function createPendingLookups(settings: CacheSettings): PendingLookups {
  const pending = new Map<string, PendingLookup>();
  const canJoin = !isCloudflareWorkers();

  function join(name: string): Promise<Rows> | undefined {
    const lookup = pending.get(name);
    if (lookup === undefined || !isYounger(lookup.since, JOIN_MS, settings)) return undefined;
    return lookup.rows;
  }

  function add(name: string, since: number, rows: Promise<Rows>): void {
    const lookup: PendingLookup = { since, rows };
    if (canJoin) setBounded(pending, name, lookup, MAX_PENDING);
    const remove = (): void => {
      // Another look-up may have replaced it.
      if (pending.get(name) === lookup) pending.delete(name);
    };
    // Errors reach the callers that joined; here it only matters that the look-up has ended.
    void rows.then(remove, remove);
  }

  return { join, add, clear: () => pending.clear() };
}

/**
 * On Cloudflare Workers, a query ends with the request that sent it. Other requests that joined it
 * would wait forever.
 */
function isCloudflareWorkers(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers';
}
