import { createKeyring, definePolicy, type KeyStore, type UsageEntry } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { guardStore } from '../../src/core/outage.js';
import { createUsage } from '../../src/core/usage.js';
import {
  AUTHORITY,
  catalog,
  delayed,
  HOUR,
  issue,
  PEPPER,
  recording,
  rowOf,
  START,
  setUp,
  stoppedClock,
  storeError,
  thrown,
  wrap,
} from '../support/keyring.ts';

const policy = definePolicy(catalog, {
  whoami: [],
  list: ['threats:read'],
  triage: ['threats:read', 'threats:write'],
});

/** A keyring whose touches are kept, over a store that `fails` while it says so. */
function watched(fails: () => boolean = () => false, inner: KeyStore = memoryStore()) {
  const touches: (readonly UsageEntry[])[] = [];
  const store = wrap(inner, (method, args, call) => {
    if (method !== 'touch') return call();
    if (fails()) throw new Error('down');
    touches.push(structuredClone(args[0]) as readonly UsageEntry[]);
    return call();
  });
  return { ...setUp({ store }), inner, touches };
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('usage', () => {
  it('is noted after authorization, and written in one batch by flush', async () => {
    const { keyring, clock, touches, inner } = watched();
    const scopes = ['threats:read', 'threats:write'] as const;
    const a = await keyring.issue({ name: 'a', scopes, expiresAt: 'never' }, AUTHORITY);
    const b = await issue(keyring);
    await keyring.admit(`Bearer ${a.key}`, { policy, operation: 'triage' });
    clock.advance(10);
    await keyring.admit(`Bearer ${a.key}`, { policy, operation: 'list' });
    clock.advance(10);
    await keyring.admit(`Bearer ${b.key}`, { policy, operation: 'whoami' });
    expect(touches).toEqual([]);
    await keyring.flush();
    expect(touches).toEqual([
      [
        {
          keyId: a.info.keyId,
          lastUsedAt: START + 10,
          scopesUsed: { 'threats:read': START + 10, 'threats:write': START },
        },
        { keyId: b.info.keyId, lastUsedAt: START + 20, scopesUsed: {} },
      ],
    ]);
    expect((await keyring.get(a.info.keyId, AUTHORITY))?.scopesUsed).toEqual({
      'threats:read': new Date(START + 10),
      'threats:write': new Date(START),
    });
    // The seal does not cover usage, and the written row is as good as before.
    await keyring.verify(a.key);
    expect((await rowOf(inner, b.info.keyId)).lastUsedAt).toBe(START + 20);
  });

  it('is not noted where the request was refused, nor by verify and authenticate', async () => {
    const { keyring, touches } = watched();
    const { key } = await issue(keyring);
    await keyring.verify(key);
    await keyring.authenticate(`Bearer ${key}`);
    await thrown(() => keyring.admit(`Bearer ${key}`, { policy, operation: 'triage' }));
    await thrown(() =>
      keyring.admit(`Bearer ${key}`, { policy, operation: 'list', entityUuid: '' }),
    );
    await thrown(() => keyring.admit(undefined, { policy, operation: 'list' }));
    await keyring.flush();
    expect(touches).toEqual([]);
  });

  it('names only the scopes that were exercised, not those that were held', async () => {
    const { keyring, touches } = watched();
    const input = {
      name: 'n',
      scopes: ['threats:read', 'threats:write', 'decoys:*'],
      expiresAt: 'never',
    } as const;
    const { key } = await keyring.issue(input, AUTHORITY);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await keyring.flush();
    expect(touches.flat().map(({ scopesUsed }) => scopesUsed)).toEqual([{ 'threats:read': START }]);
  });

  it('makes no call where nothing is pending', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    await keyring.flush();
    const { key } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await keyring.flush();
    await keyring.flush();
    expect(calls.filter((method) => method === 'touch')).toHaveLength(1);
  });

  it('never moves backwards, in memory or in the store', async () => {
    const { keyring, clock, inner } = watched();
    const { key, info } = await issue(keyring);
    const use = async (time: number) => {
      clock.set(time);
      await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    };
    await use(START + HOUR);
    await use(START);
    await keyring.flush();
    await use(START + 1);
    await keyring.flush();
    const latest = START + HOUR;
    expect(await rowOf(inner, info.keyId)).toMatchObject({
      lastUsedAt: latest,
      scopesUsed: { 'threats:read': latest },
    });
  });

  it('writes nothing but usage: marks that were set meanwhile stay', async () => {
    // Writing back the record that was read would undo a revocation.
    const { keyring, inner } = watched();
    const { key, info } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await keyring.revoke(info.keyId, AUTHORITY);
    const before = await rowOf(inner, info.keyId);
    await keyring.flush();
    const used = { lastUsedAt: START, scopesUsed: { 'threats:read': START } };
    expect(await rowOf(inner, info.keyId)).toEqual({ ...before, ...used });
  });

  it('that could not be written is kept, and joined by what came since', async () => {
    let down = true;
    const { keyring, clock, touches } = watched(() => down);
    const [a, b] = [await issue(keyring), await issue(keyring)];
    const use = ({ key }: { key: string }) =>
      keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await use(a);
    await use(b);
    await storeError(() => keyring.flush());
    clock.advance(5);
    await use(a);
    await storeError(() => keyring.flush());
    down = false;
    await keyring.flush();
    const times = (time: number) => ({ lastUsedAt: time, scopesUsed: { 'threats:read': time } });
    expect(touches).toEqual([
      [
        { keyId: a.info.keyId, ...times(START + 5) },
        { keyId: b.info.keyId, ...times(START) },
      ],
    ]);
    await keyring.flush();
    expect(touches).toHaveLength(1);
  });

  // Every scope counted as used when its key was last: while one row could not be written, nothing
  // was advised against.
  it('that could not be written is put back as it was, scope by scope', async () => {
    let down = true;
    const { keyring, clock, touches } = watched(() => down);
    const { key, info } = await keyring.issue(
      { name: 'CI', scopes: ['threats:read', 'threats:write'], expiresAt: 'never' },
      AUTHORITY,
    );
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'triage' });
    clock.advance(5);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await storeError(() => keyring.flush());
    down = false;
    await keyring.flush();
    const scopesUsed = { 'threats:read': START + 5, 'threats:write': START };
    expect(touches).toEqual([[{ keyId: info.keyId, lastUsedAt: START + 5, scopesUsed }]]);
  });

  it('noted while a batch is being written goes into the next', async () => {
    const { keyring, clock, touches } = watched(undefined, delayed(memoryStore()));
    const { key } = await issue(keyring);
    const use = () => keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await use();
    const first = keyring.flush();
    clock.advance(1);
    await use();
    await first;
    await keyring.flush();
    expect(touches.map(([entry]) => entry?.lastUsedAt)).toEqual([START, START + 1]);
  });

  it('a request never waits for it: a store that never answers a touch holds nobody up', async () => {
    const store = wrap(memoryStore(), (method, _args, call) =>
      method === 'touch' ? new Promise(() => {}) : call(),
    );
    const { keyring } = setUp({ store, storeTimeoutMs: 5 });
    const { key } = await issue(keyring);
    const use = () => keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await use();
    const flushing = keyring.flush();
    await use();
    await storeError(() => flushing);
  });
});

