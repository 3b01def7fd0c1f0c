/**
 * That keys are used: collected in memory, written in batches beside the request path. Losing a batch loses
 * usage data and nothing else; no decision reads it.
 */
import { StoreError } from './errors.js';
import type { KeyStore, UsageEntry } from './store.js';

const INTERVAL_MS = 5_000;
const MAX_PENDING = 50_000;

export interface UsageRecorder {
  /** Notes that a key exercised `scopes`; never waits and never throws. */
  record(keyId: string, scopes: readonly string[], time: number): void;
  /** Writes what was noted. Rejects with `StoreError`; the batch is kept for the next attempt. */
  flush(): Promise<void>;
}

interface Pending {
  lastUsedAt: number;
  readonly scopesUsed: Map<string, number>;
}

export function createUsage(store: KeyStore): UsageRecorder {
  let pending = new Map<string, Pending>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function note(keyId: string, scopes: Iterable<readonly [string, number]>, time: number): void {
    let entry = pending.get(keyId);
    if (entry === undefined) {
      // While the store is down the batch is bounded: what does not fit is usage data lost.
      if (pending.size >= MAX_PENDING) return;
      entry = { lastUsedAt: time, scopesUsed: new Map() };
      pending.set(keyId, entry);
    }
    entry.lastUsedAt = Math.max(entry.lastUsedAt, time);
    for (const [scope, used] of scopes) {
      entry.scopesUsed.set(scope, Math.max(entry.scopesUsed.get(scope) ?? used, used));
    }
  }

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (pending.size === 0) return;
    const batch = pending;
    pending = new Map();
    const entries: UsageEntry[] = Array.from(batch, ([keyId, { lastUsedAt, scopesUsed }]) => ({
      keyId,
      lastUsedAt,
      scopesUsed: Object.fromEntries(scopesUsed),
    }));
    try {
      await store.touch(entries);
    } catch (error) {
      for (const [keyId, { lastUsedAt, scopesUsed }] of batch) note(keyId, scopesUsed, lastUsedAt);
      throw error instanceof StoreError ? error : new StoreError('usage was not written', error);
    }
  }

  return {
    record(keyId, scopes, time) {
      note(
        keyId,
        scopes.map((scope) => [scope, time] as const),
        time,
      );
      if (timer !== undefined) return;
      timer = setTimeout(() => flush().catch(() => {}), INTERVAL_MS);
      // Node, Bun and Deno: a process that has nothing else to do may end. Elsewhere a timer is a number.
      (timer as { unref?(): void }).unref?.();
    },
    flush,
  };
}
