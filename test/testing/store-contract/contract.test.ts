/** How `storeContract` treats its arguments and the store. */
import type { KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, expect, test, vi } from 'vitest';

/** Returns the contract's tests of a factory's stores, by name. */
function testsOf(factory: () => KeyStore): ReadonlyMap<string, () => Promise<void>> {
  const tests = new Map<string, () => Promise<void>>();
  storeContract((name, run) => {
    expect(tests.has(name), name).toBe(false);
    tests.set(name, run);
  }, factory);
  return tests;
}

const OPTIONAL = ['summarize', 'listExpiring', 'listAll', 'listChanged'] as const;

describe('storeContract', () => {
  test.each(OPTIONAL)(
    'passes a store without %s, and marks the method as optional in its test names',
    async (name) => {
      const tests = testsOf(() => ({ ...memoryStore(), [name]: undefined }));
      const about = [...tests].filter(([title]) => title.startsWith(name));
      expect(about).not.toEqual([]);
      for (const [title, run] of about) {
        expect(title).toContain(', if ');
        await run();
      }
    },
  );

  test.each(OPTIONAL)('calls %s if the store has it', async (name) => {
    const broken = () => Promise.reject(new Error('asked'));
    const tests = testsOf(() => ({ ...memoryStore(), [name]: broken }));
    const about = [...tests].filter(([title]) => title.startsWith(`${name}, if present`));
    expect(about).not.toEqual([]);
    for (const [, run] of about) await expect(run()).rejects.toThrow('asked');
  });

  test.each([
    'insert',
    'findByDigest',
    'findById',
    'list',
    'listLineage',
    'mark',
    'touch',
  ] as const)('fails a store without %s', async (name) => {
    const tests = testsOf(() => ({ ...memoryStore(), [name]: undefined }) as unknown as KeyStore);
    const about = [...tests].filter(([title]) => title.startsWith(`${name} `));
    const results = await Promise.allSettled(about.map(([, run]) => run()));
    expect(results.map(({ status }) => status)).toContain('rejected');
  });

  test('closes the store, even if the test failed', async () => {
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

  // Regression: every test failed with an engine's error that did not mention the store.
  test.each([
    ['a store instead of a factory', memoryStore()],
    ['a promise of a store', Promise.resolve(memoryStore())],
    ['no factory', undefined],
  ])('rejects %s before it registers a test', (_what, odd) => {
    const registered: string[] = [];
    const call = () =>
      storeContract((title) => registered.push(title), odd as unknown as () => KeyStore);
    const message =
      'storeContract: factory is not a function. Pass () => myStore() instead of a store';
    expect(call).toThrow(new TypeError(message));
    expect(registered).toEqual([]);
  });

  test('rejects arguments in the wrong order', () => {
    const swapped = [memoryStore(), () => undefined] as unknown;
    expect(() => storeContract(...(swapped as Parameters<typeof storeContract>))).toThrow(
      'storeContract: test is not a function',
    );
  });
});