/**
 * How many timers `act` sets before it returns, less those that it takes back. Keyrings of other
 * files, in the same process, try again every few seconds to write to a store that is gone: a count
 * at any other moment has theirs in it.
 */
function timersSetBy(act: () => unknown): number {
  const before = vi.getTimerCount();
  act();
  return vi.getTimerCount() - before;
}

describe('the timer', () => {
  it('writes by itself after some seconds, once for all that came, and starts again with the next use', async () => {
    vi.useFakeTimers();
    const { keyring, touches } = watched();
    const { key } = await issue(keyring);
    const use = () => keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    expect([timersSetBy(use), timersSetBy(use), timersSetBy(use)]).toEqual([1, 0, 0]);
    await vi.advanceTimersByTimeAsync(500);
    expect(touches).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(9_500);
    expect(touches).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(touches).toHaveLength(1);
    // A new one: while nothing was pending there was none, and an idle process is not woken.
    expect(timersSetBy(use)).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(touches).toHaveLength(2);
  });

  it('is taken back by flush', async () => {
    vi.useFakeTimers();
    const { keyring, touches } = watched();
    const { key } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    expect(timersSetBy(keyring.flush)).toBe(-1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(touches).toHaveLength(1);
  });

  it('survives a store that is down: no rejection goes unhandled, and nothing is lost', async () => {
    vi.useFakeTimers();
    let down = true;
    const { keyring, touches } = watched(() => down);
    const { key } = await issue(keyring);
    const use = () => keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await use();
    await vi.advanceTimersByTimeAsync(60_000);
    down = false;
    await use();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(touches).toHaveLength(1);
  });

  it('keeps no process alive', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const { keyring } = watched();
    const { key } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([
      false,
    ]);
    await keyring.flush();
  });

  it('works where a timer is a number, as in browsers and workers', async () => {
    const numbers = vi
      .spyOn(globalThis, 'setTimeout')
      .mockReturnValue(7 as unknown as NodeJS.Timeout);
    const { now } = stoppedClock();
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: [PEPPER],
      now,
    });
    const { key } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await keyring.flush();
    expect(numbers).toHaveBeenCalledTimes(1);
  });

  it('bounds what it keeps while the store is down, and goes on noting the keys it has', async () => {
    const batches: (readonly UsageEntry[])[] = [];
    const usage = createUsage({ ...memoryStore(), touch: (batch) => void batches.push(batch) });
    for (let i = 0; i <= 50_000; i++) usage.record(`key ${i}`, [], START);
    usage.record('key 0', ['threats:read'], START + 1);
    await usage.flush();
    expect(batches.map(({ length }) => length)).toEqual(Array.from({ length: 50 }, () => 1000));
    expect(batches[0]?.[0]).toEqual({
      keyId: 'key 0',
      lastUsedAt: START + 1,
      scopesUsed: { 'threats:read': START + 1 },
    });
  });

  // All keys went out at once: a server that needs longer for them than a store may take never had
  // them acknowledged.
  it('goes out in parts, each of which has the whole time that a store may take', async () => {
    vi.useFakeTimers();
    const written: string[] = [];
    const touch = (entries: readonly UsageEntry[]) =>
      new Promise<void>((done) => {
        setTimeout(done, entries.length);
        written.push(...entries.map(({ keyId }) => keyId));
      });
    const store = guardStore({ ...memoryStore(), touch }, 1500);
    const usage = createUsage(store);
    for (let i = 0; i < 2500; i++) usage.record(`key ${i}`, [], START);
    const flushed = usage.flush();
    await vi.advanceTimersByTimeAsync(2500);
    await flushed;
    expect(written).toHaveLength(2500);
  });

  // On Workers a write dies with the request that began it, and a flush that waited for it never
  // came to its own.
  it('is written though a write before it never ends', async () => {
    const touched: string[][] = [];
    let hangs = true;
    const touch = (entries: readonly UsageEntry[]) => {
      touched.push(entries.map(({ keyId }) => keyId));
      return hangs ? new Promise<void>(() => {}) : undefined;
    };
    const usage = createUsage({ ...memoryStore(), touch });
    usage.record('a', [], START);
    void usage.flush();
    hangs = false;
    usage.record('b', [], START);
    void usage.flush();
    usage.record('c', [], START);
    await usage.flush();
    expect(touched).toEqual([['a'], ['b'], ['c']]);
  });
});

