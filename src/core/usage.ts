/**
 * Records the use of keys: collected in memory, written in batches outside the request path. Losing
 * a batch loses only usage data; no decision depends on it.
 */
import type { StoreError } from './errors.js';
import type { Report } from './events.js';
import { readFields, readInteger } from './input.js';
import { answerInTime } from './outage.js';
import { type Principal, storedUsage } from './principal.js';
import type { KeyRecord, Usage } from './record.js';
import type { KeyStore, UsageEntry } from './store.js';
import { isCloudflareWorkers, startTimer, type Timer } from './thenable.js';

/** When usage is written. */
export interface UsageOptions {
  /** How often, in milliseconds: 1 to 3,600,000. Default: 5,000. */
  readonly intervalMs?: number | undefined;
  /**
   * How far `lastUsedAt` and `scopesUsed` may be behind, in milliseconds: 0 to 86,400,000. Default:
   * 60,000. A use within that time of the stored one is not written, so that a busy key costs one
   * write in it and not one an interval in each process.
   */
  readonly granularityMs?: number | undefined;
}

/** {@link UsageOptions}, checked and completed. */
export interface UsageSettings {
  readonly intervalMs: number;
  readonly granularityMs: number;
}

/** Null if usage is off. */
export function readUsageOptions(given: unknown = {}): UsageSettings | null {
  if (given === 'off') return null;
  const options = readFields(given, ['intervalMs', 'granularityMs'], 'usage');
  const { intervalMs = 5_000, granularityMs = 60_000 } = options;
  return {
    intervalMs: readInteger(intervalMs, 1, 3_600_000, 'usage.intervalMs'),
    granularityMs: readInteger(granularityMs, 0, 86_400_000, 'usage.granularityMs'),
  };
}

/** Notes the use of keys, and writes it. */
export interface UsageRecorder {
  /** Notes that a key exercised scopes. Never waits and never throws. */
  record(principal: Principal, scopes: readonly string[], time: number): void;
  /**
   * Writes what was noted. An earlier write is waited for, and what it failed to write is written
   * again: when this resolves, nothing is left. It ends in time; if it rejects, with `StoreError`,
   * what was noted is kept, and the next attempt is after the interval.
   */
  flush(): Promise<void>;
}

/**
 * Collects usage, and writes it in intervals.
 *
 * @param store Its `touch` settles when the store has answered, however late.
 * @param settings Null to record nothing.
 * @param timeoutMs How long `flush` waits.
 * @param report Told of each attempt of the timer that fails.
 */
export function createUsage(
  store: KeyStore,
  settings: UsageSettings | null,
  timeoutMs: number,
  report: Report,
): UsageRecorder {
  if (settings === null) return { record: () => {}, flush: async () => {} };
  const { intervalMs, granularityMs } = settings;
  const notes = createNotes();
  const write = createWrite(store, notes);
  let timer: Timer | undefined;

  function record(principal: Principal, scopes: readonly string[], time: number): void {
    if (isStored(principal, scopes, time - granularityMs)) return;
    notes.add(principal.keyId, scopes, time);
    schedule();
  }

  function writeOrReport(): void {
    void flush().catch((error: unknown) => report(error, 'usage'));
  }

  function schedule(): void {
    if (timer !== undefined) return;
    timer = startTimer(writeOrReport, intervalMs);
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    try {
      await answerInTime('store.touch', write(), timeoutMs);
    } catch (error) {
      schedule();
      throw error;
    }
  }

  return { record, flush };
}

/** Whether the record that was looked up has a use since then of the key and of each scope. */
function isStored(principal: Principal, scopes: readonly string[], since: number): boolean {
  const { lastUsedAt, scopesUsed } = storedUsage(principal);
  if (lastUsedAt == null || lastUsedAt < since) return false;
  return scopes.every((scope) => Number(scopesUsed?.[scope]) >= since);
}

/** The most keys in one write. For 20,000, a server takes longer than a store's time-out. */
const MAX_ENTRIES = 1000;

/**
 * Writes what is noted. One write at a time: one that waits for a lock must not be joined, every
 * interval, by another that takes one more connection from the look-ups.
 */
function createWrite(store: KeyStore, notes: Notes): () => Promise<void> {
  // On Cloudflare Workers, a write can die unanswered with the request that began it.
  const isAlone = isCloudflareWorkers();
  let writing: Promise<void> | undefined;

  async function writeAll(): Promise<void> {
    const entries = notes.take();
    const failures: unknown[] = [];
    for (let start = 0; start < entries.length; start += MAX_ENTRIES) {
      const batch = entries.slice(start, start + MAX_ENTRIES);
      try {
        await store.touch(batch);
      } catch (error) {
        // It may be one row that somebody holds: that keeps no other batch waiting.
        notes.putBack(batch);
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0] as StoreError;
  }

  async function writeNext(): Promise<void> {
    // Who began it hears of its failure. Without one, a synchronous store is written to at once.
    if (writing !== undefined) await writing.catch(() => {});
    // Whoever else waited may have begun the next one.
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    await writing;
  }

  return isAlone ? writeAll : writeNext;
}

/** The most keys that are noted while the store is down. */
const MAX_PENDING = 50_000;

/** What was noted of one key. Changed in place, so that no request makes another. */
interface Note {
  lastUsedAt: number;
  readonly scopesUsed: Record<string, number>;
}

/** What was noted and is not written yet. */
interface Notes {
  add(keyId: string, scopes: readonly string[], time: number): void;
  /** Returns everything and forgets it. */
  take(): readonly UsageEntry[];
  putBack(entries: readonly UsageEntry[]): void;
}

function createNotes(): Notes {
  let notes = new Map<string, Note>();

  function add(keyId: string, scopes: readonly string[], time: number): void {
    const note = notes.get(keyId) ?? { lastUsedAt: time, scopesUsed: {} };
    // Bounded: usage data that does not fit is lost.
    if (notes.size < MAX_PENDING) notes.set(keyId, note);
    note.lastUsedAt = Math.max(note.lastUsedAt, time);
    for (const scope of scopes) moveForward(note.scopesUsed, scope, time);
  }

  function take(): readonly UsageEntry[] {
    const entries = Array.from(notes, ([keyId, note]): UsageEntry => ({ keyId, ...note }));
    notes = new Map();
    return entries;
  }

  function putBack(entries: readonly UsageEntry[]): void {
    for (const { keyId, lastUsedAt, scopesUsed } of entries) {
      add(keyId, [], lastUsedAt);
      for (const [scope, time] of Object.entries(scopesUsed)) add(keyId, [scope], time);
    }
  }

  return { add, take, putBack };
}

/** Times only move forward. */
function moveForward(times: Record<string, number>, name: string, time: number): void {
  times[name] = Math.max(times[name] ?? time, time);
}

/**
 * What two uses of a key come to: the later of both times, for the key and for each scope. Stores
 * keep it, and caches show it before they are asked.
 */
export function mergeUsage(
  old: Pick<KeyRecord, keyof Usage> | undefined,
  { lastUsedAt, scopesUsed }: Usage,
): Usage {
  const merged: Record<string, number> = { ...old?.scopesUsed };
  for (const [scope, time] of Object.entries(scopesUsed)) moveForward(merged, scope, time);
  return { lastUsedAt: Math.max(old?.lastUsedAt ?? lastUsedAt, lastUsedAt), scopesUsed: merged };
}
