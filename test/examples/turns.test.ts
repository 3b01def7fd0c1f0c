/** So much at a time, so much waiting, and each for so long. */
import { describe, expect, it, vi } from 'vitest';
import { Busy, createTurns } from '../../examples/platform/host/turns.ts';

/** Work that is done when a test says so. */
function works() {
  const begun: string[] = [];
  const ends = new Map<string, (failure?: Error) => void>();
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<string>((resolve, reject) => {
      ends.set(name, (failure) => (failure === undefined ? resolve(name) : reject(failure)));
    });
  };
  return { begun, work, end: (name: string, failure?: Error) => ends.get(name)?.(failure) };
}

const settled = () => new Promise<void>((done) => void setImmediate(done));

describe('turns', () => {
  it('come in the order in which they were asked for, so many at a time', async () => {
    const { begun, work, end } = works();
    const inTurn = createTurns({ atOnce: 2, waiting: 3, patienceMs: 60_000 });
    const all = ['a', 'b', 'c', 'd', 'e'].map((name) => inTurn(work(name)).catch(() => 'failed'));
    await expect(inTurn(work('f'))).rejects.toThrow(Busy);
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await settled();
    expect(begun).toEqual(['a', 'b', 'c']);
    // Nobody comes in before those who wait.
    const late = inTurn(work('g'));
    end('a', new Error('broken'));
    await settled();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    for (const name of ['c', 'd']) end(name);
    await settled();
    for (const name of ['e', 'g']) end(name);
    expect(await Promise.all(all)).toEqual(['failed', 'b', 'c', 'd', 'e']);
    expect(await late).toBe('g');
    // All turns are free again.
    const again = ['h', 'i'].map((name) => inTurn(work(name)));
    expect(begun.slice(-2)).toEqual(['h', 'i']);
    for (const name of ['h', 'i']) end(name);
    await Promise.all(again);
  });

  it('come sooner to those who are first, however many others wait', async () => {
    const { begun, work, end } = works();
    const inTurn = createTurns({ atOnce: 1, waiting: 2, patienceMs: 60_000 });
    const others = ['a', 'b', 'c'].map((name) => inTurn(work(name)));
    await expect(inTurn(work('d'))).rejects.toThrow(Busy);
    const firsts = ['e', 'f'].map((name) => inTurn(work(name), { isFirst: true }));
    await expect(inTurn(work('g'), { isFirst: true })).rejects.toThrow(Busy);
    for (const name of ['a', 'e', 'f', 'b', 'c']) {
      end(name);
      await settled();
    }
    await Promise.all([...others, ...firsts]);
    expect(begun).toEqual(['a', 'e', 'f', 'b', 'c']);
  });

  it('are waited for no longer than that', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const { begun, work, end } = works();
      const inTurn = createTurns({ atOnce: 1, waiting: 1, patienceMs: 50 });
      const first = inTurn(work('a'));
      const second = expect(inTurn(work('b'))).rejects.toThrow(Busy);
      await vi.advanceTimersByTimeAsync(50);
      await second;
      // Its place is free.
      const third = inTurn(work('c'));
      end('a');
      await first;
      await settled();
      end('c');
      expect(await third).toBe('c');
      expect(begun).toEqual(['a', 'c']);
    } finally {
      vi.useRealTimers();
    }
  });
});
