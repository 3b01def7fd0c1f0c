/** A channel over the store itself, for databases that have none: each process asks it. */
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';
import type { KeyStore } from '../core/store.js';
import { isBeat } from './beat.js';
import { createRounds, type PollingSettings, WRITE_MS } from './polling-rounds.js';

const DAY_MS = 86_400_000;

const WHAT = 'pollingInvalidation';

/** How often is asked, and from when. */
export interface PollingOptions {
  /** The pause between two rounds, in milliseconds, 1 to 86,400,000. */
  readonly intervalMs: number;
  /**
   * By how much the clocks of the processes may differ, in milliseconds, 0 to 86,400,000. Each
   * round asks again for what was marked so long before the previous one.
   */
  readonly skewMs: number;
  /** Milliseconds since the epoch, as the keyrings' own; for tests. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** A channel that asks the store. */
export interface PollingInvalidation extends Invalidation {
  /** Ends the rounds, for example before the database is closed. */
  stop(): void;
}

/**
 * Makes a channel for `cacheStore` that asks the store which keys were marked, for databases that
 * tell nobody: MySQL, SQLite, D1.
 *
 * A mark that another process wrote shows within `intervalMs` plus the time that a round takes, if
 * the clocks differ by `skewMs` at most and the mark was written within 5 s of its time. Otherwise,
 * and while the store fails, it shows within `maxStalenessMs`, as without a channel. A key that was
 * marked is looked up again after each round that still sees its mark: for 5 s and `skewMs`.
 *
 * There is one round at a time: one that hangs is aborted after 5 s, and until the store has
 * answered none is begun. What fails is told with the cache's next beat. The timer keeps no process
 * alive; on Cloudflare Workers, where timers end with a request, only `maxStalenessMs` holds.
 *
 * Not checked: the clocks.
 *
 * @param store The store itself, with `listChanged`.
 * @throws TypeError that says what to pass instead.
 * @example
 * const inner = mysqlStore(pool);
 * const invalidation = pollingInvalidation(inner, { intervalMs: 1_000, skewMs: 1_000 });
 * const store = cacheStore(inner, { cache, maxStalenessMs: 30_000, invalidation });
 */
export function pollingInvalidation(store: KeyStore, options: PollingOptions): PollingInvalidation {
  const settings = readPollingOptions(store, options);
  const listeners = new Set<(keyId: string) => void>();
  const rounds = createRounds(settings, tell);
  let started: Promise<void> | undefined;

  function tell(message: string): void {
    for (const listener of listeners) listener(message);
  }

  async function start(): Promise<void> {
    try {
      await rounds.start();
    } catch (error) {
      // The cache tries again.
      started = undefined;
      throw error;
    }
  }

  return {
    // What a process marks is in the store. A beat is heard while the rounds succeed.
    publish(message) {
      if (isBeat(message) && rounds.succeed()) tell(message);
    },
    async subscribe(listener) {
      listeners.add(listener);
      started ??= start();
      await started;
    },
    stop: rounds.stop,
  };
}

function readPollingOptions(store: KeyStore, options: unknown): PollingSettings {
  const instead = `${WHAT}: the store has no method listChanged; see KeyStore`;
  assert(hasMethods(store, 'listChanged'), instead);
  const { listChanged } = store as Required<KeyStore>;
  const given = readFields(options, ['intervalMs', 'skewMs', 'now'], WHAT);
  const { now = Date.now } = given;
  assertFunction(now, 'now');
  const intervalMs = readInteger(given.intervalMs, 1, DAY_MS, 'intervalMs, in milliseconds');
  const skewMs = readInteger(given.skewMs, 0, DAY_MS, 'skewMs, in milliseconds');
  return {
    listChanged: listChanged.bind(store),
    intervalMs,
    overlapMs: skewMs + WRITE_MS,
    now: now as () => number,
  };
}
