import type { KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { afterStart, startOnce } from '../../src/stores/start.js';

/** An attempt that the test settles. */
interface Settling {
  resolve(answer: string): void;
  reject(error: Error): void;
}

describe('startOnce', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A start whose attempts the test settles. */
  function attempts() {
    const made: Settling[] = [];
    const ready = startOnce(
      () => new Promise<string>((resolve, reject) => made.push({ resolve, reject })),
    );
    return { made, ready };
  }

  it('starts once, for any number of uses, and never again', async () => {
    const { made, ready } = attempts();
    const uses = [ready(), ready()];
    made[0]?.resolve('up');
    expect(await Promise.all(uses)).toEqual(['up', 'up']);
    vi.advanceTimersByTime(86_400_000);
    expect(await ready()).toBe('up');
    expect(made).toHaveLength(1);
  });

  it('tries again after a failure', async () => {
    const { made, ready } = attempts();
    const first = ready();
    made[0]?.reject(new Error('down'));
    await expect(first).rejects.toThrow('down');
    const second = ready();
    made[1]?.resolve('up');
    expect(await second).toBe('up');
  });

  // On a half-open connection the first attempt is never answered, and every use waited for it for
  // ever.
  it('starts a second attempt after 5 s if the first hangs', async () => {
    const { made, ready } = attempts();
    void ready();
    vi.advanceTimersByTime(4_999);
    void ready();
    expect(made).toHaveLength(1);
    vi.advanceTimersByTime(1);
    const second = ready();
    expect(made).toHaveLength(2);
    made[1]?.resolve('up');
    expect(await second).toBe('up');
    // A late failure of the first undoes nothing, and a late success starts nothing.
    made[0]?.reject(new Error('late'));
    await Promise.resolve();
    expect(await ready()).toBe('up');
    expect(made).toHaveLength(2);
  });

  it('counts a late success', async () => {
    const { made, ready } = attempts();
    const first = ready();
    vi.advanceTimersByTime(5_000);
    void ready();
    made[0]?.resolve('up');
    expect([await first, await ready()]).toEqual(['up', 'up']);
    vi.advanceTimersByTime(86_400_000);
    expect(await ready()).toBe('up');
    expect(made).toHaveLength(2);
  });
});

describe('afterStart', () => {
  // The contract uses the number of parameters of `summarize` to see whether it accepts a time.
  it("keeps the parameters of the store's methods", () => {
    function lengthsOf({ isInProcess: _, ...store }: KeyStore): [string, number][] {
      const methods = Object.entries<{ readonly length: number }>({ ...store });
      return methods.map(([name, method]) => [name, method.length]);
    }
    const store = memoryStore();
    const late = afterStart(async () => {}, store);
    expect(lengthsOf(late)).toEqual(lengthsOf(store));
    expect(late.summarize).toHaveLength(1);
  });
});
