import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { lru } from '../support/cache.ts';
import { AUTHORITY, bearer, issue, START, setUp, untyped } from '../support/keyring.ts';
import { timersSetBy, watched } from '../support/usage.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('the option usage', () => {
  const cached = () => cacheStore(memoryStore(), { cache: lru(), maxStalenessMs: 10_000 });

  it.each([
    { of: 'read for each request', store: memoryStore },
    { of: 'cached', store: cached },
  ])('skips a use within the granularity of the stored one, of a key $of', async ({ store }) => {
    const { keyring, clock, touches } = watched(undefined, store(), { granularityMs: 1_000 });
    const scopes = ['threats:read', 'threats:write'] as const;
    const { key } = await keyring.issue({ name: 'a', scopes, expiresAt: 'never' }, AUTHORITY);
    const use = async (operation: 'list' | 'triage') => {
      await keyring.admit(bearer(key), { operation });
      await keyring.flush();
      return touches.length;
    };
    expect(await use('list')).toBe(1);
    clock.advance(1_000);
    expect(await use('list')).toBe(1);
    // A scope without a stored use in that span is written, together with the key.
    expect(await use('triage')).toBe(2);
    expect(await use('list')).toBe(2);
    clock.advance(1_001);
    expect(await use('list')).toBe(3);
    expect(touches.map(([entry]) => entry?.lastUsedAt)).toEqual([
      START,
      START + 1_000,
      START + 2_001,
    ]);
  });

  it('is a minute by default, with writes every five seconds', async () => {
    vi.useFakeTimers();
    const { keyring, clock, touches } = watched(undefined, memoryStore(), {});
    const { key } = await issue(keyring);
    const use = () => keyring.admit(bearer(key), { operation: 'list' });
    await use();
    await vi.advanceTimersByTimeAsync(4_999);
    expect(touches).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(touches).toHaveLength(1);
    clock.advance(60_000);
    await use();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(touches).toHaveLength(1);
    clock.advance(1);
    await use();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(touches).toHaveLength(2);
  });

  it('has an interval', async () => {
    vi.useFakeTimers();
    const { keyring, touches } = watched(undefined, memoryStore(), { intervalMs: 100 });
    const { key } = await issue(keyring);
    await keyring.admit(bearer(key), { operation: 'list' });
    await vi.advanceTimersByTimeAsync(99);
    expect(touches).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(touches).toHaveLength(1);
  });

  it('may be off, so that nothing is noted and flush resolves', async () => {
    vi.useFakeTimers();
    const { keyring, touches } = watched(undefined, memoryStore(), 'off');
    const { key } = await issue(keyring);
    const set = timersSetBy(() => keyring.admit(bearer(key), { operation: 'list' }));
    expect(set).toBe(0);
    await keyring.flush();
    expect(touches).toEqual([]);
  });

  it.each([
    [null, /usage: pass an object with intervalMs, granularityMs/],
    ['on', /usage: pass an object/],
    [true, /usage: pass an object/],
    [{ interval: 1 }, /usage: unknown field "interval"/],
    [{ intervalMs: 0 }, /usage.intervalMs: pass a whole number from 1 to 3600000/],
    [{ intervalMs: 3_600_001 }, /usage.intervalMs/],
    [{ intervalMs: '5' }, /usage.intervalMs/],
    [{ granularityMs: -1 }, /usage.granularityMs: pass a whole number from 0 to 86400000/],
    [{ granularityMs: 86_400_001 }, /usage.granularityMs/],
    [{ granularityMs: Number.NaN }, /usage.granularityMs/],
    [{ granularityMs: null }, /usage.granularityMs/],
  ])('is checked at start-up: %o', (usage, message) => {
    expect(() => setUp({ usage: untyped(usage) })).toThrow(message);
  });
});
