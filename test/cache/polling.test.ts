/** A channel that polls the store: two processes ask it for marked keys. */
import { DatabaseSync } from 'node:sqlite';
import type { ChangedQuery, KeyStore } from 'keyscope';
import type { PollingOptions } from 'keyscope/cache';
import { cacheStore, pollingInvalidation } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { freshRecord, lru, REVOKE } from '../support/cache.ts';
import { complaint } from '../support/complaint.ts';
import { START } from '../support/keyring.ts';
import { freshFiles } from '../support/sqlite-databases.ts';

const INTERVAL_MS = 1_000;
const SKEW_MS = 2_000;
const OPTIONS: PollingOptions = { intervalMs: INTERVAL_MS, skewMs: SKEW_MS };
const { fresh } = freshFiles();

type Stores = readonly [KeyStore, KeyStore];

/** The stores of two processes over one database. */
function oneInMemory(): Stores {
  const store = memoryStore();
  return [store, store];
}

const DATABASES: readonly (readonly [string, () => Stores])[] = [
  ['memory', oneInMemory],
  [
    'SQLite',
    () => {
      const path = fresh();
      return [sqliteStore(new DatabaseSync(path)), sqliteStore(new DatabaseSync(path))];
    },
  ],
];

/** A process with a cache that polls, the errors of its channel, and the queries of its rounds. */
function open(store: KeyStore, now: () => number = Date.now) {
  const told: unknown[] = [];
  const asked: ChangedQuery[] = [];
  const line: { failure: 'rejects' | 'hangs' | null } = { failure: null };
  const watched: KeyStore = {
    ...store,
    async listChanged(query, options) {
      asked.push(query);
      if (line.failure === 'rejects') throw new Error('down');
      if (line.failure === 'hangs') await new Promise(() => {});
      return (await store.listChanged?.(query, options)) ?? [];
    },
  };
  const invalidation = pollingInvalidation(watched, { ...OPTIONS, now });
  const onError = (error: unknown) => told.push((error as Error).message);
  const cached = cacheStore(store, {
    cache: lru(),
    maxStalenessMs: 30_000,
    invalidation,
    onError,
    // Entries do not age here.
    now: () => ageing.now,
  });
  return { cached, asked, told, line, stop: invalidation.stop };
}

/** The clock of the caches, which does not move unless a beat has to be due. */
const ageing = { now: 0 };

beforeEach(() => {
  ageing.now = 0;
  vi.useFakeTimers({ now: START });
});
afterEach(() => {
  vi.useRealTimers();
});

const pass = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** One key, cached by the second of two processes. */
async function twoProcesses([here, there]: Stores, now?: () => number) {
  const process = open(there, now);
  await pass(0);
  const made = freshRecord();
  await here.insert(made);
  const revokedAt = async () => {
    const rows = await process.cached.findByDigest([made.digest]);
    return rows[0]?.revokedAt;
  };
  await revokedAt();
  const revoke = (at: number) => here.mark(made.keyId, { ...REVOKE, at });
  return { ...process, made, revokedAt, revoke };
}

describe.each(DATABASES)('polling over %s', (_name, connect) => {
  it("shows another process's mark after the next round", async () => {
    const { revokedAt, revoke, stop } = await twoProcesses(connect());
    await pass(5 * INTERVAL_MS);
    await revoke(Date.now());
    expect(await revokedAt()).toBe(null);
    await pass(INTERVAL_MS - 1);
    expect(await revokedAt()).toBe(null);
    await pass(1);
    expect(await revokedAt()).toBe(START + 5 * INTERVAL_MS);
    stop();
  });

  it.each([
    ['ahead', SKEW_MS],
    ['behind', -SKEW_MS],
  ])('sees marks from clocks that are %s by skewMs', async (_what, skew) => {
    const { revokedAt, revoke, stop } = await twoProcesses(connect());
    await pass(10 * INTERVAL_MS);
    await revoke(Date.now() + skew);
    await pass(INTERVAL_MS);
    expect(await revokedAt()).toBe(START + 10 * INTERVAL_MS + skew);
    stop();
  });

  it('sees a mark that was written 5 s after its time, by a clock that is behind', async () => {
    const { revokedAt, revoke, stop } = await twoProcesses(connect());
    await pass(10 * INTERVAL_MS);
    const at = Date.now() - SKEW_MS - 5_000;
    await revoke(at);
    await pass(INTERVAL_MS);
    expect(await revokedAt()).toBe(at);
    stop();
  });
});

