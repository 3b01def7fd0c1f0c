/** A channel for databases without one: each process polls the store. */
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';
import { systemClock } from '../core/outage.js';
import type { ChangedKey, KeyStore } from '../core/store.js';
import { startTimer, type Timer } from '../core/thenable.js';
import { isBeat } from './beat.js';

const DAY_MS = 86_400_000;

const WHAT = 'pollingInvalidation';

/**
 * How much later than its time a mark may be written and still be found, in milliseconds. A round
 * that takes longer counts as hanging.
 */
const WRITE_MS = 5_000;

/** How many marks to request at once. */
const PART = 1_000;

/** The options of `pollingInvalidation`. */
export interface PollingOptions {
  /** The pause between two rounds, in milliseconds, 1 to 86,400,000. */
  readonly intervalMs: number;
  /**
   * How much the clocks of the processes may differ, in milliseconds, 0 to 86,400,000. Each round
   * starts this much earlier than the previous one began.
   */
  readonly skewMs: number;
  /**
   * Returns milliseconds since the epoch, like the keyrings' clock; for tests. Default: `Date.now`.
   */
  readonly now?: (() => number) | undefined;
}

/** A channel that polls the store. */
export interface PollingInvalidation extends Invalidation {
  /** Stops polling, for example before the database is closed. */
  stop(): void;
}

/**
 * Makes a channel for `cacheStore` that polls the store for marked keys. Use it with databases that
 * cannot notify: MySQL, SQLite, D1.
 *
 * A mark written by another process shows within `intervalMs` plus the duration of a round. This
 * assumes that the clocks differ by at most `skewMs` and the mark was written within 5 s of its
 * time. Otherwise, and while the store fails, it shows within `maxStalenessMs`, as without a
 * channel. A marked key is looked up again after each round that still finds its mark, which is for
 * 5 s plus `skewMs`.
 *
 * Only one round runs at a time. A round that hangs is aborted after 5 s, and no other begins until
 * the store has answered. The cache reports errors with its next beat. The timer does not keep the
 * process alive. On Cloudflare Workers, where timers end with a request, only `maxStalenessMs`
 * applies.
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
      // Lets the cache try again.
      started = undefined;
      throw error;
    }
  }

  return {
    // A process's own marks are already in the store. A beat comes back while the rounds succeed.
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
  const { now = systemClock } = given;
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

// ── Rounds ──────────────────────────────────────────────────────────────────────────────────────

/** The options after validation. */
interface PollingSettings {
  readonly listChanged: NonNullable<KeyStore['listChanged']>;
  /** The pause between two rounds, in milliseconds. */
  readonly intervalMs: number;
  /** How far before the previous round each one starts, in milliseconds. */
  readonly overlapMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The polling loop. */
interface Rounds {
  /**
   * Runs the first round, then schedules the others. If the first fails, it rejects and schedules
   * nothing.
   */
  start(): Promise<void>;
  /**
   * Checks whether rounds succeed. Returns false while one hangs, and throws the last one's error.
   */
  succeed(): boolean;
  stop(): void;
}

/**
 * Makes the polling loop, not started.
 *
 * @param tell Called with the id of each marked key, in every round that finds the mark.
 */
function createRounds(settings: PollingSettings, tell: (keyId: string) => void): Rounds {
  const { intervalMs, now } = settings;
  /** When the last successful round began. */
  let position: number | undefined;
  let runningSince: number | undefined;
  let failure: { readonly error: unknown } | undefined;
  let timer: Timer | undefined;
  let isStopped = false;

  async function poll(): Promise<void> {
    const startedAt = now();
    runningSince = startedAt;
    try {
      // The clock may have gone back since.
      const from = Math.min(position ?? startedAt, startedAt);
      await tellChanges(settings, from, tell);
      position = startedAt;
      failure = undefined;
    } catch (error) {
      failure = { error };
      throw error;
    } finally {
      runningSince = undefined;
    }
  }

  function schedule(): void {
    if (isStopped) return;
    // The next beat reports failures.
    timer = startTimer(() => void poll().then(schedule, schedule), intervalMs);
  }

  function succeed(): boolean {
    if (failure !== undefined) throw failure.error;
    const isHanging = runningSince !== undefined && now() - runningSince >= WRITE_MS;
    return !isHanging && !isStopped;
  }

  function stop(): void {
    isStopped = true;
    clearTimeout(timer);
  }

  return { start: () => poll().then(schedule), succeed, stop };
}

/** Announces every key that was marked since a time, and shortly before it. */
async function tellChanges(
  { listChanged, overlapMs }: PollingSettings,
  from: number,
  tell: (keyId: string) => void,
): Promise<void> {
  const signal = AbortSignal.timeout(WRITE_MS);
  const since = from - overlapMs;
  let after: ChangedKey | null = null;
  do {
    const part: readonly ChangedKey[] = await listChanged(
      { since, after, limit: PART },
      { signal },
    );
    for (const { keyId } of part) tell(keyId);
    after = part.length < PART ? null : (part.at(-1) ?? null);
  } while (after !== null);
}