it('waits for the batch that is under way, so that a shutdown loses nothing', async () => {
  const inner = memoryStore();
  let finish = () => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const store = wrap(inner, (method, _args, call) =>
    method === 'touch' ? slow.then(call) : call(),
  );
  const { keyring } = setUp({ store });
  const { key, info } = await issue(keyring);
  await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
  keyring.flush();
  let done = false;
  const shutdown = keyring.flush().then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  finish();
  await shutdown;
  expect((await rowOf(inner, info.keyId)).lastUsedAt).toBe(START);
});

// The flush of a shutdown resolved while the batch before it had failed and was back in memory.
it('writes again what the batch under way could not write', async () => {
  const inner = memoryStore();
  let fail = () => {};
  let touches = 0;
  const store = wrap(inner, (method, _args, call) => {
    if (method !== 'touch' || touches++ > 0) return call();
    return new Promise((_, reject) => {
      fail = () => reject(new Error('down for a moment'));
    });
  });
  const { keyring } = setUp({ store });
  const { key, info } = await issue(keyring);
  await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
  const timers = keyring.flush().catch(() => 'failed');
  const shutdown = keyring.flush();
  fail();
  await shutdown;
  expect((await rowOf(inner, info.keyId)).lastUsedAt).toBe(START);
  expect(await timers).toBe('failed');
  // What failed long ago is no reason to fail or to write again.
  await keyring.flush();
  expect(touches).toBe(2);
});
