import { createKeyring, isStoreError, type KeyStore, type UsageEntry } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readEntityKind } from '../../src/core/entity.js';
import { guardStore } from '../../src/core/outage.js';
import { createPrincipal } from '../../src/core/principal.js';
import { createUsage, readUsageOptions } from '../../src/core/usage.js';
import {
  AUTHORITY,
  bearer,
  delayed,
  HOUR,
  issue,
  OWN,
  PEPPER,
  policy,
  recording,
  rowOf,
  START,
  setUp,
  stoppedClock,
  storeError,
  thrown,
  wrap,
} from '../support/keyring.ts';
import { EXACT, timersSetBy, watched } from '../support/usage.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

describe('the usage of keys', () => {
  it('is noted after authorization, and written in one batch by flush', async () => {
    const { keyring, clock, touches, inner } = watched();
    const scopes = ['threats:read', 'threats:write'] as const;
    const a = await keyring.issue({ name: 'a', scopes, expiresAt: 'never' }, AUTHORITY);
    const b = await issue(keyring);
    await keyring.admit(bearer(a.key), { operation: 'triage' });
    clock.advance(10);
    await keyring.admit(bearer(a.key), { operation: 'list' });
    clock.advance(10);
    await keyring.admit(bearer(b.key), { operation: 'whoami' });
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
    const scopesUsed = { 'threats:read': new Date(START + 10), 'threats:write': new Date(START) };
    expect(await keyring.get(a.info.keyId, AUTHORITY)).toMatchObject({ scopesUsed });
    // The seal does not cover usage, so the written row is still valid.
    await keyring.verify(a.key);
    expect((await rowOf(inner, b.info.keyId)).lastUsedAt).toBe(START + 20);
  });

  it('is not noted for a refused request or by verify and authenticate', async () => {
    const { keyring, touches } = watched();
    const { key } = await issue(keyring);
    await keyring.verify(key);
    await keyring.authenticate(bearer(key));
    await thrown(() => keyring.admit(bearer(key), { operation: 'triage' }));
    await thrown(() => keyring.admit(bearer(key), { operation: 'list', entityId: '' }));
    await thrown(() => keyring.admit(undefined, { operation: 'list' }));
    await keyring.flush();
    expect(touches).toEqual([]);
  });

  it('has only the scopes that were used, not all granted ones', async () => {
    const { keyring, touches } = watched();
    const input = {
      name: 'n',
      scopes: ['threats:read', 'threats:write', 'decoys:*'],
      expiresAt: 'never',
    } as const;
    const { key } = await keyring.issue(input, AUTHORITY);
    await keyring.admit(bearer(key), { operation: 'list' });
    await keyring.flush();
    expect(touches.flat().map(({ scopesUsed }) => scopesUsed)).toEqual([{ 'threats:read': START }]);
  });

  it('makes no call if there is nothing to write', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    await keyring.flush();
    const { key } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    await keyring.flush();
    await keyring.flush();
    expect(calls.filter((method) => method === 'touch')).toHaveLength(1);
  });

  it('never moves backwards, in memory or in the store', async () => {
    const { keyring, clock, inner } = watched();
    const { key, info } = await issue(keyring);
    const use = async (time: number) => {
      clock.set(time);
      await keyring.admit(bearer(key), { operation: 'list' });
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

  it('changes no other fields, so that concurrent marks stay', async () => {
    // Writing back the record as read would undo a revocation.
    const { keyring, inner } = watched();
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    await keyring.revoke(info.keyId, AUTHORITY);
    const before = await rowOf(inner, info.keyId);
    await keyring.flush();
    const used = { lastUsedAt: START, scopesUsed: { 'threats:read': START } };
    expect(await rowOf(inner, info.keyId)).toEqual({ ...before, ...used });
  });

  it('is kept if it could not be written, together with later usage', async () => {
    let down = true;
    const { keyring, clock, touches } = watched(() => down);
    const a = await issue(keyring);
    const b = await issue(keyring);
    const use = ({ key }: { key: string }) => keyring.admit(bearer(key), { operation: 'list' });
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

  // Every scope was put back with the time of the key's last use. While one row could not be
  // written, no scope was reported as unused.
  it('is put back scope by scope if it could not be written', async () => {
    let down = true;
    const { keyring, clock, touches } = watched(() => down);
    const { key, info } = await keyring.issue(
      { name: 'CI', scopes: ['threats:read', 'threats:write'], expiresAt: 'never' },
      AUTHORITY,
    );
    await keyring.admit(bearer(key), { operation: 'triage' });
    clock.advance(5);
    await keyring.admit(bearer(key), { operation: 'list' });
    await storeError(() => keyring.flush());
    down = false;
    await keyring.flush();
    const scopesUsed = { 'threats:read': START + 5, 'threats:write': START };
    expect(touches).toEqual([[{ keyId: info.keyId, lastUsedAt: START + 5, scopesUsed }]]);
  });

  it('goes into the next batch while one is being written', async () => {
    const { keyring, clock, touches } = watched(undefined, delayed(memoryStore()));
    const { key } = await issue(keyring);
    const use = () => keyring.admit(bearer(key), { operation: 'list' });
    await use();
    const first = keyring.flush();
    clock.advance(1);
    await use();
    await first;
    await keyring.flush();
    expect(touches.map(([entry]) => entry?.lastUsedAt)).toEqual([START, START + 1]);
  });

  it('delays no request, even if the store never answers', async () => {
    vi.useFakeTimers();
    const store = wrap(memoryStore(), (method, _args, call) =>
      method === 'touch' ? new Promise(() => {}) : call(),
    );
    const { keyring } = setUp({ store, storeTimeoutMs: 5 });
    const { key } = await issue(keyring);
    const use = () => keyring.admit(bearer(key), { operation: 'list' });
    await use();
    const flushing = storeError(() => keyring.flush());
    await use();
    await vi.advanceTimersByTimeAsync(5);
    await flushing;
  });
});

describe('the timer of usage', () => {
  it('writes once after the interval, and restarts with the next use', async () => {
    vi.useFakeTimers();
    const { keyring, clock, touches } = watched();
    const { key } = await issue(keyring);
    const use = () => keyring.admit(bearer(key), { operation: 'list' });
    expect([timersSetBy(use), timersSetBy(use), timersSetBy(use)]).toEqual([1, 0, 0]);
    await vi.advanceTimersByTimeAsync(500);
    expect(touches).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(9_500);
    expect(touches).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(touches).toHaveLength(1);
    clock.advance(1);
    // Without pending usage, no timer is set: an idle process does not wake up.
    expect(timersSetBy(use)).toBe(1);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(touches).toHaveLength(2);
  });

  it('is cleared by flush, and set again by the next use', async () => {
    vi.useFakeTimers();
    const { keyring, clock, touches } = watched();
    const { key } = await issue(keyring);
    const use = () => keyring.admit(bearer(key), { operation: 'list' });
    await use();
    await vi.advanceTimersByTimeAsync(4_000);
    await keyring.flush();
    clock.advance(1);
    await use();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(touches).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(touches).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(touches).toHaveLength(2);
  });

  it('retries while the store is down, without an unhandled rejection or a loss', async () => {
    vi.useFakeTimers();
    let down = true;
    const { keyring, touches } = watched(() => down);
    const { key } = await issue(keyring);
    const use = () => keyring.admit(bearer(key), { operation: 'list' });
    await use();
    await vi.advanceTimersByTimeAsync(60_000);
    down = false;
    await use();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(touches).toHaveLength(1);
  });

  it('is set again by a failed write, even if nobody uses a key', async () => {
    vi.useFakeTimers();
    let down = true;
    const { keyring, touches } = watched(() => down);
    const { key } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    await vi.advanceTimersByTimeAsync(10_000);
    down = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(touches).toHaveLength(1);
  });

  it('keeps no process alive', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const { keyring } = watched();
    const { key } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    expect(timers.mock.results.map(({ value }) => (value as NodeJS.Timeout).hasRef())).toEqual([
      false,
    ]);
    await keyring.flush();
  });

  it('may be a number, as in browsers and workers', async () => {
    const numbers = vi
      .spyOn(globalThis, 'setTimeout')
      .mockReturnValue(7 as unknown as NodeJS.Timeout);
    const { now } = stoppedClock();
    const keyring = createKeyring({
      prefix: 'acme',
      policy,
      store: memoryStore(),
      peppers: [PEPPER],
      now,
    });
    const { key } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    // One for the interval, and one for the time limit of the flush.
    expect(numbers).toHaveBeenCalledTimes(1);
    await keyring.flush();
    expect(numbers).toHaveBeenCalledTimes(2);
  });
});

const CALLER = {
  name: 'ci',
  entityId: OWN,
  accessibleEntities: [OWN],
  scopes: [],
  metadata: {},
  expiresAt: null,
};

/** A recorder over a store with only `touch`. */
function recorder(touch: KeyStore['touch'], timeoutMs = 2_000) {
  const errors: unknown[] = [];
  const store = guardStore({ ...memoryStore(), touch }, timeoutMs);
  const usage = createUsage(store, readUsageOptions(EXACT), timeoutMs, (error) => {
    errors.push(error);
  });
  const use = (keyId: string, scopes: readonly string[] = [], time = START) =>
    usage.record(
      createPrincipal({ ...CALLER, keyId }, 'key', {
        knownScopes: new Set(),
        entityKind: readEntityKind(),
      }),
      scopes,
      time,
    );
  return { usage, use, errors };
}

describe('the batches of usage', () => {
  it('hold at most 50,000 keys, and keep noting their usage', async () => {
    const batches: (readonly UsageEntry[])[] = [];
    const { usage, use } = recorder((batch) => void batches.push(batch));
    for (let number = 0; number <= 50_000; number++) use(`key ${number}`);
    use('key 0', ['threats:read'], START + 1);
    await usage.flush();
    expect(batches.map(({ length }) => length)).toEqual(Array.from({ length: 50 }, () => 1000));
    expect(batches[0]?.[0]).toEqual({
      keyId: 'key 0',
      lastUsedAt: START + 1,
      scopesUsed: { 'threats:read': START + 1 },
    });
  });

  // All keys were written in one call. A server that needed longer for them than the time limit
  // never acknowledged them.
  it('are written in parts, which continue after a flush has timed out', async () => {
    vi.useFakeTimers();
    const written: string[] = [];
    const { usage, use } = recorder((entries) => {
      written.push(...entries.map(({ keyId }) => keyId));
      return new Promise<void>((done) => setTimeout(done, entries.length));
    }, 1_500);
    for (let number = 0; number < 2500; number++) use(`key ${number}`);
    const flushed = storeError(() => usage.flush());
    await vi.advanceTimersByTimeAsync(1_500);
    await flushed;
    expect(written).toHaveLength(2_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(new Set(written).size).toBe(2_500);
    await usage.flush();
    expect(written).toHaveLength(2_500);
  });

  // An idle transaction held a lock on one row. Every 5 s, another write waited for it and took
  // another connection from the look-ups. Within a minute, no key was admitted.
  it('are written one at a time, by the store’s own answer, and report a hang', async () => {
    vi.useFakeTimers();
    let finish = () => {};
    const touched: (readonly string[])[] = [];
    const { use, errors } = recorder((entries) => {
      touched.push(entries.map(({ keyId }) => keyId));
      return touched.length > 1
        ? undefined
        : new Promise<void>((done) => {
            finish = done;
          });
    });
    use('locked');
    await vi.advanceTimersByTimeAsync(5_000);
    use('other');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(touched).toEqual([['locked']]);
    expect(errors.length).toBeGreaterThanOrEqual(8);
    expect(errors.every(isStoreError)).toBe(true);
    const told = errors.length;
    finish();
    await vi.advanceTimersByTimeAsync(8_000);
    expect(touched).toEqual([['locked'], ['other']]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(errors.length).toBeLessThanOrEqual(told + 1);
  });

  // One locked row kept thousands of keys after it from being written.
  it('are written although an earlier one failed, which is reported and retried', async () => {
    const touched: string[] = [];
    let isHeld = true;
    const { usage, use } = recorder((entries) => {
      if (isHeld && entries.some(({ keyId }) => keyId === 'key 7')) throw new Error('held');
      touched.push(...entries.map(({ keyId }) => keyId));
    });
    for (let number = 0; number < 2_500; number++) use(`key ${number}`);
    await storeError(() => usage.flush());
    expect(touched).toHaveLength(1_500);
    isHeld = false;
    await usage.flush();
    expect(new Set(touched).size).toBe(2_500);
  });

  it('are written again if they fail late', async () => {
    vi.useFakeTimers();
    let fail = () => {};
    const touched: (readonly string[])[] = [];
    const { use } = recorder((entries) => {
      touched.push(entries.map(({ keyId }) => keyId));
      if (touched.length > 1) return undefined;
      return new Promise<void>((_, reject) => {
        fail = () => reject(new Error('late'));
      });
    });
    use('a');
    await vi.advanceTimersByTimeAsync(20_000);
    fail();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(touched).toEqual([['a'], ['a']]);
  });

  // On Workers, a write ends with the request that began it. A flush that waited for it never began
  // its own.
  it('are sent on Workers although the previous one never ends', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
    const touched: string[][] = [];
    const { usage, use } = recorder((entries) => {
      touched.push(entries.map(({ keyId }) => keyId));
      return touched.length === 1 ? new Promise<void>(() => {}) : undefined;
    }, 20);
    use('a');
    const dying = storeError(() => usage.flush());
    use('b');
    void usage.flush();
    use('c');
    await usage.flush();
    expect(touched).toEqual([['a'], ['b'], ['c']]);
    await dying;
  });

  it('are awaited by flush, so that a shutdown loses nothing', async () => {
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
    await keyring.admit(bearer(key), { operation: 'list' });
    const first = keyring.flush();
    let done = false;
    const shutdown = keyring.flush().then(() => {
      done = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(done).toBe(false);
    finish();
    await first;
    await shutdown;
    expect((await rowOf(inner, info.keyId)).lastUsedAt).toBe(START);
  });

  // The flush of a shutdown resolved although the previous batch had failed and was back in memory.
  it('are written again by flush if they failed while it waited', async () => {
    const inner = memoryStore();
    let fail = () => {};
    let touches = 0;
    const store = wrap(inner, (method, _args, call) => {
      if (method !== 'touch') return call();
      touches += 1;
      if (touches > 1) return call();
      return new Promise((_, reject) => {
        fail = () => reject(new Error('down for a moment'));
      });
    });
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    const timers = keyring.flush().catch(() => 'failed');
    const shutdown = keyring.flush();
    fail();
    await shutdown;
    expect((await rowOf(inner, info.keyId)).lastUsedAt).toBe(START);
    expect(await timers).toBe('failed');
    // An old failure is not a reason to fail or to write again.
    await keyring.flush();
    expect(touches).toBe(2);
  });
});
