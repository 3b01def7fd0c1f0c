/** The options of `cacheStore`, and their validation. */
import { createReport } from '../core/events.js';
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';

/** The longest life of an entry, in milliseconds, even if `maxStalenessMs` is longer. */
const MAX_AGE_MS = 30_000;

const DAY_MS = 86_400_000;

/**
 * The smallest gain, in milliseconds, that counts as sleep. `Date.now` has no fractions, so it can
 * appear to gain up to one millisecond when no time was lost. Such gains would add up, and the
 * clock would run at twice its speed.
 */
const MIN_GAIN_MS = 2;

/**
 * A bounded cache with these synchronous methods, such as an `LRUCache` of `lru-cache`. A plain
 * `Map` has the methods but no bound. The cache may drop entries at any time.
 */
export interface LookupCache {
  /**
   * `name` is the digests of a look-up (a single digest if there is one pepper), or `id:` and a key
   * id. It is never a key.
   */
  get(name: string): unknown;
  set(name: string, entry: object): unknown;
  delete(name: string): unknown;
}

/** The options of `cacheStore`. */
export interface CacheOptions {
  /**
   * A bounded cache for the answers. An entry takes about 2 KiB per key, and as much again if the
   * key is also used through tokens.
   */
  readonly cache: LookupCache;
  /**
   * The maximum age of an answer, in milliseconds, 1 to 86,400,000. A key that another process
   * revoked or suspended can keep working for this long. The cache keeps nothing longer than 30,000
   * ms, even if you allow more.
   */
  readonly maxStalenessMs: number;
  /**
   * How long beyond `maxStalenessMs` a live key may still work while the store fails or takes
   * longer than a second; in milliseconds, at most 86,400,000. Default: 0, so a failing store leads
   * to a 503.
   *
   * Insecure: a key that another process revoked may keep working for `maxStalenessMs` plus this
   * time, because an unreachable store cannot report the revocation. It does not apply to keys that
   * were marked in this process or announced on the channel, to unknown keys, or to `fresh`
   * answers.
   */
  readonly insecureStaleIfErrorMs?: number | undefined;
  /**
   * A channel that announces every mark to other processes, so they need not wait for
   * `maxStalenessMs`.
   */
  readonly invalidation?: Invalidation | undefined;
  /**
   * Receives every error of `invalidation`, and one error when the channel falls silent. Such
   * errors delay no request and fail no call. Log them: until the channel works again, only
   * `maxStalenessMs` protects you. The cache ignores whatever this function throws or rejects with.
   */
  readonly onError?: ((error: unknown, what: 'invalidation') => unknown) | undefined;
  /**
   * Returns the time in milliseconds; for tests. An entry from the future counts as stale. Default:
   * a clock that never goes back.
   */
  readonly now?: (() => number) | undefined;
}

/** The options after validation, with limits and defaults applied. */
export interface CacheSettings {
  readonly cache: LookupCache;
  /** In milliseconds; at most 30,000. */
  readonly maxStalenessMs: number;
  /** How much longer an entry may be used while the store fails. In milliseconds. */
  readonly staleIfErrorMs: number;
  readonly invalidation: Invalidation | undefined;
  /** Reports an error of the channel. Never throws. */
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
 * Validates the options. Not checked: that `cache` is bounded.
 *
 * @throws TypeError that says what to pass instead.
 */
export function readCacheOptions(options: unknown): CacheSettings {
  const given = readFields(options, OPTIONS, 'cacheStore');
  const { cache, maxStalenessMs, insecureStaleIfErrorMs = 0, invalidation, onError, now } = given;
  const hasCache = hasMethods(cache, 'get', 'set', 'delete');
  assert(hasCache, 'cache: pass a bounded cache with get, set and delete');
  const allowed = readInteger(maxStalenessMs, 1, DAY_MS, 'maxStalenessMs, in milliseconds');
  const what = 'insecureStaleIfErrorMs, in milliseconds';
  const staleIfErrorMs = readInteger(insecureStaleIfErrorMs, 0, DAY_MS, what);
  const hasChannel = invalidation === undefined || hasMethods(invalidation, 'publish', 'subscribe');
  assert(hasChannel, 'invalidation: pass { publish, subscribe } or leave it out');
  assertFunction(onError, 'onError');
  assertFunction(now, 'now');
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
 * Makes a clock, in milliseconds, that never goes back when the time is set, and that
 * advances while the machine sleeps. `performance.now` may stop during sleep, so the clock adds
 * what `Date.now` gains on it. Gains count from the last loss: setting the time ahead and
 * correcting it does not hide a later sleep.
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
