/** A channel over the store itself, for databases that have none: each process asks it. */
import { assert, assertFunction, hasMethods, readFields, readInteger } from '../core/input.js';
import type { Invalidation } from '../core/invalidation.js';
import type { ChangedKey, KeyStore } from '../core/store.js';
import { startTimer, type Timer } from '../core/thenable.js';
import { isBeat } from './beat.js';

const DAY_MS = 86_400_000;

const WHAT = 'pollingInvalidation';

/**
 * How long after its time a mark may be written and still be seen, in milliseconds. A round also
 * counts as hanging after that.
 */
const WRITE_MS = 5_000;

/** How many marks are asked for at once. */
const PART = 1_000;

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

// ── Rounds ──────────────────────────────────────────────────────────────────────────────────────

/** What is asked, how often, and from when. */
interface PollingSettings {
  readonly listChanged: NonNullable<KeyStore['listChanged']>;
  /** The pause between two rounds, in milliseconds. */
  readonly intervalMs: number;
  /** How long before the previous round each begins, in milliseconds. */
  readonly overlapMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** One round after another. */
interface Rounds {
  /** Makes the first round, and then goes on. If that fails, so does this, and nothing goes on. */
  start(): Promise<void>;
  /** Whether rounds succeed; false while one hangs. Throws the error of the last one. */
  succeed(): boolean;
  stop(): void;
}

/**
 * Makes rounds that have not started.
 *
 * @param tell Called with the id of each key that was marked, in every round that sees the mark.
 */
function createRounds(settings: PollingSettings, tell: (keyId: string) => void): Rounds {
  const { intervalMs, now } = settings;
  /** When the last round that succeeded began. */
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
    // What fails is told with the next beat.
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

/** Tells every key that was marked since a time, and shortly before it. */
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
