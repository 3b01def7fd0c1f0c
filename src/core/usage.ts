/**
 * Records the use of keys: collected in memory, written in batches outside the request path. Losing
 * a batch loses only usage data; no decision depends on it.
 */
import type { KeyRecord, Usage } from './record.js';
import type { KeyStore, UsageEntry } from './store.js';

const INTERVAL_MS = 5_000;
/** The most keys that are noted while the store is down. */
const MAX_PENDING = 50_000;
/** The most keys in one write. For 20,000, a server takes longer than a store's time-out. */
const MAX_ENTRIES = 1000;

/** Notes the use of keys, and writes it. */
export interface UsageRecorder {
  /** Notes that a key exercised scopes. Never waits and never throws. */
  record(keyId: string, scopes: readonly string[], time: number): void;
  /**
   * Writes what was noted. Also waits for the previous batch, and writes its entries again if it
   * failed: when this resolves, nothing is left. A batch is sent without waiting for the previous
   * one, because on Workers a write can die with the request that began it. If this rejects, with
   * `StoreError`, what was noted is kept for the next attempt.
   */
  flush(): Promise<void>;
}

export function createUsage(store: KeyStore): UsageRecorder {
  const notes = createNotes();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();

  function record(keyId: string, scopes: readonly string[], time: number): void {
    notes.add(keyId, scopes, time);
    startTimer();
  }

  function startTimer(): void {
    if (timer !== undefined) return;
    timer = setTimeout(() => flush().catch(() => {}), INTERVAL_MS);
    // Node, Bun and Deno: the timer does not keep an idle process alive. Elsewhere it is a number.
    (timer as { unref?(): void }).unref?.();
  }

  async function flush(): Promise<void> {
    const before = writing;
    const own = write();
    writing = own;
    const [previous] = await Promise.allSettled([before, own]);
    await own;
    if (previous.status === 'rejected') await flush();
  }

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = notes.take();
    try {
      for (let start = 0; start < batch.length; start += MAX_ENTRIES) {
        await store.touch(batch.slice(start, start + MAX_ENTRIES));
      }
    } catch (error) {
      notes.putBack(batch);
      startTimer();
      throw error;
    }
  }

  return { record, flush };
}

/** What was noted of one key. Changed in place: a fresh object a request would cost 0.5 µs. */
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

  function noteOf(keyId: string, time: number): Note {
    const known = notes.get(keyId);
    if (known !== undefined) {
      known.lastUsedAt = Math.max(known.lastUsedAt, time);
      return known;
    }
    const note: Note = { lastUsedAt: time, scopesUsed: {} };
    // Bounded: usage data that does not fit is lost.
    if (notes.size < MAX_PENDING) notes.set(keyId, note);
    return note;
  }

  function add(keyId: string, scopes: readonly string[], time: number): void {
    const { scopesUsed } = noteOf(keyId, time);
    for (const scope of scopes) scopesUsed[scope] = later(scopesUsed[scope], time);
  }

  function take(): readonly UsageEntry[] {
    const entries = Array.from(notes, ([keyId, note]): UsageEntry => ({ keyId, ...note }));
    notes = new Map();
    return entries;
  }

  function putBack(entries: readonly UsageEntry[]): void {
    for (const { keyId, lastUsedAt, scopesUsed } of entries) {
      const note = noteOf(keyId, lastUsedAt);
      for (const [scope, time] of Object.entries(scopesUsed)) {
        note.scopesUsed[scope] = later(note.scopesUsed[scope], time);
      }
    }
  }

  return { add, take, putBack };
}

function later(known: number | undefined, time: number): number {
  return known === undefined ? time : Math.max(known, time);
}

/** Merges usage; times only move forward. */
export function mergeUsage(
  old: Pick<KeyRecord, keyof Usage> | undefined,
  { lastUsedAt, scopesUsed }: Usage,
): Usage {
  const merged = { ...old?.scopesUsed };
  for (const [scope, time] of Object.entries(scopesUsed)) {
    merged[scope] = later(merged[scope], time);
  }
  return { lastUsedAt: later(old?.lastUsedAt ?? undefined, lastUsedAt), scopesUsed: merged };
}
