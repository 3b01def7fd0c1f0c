/** The default clock of a cache. */
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { countLookUps, freshRecord, lru, MAX_MS } from '../support/cache.ts';
import { HOUR, recording, START } from '../support/keyring.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('the default clock of a cache', () => {
  /** Looks up one key before and after the two clocks of the platform have moved. */
  async function lookUpsAfter(wall: number, steady: number): Promise<number> {
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now: START });
    const { store, calls } = recording(memoryStore());
    await store.insert(freshRecord({ digest: 's1$a' }));
    const cached = cacheStore(store, { cache: lru(), maxStalenessMs: MAX_MS });
    await cached.findByDigest(['s1$a']);
    const now = performance.now() + steady;
    vi.setSystemTime(START + wall);
    vi.spyOn(performance, 'now').mockReturnValue(now);
    await cached.findByDigest(['s1$a']);
    vi.restoreAllMocks();
    return countLookUps(calls);
  }

  it('advances', async () => {
    expect(await lookUpsAfter(MAX_MS - 1, MAX_MS - 1)).toBe(1);
    expect(await lookUpsAfter(MAX_MS, MAX_MS)).toBe(2);
  });

  it('does not go back when the time is set back', async () => {
    expect(await lookUpsAfter(-HOUR, MAX_MS - 1)).toBe(1);
    expect(await lookUpsAfter(-HOUR, MAX_MS)).toBe(2);
  });

  it('counts the time while the machine sleeps', async () => {
    expect(await lookUpsAfter(HOUR, 0)).toBe(2);
  });

  /** One key in a cache, and the two clocks of the platform, which the test moves. */
  async function moveClocks() {
    let wall = START;
    let steady = 1_000;
    vi.spyOn(Date, 'now').mockImplementation(() => Math.floor(wall));
    vi.spyOn(performance, 'now').mockImplementation(() => steady);
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    const { store, calls } = recording(memoryStore());
    await store.insert(freshRecord({ digest: 's1$a' }));
    const cached = cacheStore(store, { cache: lru(), maxStalenessMs: MAX_MS });
    const lookUps = async () => {
      await cached.findByDigest(['s1$a']);
      return countLookUps(calls);
    };
    const pass = (wallMs: number, steadyMs: number) => {
      wall += wallMs;
      steady += steadyMs;
    };
    await lookUps();
    return { lookUps, pass };
  }

  // An earlier lead of the time hid every shorter sleep, and a key that was revoked elsewhere kept
  // working.
  it('also counts sleep after the time was set ahead and corrected', async () => {
    const { lookUps, pass } = await moveClocks();
    pass(HOUR, 0);
    await lookUps();
    pass(-HOUR, 0);
    const before = await lookUps();
    pass(HOUR / 2, 0);
    expect(await lookUps()).toBe(before + 1);
  });

  it('runs at the speed of time however often it is read, and counts every sleep', async () => {
    const { lookUps, pass } = await moveClocks();
    // Fractions that add up exactly.
    for (let i = 1; i < MAX_MS * 8; i++) {
      pass(1 / 8, 1 / 8);
      if (i % 3 === 0) await lookUps();
    }
    expect(await lookUps()).toBe(1);
    pass(1 / 8, 1 / 8);
    expect(await lookUps()).toBe(2);
    for (let i = 0; i < MAX_MS; i++) {
      pass(1, 0);
      await lookUps();
    }
    expect(await lookUps()).toBe(3);
  });
});
