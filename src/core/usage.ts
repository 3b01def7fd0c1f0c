/**
 * Records the usage of keys. It collects usage in memory and writes it in batches, outside the
 * request path. A lost batch loses only usage data; no decision depends on it.
 */
import type { StoreError } from './errors.js';
import type { Report } from './events.js';
import { readFields, readInteger } from './input.js';
import { answerInTime } from './outage.js';
import { type Principal, usageOf } from './principal.js';
import type { KeyRecord, Usage } from './record.js';
import type { KeyStore } from './store.js';
import { isCloudflareWorkers, startTimer, type Timer } from './thenable.js';

/** How often usage is written. */
export interface UsageOptions {
  /** The time between writes, in milliseconds: 1 to 3,600,000. Default: 5,000. */
  readonly intervalMs?: number | undefined;
  /**
   * How far `lastUsedAt` and `scopesUsed` may lag, in milliseconds: 0 to 86,400,000. Default:
   * 60,000. A use within this time of the stored one is not written. A busy key thus costs one
   * write in this time, instead of one per interval in each process.
   */
  readonly granularityMs?: number | undefined;
}

/** {@link UsageOptions}, checked and with defaults filled in. */
export interface UsageSettings {
  readonly intervalMs: number;
  readonly granularityMs: number;
}

/** Reads the options; returns null if usage is off. */
export function readUsageOptions(given: unknown = {}): UsageSettings | null {
  if (given === 'off') return null;
  const options = readFields(given, ['intervalMs', 'granularityMs'], 'usage');
  const { intervalMs = 5_000, granularityMs = 60_000 } = options;
  return {
    intervalMs: readInteger(intervalMs, 1, 3_600_000, 'usage.intervalMs'),
    granularityMs: readInteger(granularityMs, 0, 86_400_000, 'usage.granularityMs'),
  };
}

/** Collects and writes the usage of keys. */
export interface UsageRecorder {
  /** Notes that a key used these scopes. Never waits and never throws. */
  record(principal: Principal, scopes: readonly string[], time: number): void;
  /**
   * Writes all pending usage. It waits for an earlier write and retries whatever that failed to
   * write, so nothing is pending when it resolves. It settles within the store's time limit. If it
   * rejects, with `StoreError`, the usage stays pending, and the next attempt is after the
   * interval.
   */
  flush(): Promise<void>;
}

/**
 * Makes the recorder, which writes usage in intervals.
 *
 * @param store Its `touch` settles once the store has answered, however late.
 * @param settings Null to record nothing.
 * @param timeoutMs How long `flush` waits.
 * @param report Called with the error of each failed write that the timer started.
 */
export function createUsage(
  store: KeyStore,
  settings: UsageSettings | null,
  timeoutMs: number,
  report: Report,
): UsageRecorder {
  if (settings === null) return { record: () => {}, flush: async () => {} };
  const { intervalMs, granularityMs } = settings;
  const notes = createNotes(store);
  let timer: Timer | undefined;

  function record(principal: Principal, scopes: readonly string[], time: number): void {
    if (isStored(principal, scopes, time - granularityMs)) return;
    const scopesUsed = Object.fromEntries(scopes.map((scope) => [scope, time]));
    notes.add({ principal, usage: { lastUsedAt: time, scopesUsed } });
    schedule();
  }

  function writeOrReport(): void {
    void flush().catch((error: unknown) => report(error, 'usage'));
  }

  function schedule(): void {
    timer ??= startTimer(writeOrReport, intervalMs);
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    try {
      await answerInTime('store.touch', notes.write(), timeoutMs);
    } catch (error) {
      schedule();
      throw error;
    }
  }

  return { record, flush };
}

/** Checks whether the stored usage of the key and of each scope is at `since` or later. */
function isStored(principal: Principal, scopes: readonly string[], since: number): boolean {
  const { lastUsedAt, scopesUsed } = usageOf(principal).stored;
  if (lastUsedAt == null || lastUsedAt < since) return false;
  return scopes.every((scope) => Number(scopesUsed?.[scope]) >= since);
}

/** The most keys in one write. A server takes longer than a store's time-out for 20,000. */
const MAX_ENTRIES = 1000;

/** The most keys with pending usage, for example while the store is down. */
const MAX_PENDING = 50_000;

/** The pending usage of one key. */
interface Note {
  /** The latest one of the key. */
  readonly principal: Principal;
  readonly usage: Usage;
}

/** The pending usage of all keys. */
interface Notes {
  add(note: Note): void;
  /** Writes everything. */
  write(): Promise<void>;
}

/**
 * Makes the notes, which are written one write at a time. Otherwise, while one write waits for a
 * lock, every interval would start another, and each would take a connection from the look-ups.
 */
function createNotes(store: KeyStore): Notes {
  let notes = new Map<string, Note>();
  let writing: Promise<void> | undefined;

  function add({ principal, usage }: Note): void {
    const { keyId } = principal;
    const old = notes.get(keyId);
    // Bounded: usage of further keys is lost.
    if (old === undefined && notes.size >= MAX_PENDING) return;
    notes.set(keyId, { principal, usage: mergeUsage(old?.usage, usage) });
  }

  async function writeAll(): Promise<void> {
    const all = [...notes.values()];
    notes = new Map();
    const failures: unknown[] = [];
    for (let start = 0; start < all.length; start += MAX_ENTRIES) {
      const batch = all.slice(start, start + MAX_ENTRIES);
      try {
        await writeBatch(store, batch);
      } catch (error) {
        // The cause may be a lock on a single row, so the other batches still go ahead.
        batch.forEach(add);
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0] as StoreError;
  }

  async function writeNext(): Promise<void> {
    // Only the caller that began a write gets its error. If none is running, do not wait: a
    // synchronous store is then written to at once.
    if (writing !== undefined) await writing.catch(() => {});
    // Another caller that waited may have begun the next write.
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    await writing;
  }

  // On Cloudflare Workers, a write can end unanswered with the request that began it.
  return { add, write: isCloudflareWorkers() ? writeAll : writeNext };
}

async function writeBatch(store: KeyStore, batch: readonly Note[]): Promise<void> {
  await store.touch(batch.map(({ principal: { keyId }, usage }) => ({ keyId, ...usage })));
  for (const { principal, usage } of batch) {
    const known = usageOf(principal);
    known.stored = mergeUsage(known.stored, usage);
  }
}

/**
 * Merges two usages of a key: takes the later time, for the key and for each scope. Stores write
 * the result; caches show it before they query.
 */
export function mergeUsage(
  old: Partial<Pick<KeyRecord, keyof Usage>> | undefined,
  { lastUsedAt, scopesUsed }: Usage,
): Usage {
  const merged: Record<string, number> = { ...old?.scopesUsed };
  for (const [scope, time] of Object.entries(scopesUsed)) {
    merged[scope] = Math.max(merged[scope] ?? time, time);
  }
  return { lastUsedAt: Math.max(old?.lastUsedAt ?? lastUsedAt, lastUsedAt), scopesUsed: merged };
}