describe('a polling channel', () => {
  const stores = oneInMemory;

  it('sees more simultaneous marks than it requests at once', async () => {
    const both = stores();
    const { revokedAt, revoke, stop } = await twoProcesses(both);
    const at = Date.now();
    for (let i = 0; i < 1_500; i++) {
      const other = freshRecord();
      await both[0].insert(other);
      await both[0].mark(other.keyId, { ...REVOKE, at });
    }
    await revoke(at + 1);
    await pass(INTERVAL_MS);
    expect(await revokedAt()).toBe(at + 1);
    stop();
  });

  it('is up while its rounds succeed, and its beat comes back', async () => {
    const { cached, told, stop } = await twoProcesses(stores());
    for (let i = 0; i < 5; i++) {
      ageing.now += 5_000;
      expect(cached.channelState()).toBe('up');
      await pass(INTERVAL_MS);
    }
    expect(told).toEqual([]);
    stop();
  });

  it('is down while they fail, and misses nothing once they succeed', async () => {
    const { cached, told, line, revokedAt, revoke, stop } = await twoProcesses(stores());
    line.failure = 'rejects';
    await pass(INTERVAL_MS);
    ageing.now += 5_000;
    cached.channelState();
    await pass(0);
    expect([cached.channelState(), told]).toEqual(['down', ['down']]);
    const at = Date.now();
    await revoke(at);
    await pass(60_000);
    expect(await revokedAt()).toBe(null);
    line.failure = null;
    await pass(INTERVAL_MS);
    expect(await revokedAt()).toBe(at);
    ageing.now += 5_000;
    cached.channelState();
    expect(cached.channelState()).toBe('up');
    stop();
  });

  it('is silent while a round hangs, and begins no other meanwhile', async () => {
    const { cached, told, asked, line, stop } = await twoProcesses(stores());
    line.failure = 'hangs';
    await pass(INTERVAL_MS);
    const count = asked.length;
    await pass(60_000);
    ageing.now += 5_000;
    cached.channelState();
    ageing.now += 5_000;
    expect(cached.channelState()).toBe('silent');
    expect([told.length, asked.length]).toEqual([1, count]);
    stop();
  });

  it('starts again with the cache if the first round failed', async () => {
    let isDown = true;
    let rounds = 0;
    const inner = memoryStore();
    const listChanged: KeyStore['listChanged'] = (query) => {
      rounds += 1;
      return isDown ? Promise.reject(new Error('down')) : inner.listChanged(query);
    };
    const { cached, told, stop } = open({ ...inner, listChanged });
    await pass(10 * INTERVAL_MS);
    expect([cached.channelState(), told, rounds]).toEqual(['down', ['down'], 1]);
    isDown = false;
    ageing.now += 1_000;
    cached.channelState();
    await pass(3 * INTERVAL_MS);
    expect([cached.channelState(), told, rounds]).toEqual(['up', ['down'], 5]);
    stop();
  });

  it('starts before the time to which the clock went back', async () => {
    const clock = { now: START };
    const { asked, revokedAt, revoke, stop } = await twoProcesses(stores(), () => clock.now);
    clock.now -= 60_000;
    await revoke(clock.now);
    await pass(INTERVAL_MS);
    expect(asked.at(-1)?.since).toBe(START - 60_000 - SKEW_MS - 5_000);
    expect(await revokedAt()).toBe(START - 60_000);
    stop();
  });

  it('asks nothing more once it is stopped', async () => {
    const { asked, stop } = await twoProcesses(stores());
    stop();
    const count = asked.length;
    await pass(60_000);
    expect(asked).toHaveLength(count);
  });

  it('names the valid options in its errors', () => {
    const given = (store: unknown, options: unknown) =>
      complaint(() => pollingInvalidation(store as KeyStore, options as PollingOptions));
    const { listChanged: _none, ...bare } = memoryStore();
    for (const store of [bare, null, {}]) {
      expect(given(store, OPTIONS)).toMatch(/^pollingInvalidation: the store has no method/);
    }
    for (const intervalMs of [0, 1.5, undefined, '1']) {
      expect(given(memoryStore(), { ...OPTIONS, intervalMs })).toMatch(/^intervalMs, in/);
    }
    for (const skewMs of [-1, undefined]) {
      expect(given(memoryStore(), { ...OPTIONS, skewMs })).toMatch(/^skewMs, in milliseconds/);
    }
    expect(given(memoryStore(), { ...OPTIONS, now: 5 })).toMatch(/^now: pass a function/);
    expect(given(memoryStore(), { ...OPTIONS, ttl: 5 })).toMatch(/unknown field "ttl"/);
  });
});
