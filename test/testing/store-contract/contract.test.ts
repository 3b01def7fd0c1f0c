/** What the store contract does with its arguments, and with the store that it is given. */
import type { KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, expect, test, vi } from 'vitest';

describe('storeContract', () => {
  test('closes the store, also after a failure', async () => {
    const insert = vi.fn(() => Promise.reject(new Error('down')));
    const close = vi.fn(async () => {});
    const open = vi.fn(async () => ({ ...memoryStore(), insert, close }));
    const tests: (() => Promise<void>)[] = [];
    storeContract((_name, run) => tests.push(run), open);
    for (const run of tests) {
      await run().catch(() => undefined);
    }
    expect(open).toHaveBeenCalledTimes(tests.length);
    expect(close).toHaveBeenCalledTimes(tests.length);
  });

  // Each test by itself failed with an engine's error, which spoke of no store.
  test.each([
    ['a store instead of a factory', memoryStore()],
    ['a promise of a store', Promise.resolve(memoryStore())],
    ['no factory', undefined],
  ])('refuses %s before it registers a test', (_what, odd) => {
    const registered: string[] = [];
    const call = () =>
      storeContract((title) => registered.push(title), odd as unknown as () => KeyStore);
    const message =
      'storeContract: pass a function that makes a store, () => myStore(), not a store';
    expect(call).toThrow(new TypeError(message));
    expect(registered).toEqual([]);
  });

  test('refuses what registers no test', () => {
    const swapped = [memoryStore(), () => undefined] as unknown;
    expect(() => storeContract(...(swapped as Parameters<typeof storeContract>))).toThrow(
      'storeContract: pass the function that registers a test',
    );
  });
});
