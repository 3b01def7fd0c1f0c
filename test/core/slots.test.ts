import { afterEach, describe, expect, it, vi } from 'vitest';
import { createSlots } from '../../src/core/slots.js';

/** Work that ends when the test says so, and the order in which it began. */
function createWork() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const work = (name: string) => async (): Promise<string> => {
    begun.push(name);
    await new Promise<void>((resolve) => ends.set(name, resolve));
    return name;
  };
  return { begun, work, end: (name: string) => ends.get(name)?.() };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('slots', () => {
  it('run work at once while one is free, and the rest in order', async () => {
    const { begun, work, end } = createWork();
    const slots = createSlots(2);
    const results = ['a', 'b', 'c', 'd'].map((name) => slots.take(work(name)));
    expect(begun).toEqual(['a', 'b']);
    expect(slots.waiting()).toBe(2);
    end('b');
    expect(await results[1]).toBe('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    end('a');
    end('c');
    await Promise.all([results[0], results[2]]);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    expect(slots.waiting()).toBe(0);
    end('d');
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('are free again after an error', async () => {
    const slots = createSlots(1);
    const fail = () => slots.take(() => Promise.reject(new Error('no')));
    await expect(fail()).rejects.toThrow('no');
    await expect(fail()).rejects.toThrow('no');
    expect(await slots.take(async () => 1)).toBe(1);
  });

  it('count work that hangs only for a while, and once', async () => {
    vi.useFakeTimers();
    const { begun, work, end } = createWork();
    const slots = createSlots(1, 1_000);
    const results = ['a', 'b', 'c'].map((name) => slots.take(work(name)));
    await vi.advanceTimersByTimeAsync(999);
    expect(begun).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(['a', 'b']);
    // Its slot went to `b`, so its end frees none.
    end('a');
    expect(await results[0]).toBe('a');
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await results[1];
    expect(begun).toEqual(['a', 'b', 'c']);
    end('c');
    await results[2];
    expect(vi.getTimerCount()).toBe(0);
  });
});
