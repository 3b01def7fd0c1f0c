/** How look-ups are cached: the options of `cacheStore`, and how they are read. */
import { createReport } from '../core/events.js';
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';

/** No entry is kept for longer, in milliseconds, even if `maxStalenessMs` allows it. */
const MAX_AGE_MS = 30_000;

const DAY_MS = 86_400_000;

/**
 * The smallest gain, in milliseconds, that counts as sleep. `Date.now` has no fractions, so it can
 * seem to gain up to one millisecond although no time was lost. Such gains would add up, and the
 * clock would run at twice its speed.
 */
const MIN_GAIN_MS = 2;

/**
 * Where look-ups are kept: any bounded cache with these methods that answers synchronously, such as
 * an `LRUCache` of `lru-cache`. A plain `Map` has the methods but no bound. The cache may drop
 * entries at any time.
 */
export interface LookupCache {
  /**
   * `name`: the digests of a look-up, with one pepper a single digest; or `id:` and a key id. Never
   * a key.
   */
  get(name: string): unknown;
  set(name: string, entry: object): unknown;
  delete(name: string): unknown;
}

/** How look-ups are cached. */
export interface CacheOptions {
  /** Bounded. About 2 KiB per key; as much again for one that is also used through tokens. */
  readonly cache: LookupCache;
  /**
   * The maximum age of an answer, in milliseconds, 1 to 86,400,000: how long a key that was revoked
   * or suspended elsewhere may still work. Nothing is kept for more than 30,000, which satisfies a
   * longer limit, too.
   */
  readonly maxStalenessMs: number;
  /**
   * For how long beyond `maxStalenessMs` a key that was live may still work while the store fails,
   * or does not answer within a second; in milliseconds, at most 86,400,000. Default: 0, so that a
   * failing store is answered with 503.
   *
   * Insecure, because a key that was revoked elsewhere may then work for `maxStalenessMs` plus
   * this: where the store cannot be reached, nobody can tell. Not used for a key that was marked in
   * this process, or of which the channel told, nor for an unknown key or a `fresh` answer.
   */
  readonly insecureStaleIfErrorMs?: number | undefined;
  /** Tells other processes of every mark on a key, so that they need not wait that long. */
  readonly invalidation?: Invalidation | undefined;
  /**
   * Told of every error of `invalidation`, which delays no request and fails no call, and once when
   * it has fallen silent. Log it: until the channel works again, only `maxStalenessMs` holds. What
   * it throws or rejects with is dropped.
   */
  readonly onError?: ((error: unknown, what: 'invalidation') => unknown) | undefined;
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
  /** How long an entry may be used beyond that while the store fails. In milliseconds. */
  readonly staleIfErrorMs: number;
  readonly invalidation: Invalidation | undefined;
  /** Tells of an error of the channel. Never throws. */
  readonly report: (error: unknown) => void;
  readonly now: () => number;
}

const OPTIONS = [
  'cache',
  'maxStalenessMs',
  'insecureStaleIfErrorMs',
  'invalidation',
  'onError',
  'now',
] as const;

/**
 * Reads the options. Not checked: that `cache` is bounded.
 *
 * @throws TypeError that says what to pass instead.
 */
export function readCacheOptions(options: unknown): CacheSettings {
  const given = readFields(options, OPTIONS, 'cacheStore');
  const { cache, maxStalenessMs, insecureStaleIfErrorMs = 0, invalidation, onError, now } = given;
  const hasCache = hasMethods(cache, 'get', 'set', 'delete');
  assert(hasCache, 'cache: pass something bounded with get, set and delete');
  const allowed = readInteger(maxStalenessMs, 1, DAY_MS, 'maxStalenessMs, in milliseconds');
  const what = 'insecureStaleIfErrorMs, in milliseconds';
  const staleIfErrorMs = readInteger(insecureStaleIfErrorMs, 0, DAY_MS, what);
  const hasChannel = invalidation === undefined || hasMethods(invalidation, 'publish', 'subscribe');
  assert(hasChannel, 'invalidation: pass { publish, subscribe } or leave it out');
  if (onError !== undefined) assertFunction(onError, 'onError');
  if (now !== undefined) assertFunction(now, 'now');
  const report = createReport(onError as CacheOptions['onError']);
  return {
    cache: cache as LookupCache,
    maxStalenessMs: Math.min(allowed, MAX_AGE_MS),
    staleIfErrorMs,
    invalidation: invalidation as Invalidation | undefined,
    report: (error) => report(error, 'invalidation'),
    now: (now as CacheOptions['now']) ?? createSteadyClock(),
  };
}

/**
 * Makes a clock, in milliseconds, that never goes back when the time is set, and that advances
 * while the machine sleeps. `performance.now` may stop during sleep, so the clock adds what
 * `Date.now` gains on it. A gain counts from the last loss, so a time that is set ahead and then
 * corrected hides no sleep.
 */
function createSteadyClock(): () => number {
  let sleptMs = 0;
  // How far `Date.now` is ahead of `performance.now`.
  let lead = Date.now() - performance.now();

  return () => {
    const steady = performance.now();
    const gain = Date.now() - steady - lead;
    if (Math.abs(gain) >= MIN_GAIN_MS) {
      lead += gain;
      sleptMs += Math.max(gain, 0);
    }
    return steady + sleptMs;
  };
}
