/** Rounds in which a process asks its store what was marked. */
import type { ChangedKey, KeyStore } from '../core/store.js';
import { startTimer, type Timer } from '../core/thenable.js';

/**
 * How long after its time a mark may be written and still be seen, in milliseconds. A round also
 * counts as hanging after that.
 */
export const WRITE_MS = 5_000;

/** How many marks are asked for at once. */
const PART = 1_000;

/** What is asked, how often, and from when. */
export interface PollingSettings {
  readonly listChanged: NonNullable<KeyStore['listChanged']>;
  /** The pause between two rounds, in milliseconds. */
  readonly intervalMs: number;
  /** How long before the previous round each begins, in milliseconds. */
  readonly overlapMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** One round after another. */
export interface Rounds {
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
export function createRounds(settings: PollingSettings, tell: (keyId: string) => void): Rounds {
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
