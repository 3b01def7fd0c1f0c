/** How look-ups are cached: the options of `cacheStore`, and how they are read. */
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';
import { createSteadyClock } from './steady-clock.js';

/** No entry is kept for longer, in milliseconds, even if `maxStalenessMs` allows it. */
const MAX_AGE_MS = 30_000;

const DAY_MS = 86_400_000;

/**
 * Where look-ups are kept: any bounded cache with these methods that answers synchronously, such as
 * an `LRUCache` of `lru-cache`. A plain `Map` has the methods but no bound. The cache may drop
 * entries at any time.
 */
export interface LookupCache {
  /** `name`: the digests of a look-up; with one pepper, a single digest. Never a key. */
  get(name: string): unknown;
  set(name: string, entry: object): unknown;
  delete(name: string): unknown;
}

/** How look-ups are cached. */
export interface CacheOptions {
  /** Bounded. About 2 KiB per key. */
  readonly cache: LookupCache;
  /**
   * The maximum age of an answer, in milliseconds, 1 to 86,400,000: how long a key that was revoked
   * elsewhere may still work. Nothing is kept for more than 30,000, which satisfies a longer limit,
   * too.
   */
  readonly maxStalenessMs: number;
  /** Tells other processes about revocations, so that they need not wait that long. */
  readonly invalidation?: Invalidation | undefined;
  /**
   * Milliseconds; for tests. An entry from the future is stale. Default: a clock that never goes
   * back.
   */
  readonly now?: (() => number) | undefined;
}

/** The options after reading: checked, limited, and with defaults. */
export interface CacheSettings {
  readonly cache: LookupCache;
  /** In milliseconds; at most 30,000. */
  readonly maxStalenessMs: number;
  readonly invalidation: Invalidation | undefined;
  readonly now: () => number;
}

const OPTIONS = ['cache', 'maxStalenessMs', 'invalidation', 'now'] as const;

/**
 * Reads the options. Not checked: that `cache` is bounded.
 *
 * @throws TypeError that says what to pass instead.
 */
export function readCacheOptions(options: unknown): CacheSettings {
  const { cache, maxStalenessMs, invalidation, now } = readFields(options, OPTIONS, 'cacheStore');
  assert(isLookupCache(cache), 'cache: pass something bounded with get, set and delete');
  const allowed = readInteger(maxStalenessMs, 1, DAY_MS, 'maxStalenessMs, in milliseconds');
  assert(
    invalidation === undefined || isInvalidation(invalidation),
    'invalidation: pass { publish, subscribe } or leave it out',
  );
  return {
    cache,
    maxStalenessMs: Math.min(allowed, MAX_AGE_MS),
    invalidation,
    now: readCacheClock(now),
  };
}

function readCacheClock(now: unknown): () => number {
  if (now === undefined) return createSteadyClock();
  assertFunction(now, 'now');
  return now as () => number;
}

function isLookupCache(value: unknown): value is LookupCache {
  return hasMethods(value, 'get', 'set', 'delete');
}

function isInvalidation(value: unknown): value is Invalidation {
  return hasMethods(value, 'publish', 'subscribe');
}
