/**
 * Records the use of keys: collected in memory, written in batches outside the request path. Losing
 * a batch loses only usage data; no decision depends on it.
 */
import type { KeyRecord, Usage } from './record.js';
import type { KeyStore } from './store.js';

const [INTERVAL_MS, MAX_PENDING, AT_ONCE] = [5_000, 50_000, 1000];

/**
 * `record` notes that a key exercised scopes; it never waits and never throws. `flush` writes what
 * was noted; if it rejects, with `StoreError`, the batch is kept for the next attempt.
 */
export function createUsage(store: KeyStore) {
  let pending = new Map<string, { lastUsedAt: number; scopesUsed: Record<string, number> }>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();
  // In place: a fresh object for each request would cost half a microsecond. `times`, of a batch
  // that is put back, says when each scope was exercised.
  function record(
    keyId: string,
    scopes: readonly string[],
    at: number,
    times?: Record<string, number>,
  ): void {
    const known = pending.get(keyId);
    const usage = known ?? { lastUsedAt: at, scopesUsed: {} };
    // While the store is down the batch is bounded: usage data that does not fit is lost.
    if (known === undefined && pending.size < MAX_PENDING) pending.set(keyId, usage);
    usage.lastUsedAt = Math.max(usage.lastUsedAt, at);
    for (const it of scopes)
      usage.scopesUsed[it] = Math.max(usage.scopesUsed[it] ?? -Infinity, times?.[it] ?? at);
    timer ??= setTimeout(() => flush().catch(() => {}), INTERVAL_MS);
    // Node, Bun and Deno: the timer does not keep an idle process alive. Elsewhere a timer is a
    // number.
    (timer as { unref?(): void }).unref?.();
  }

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const batch = Array.from(pending, ([keyId, usage]) => ({ keyId, ...usage }));
    pending = new Map();
    try {
      // In parts, each with the store's full timeout: 20,000 keys at once take a server longer than
      // that.
      for (let i = 0; i < batch.length; i += AT_ONCE)
        await store.touch(batch.slice(i, i + AT_ONCE));
    } catch (error) {
      for (const { keyId, lastUsedAt: at, scopesUsed: used } of batch)
        record(keyId, Object.keys(used), at, used);
      throw error;
    }
  }

  // Waits for the previous batch, and writes again what that one could not: when this resolves,
  // nothing is left. But no batch waits to be sent: on Workers, a write and all its promises can
  // die with the request that began it.
  function flush(): Promise<void> {
    const [before, own] = [writing, write()];
    writing = own;
    return Promise.allSettled([before, own]).then(([{ status }]) =>
      status === 'rejected' ? own.then(flush) : own,
    );
  }

  return { record, flush };
}

/** What is known of a key's usage, moved forward by what is new and never back. */
export function mergeUsage(
  old: Pick<KeyRecord, keyof Usage> | undefined,
  { lastUsedAt, scopesUsed }: Usage,
): Usage {
  const merged = { ...old?.scopesUsed };
  for (const [scope, time] of Object.entries(scopesUsed))
    merged[scope] = Math.max(merged[scope] ?? time, time);
  return { lastUsedAt: Math.max(old?.lastUsedAt ?? lastUsedAt, lastUsedAt), scopesUsed: merged };
}
