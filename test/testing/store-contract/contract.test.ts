/** What the store contract does with its arguments, and with the store that it is given. */
import type { KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, expect, test, vi } from 'vitest';

/** The contract's tests of the stores that a factory makes, by name. */
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
    'passes a store without %s, and says in its names that it may',
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

  test.each(OPTIONAL)('asks for %s of a store that has it', async (name) => {
    const broken = () => Promise.reject(new Error('asked'));
    const tests = testsOf(() => ({ ...memoryStore(), [name]: broken }));
    const about = [...tests].filter(([title]) => title.startsWith(`${name}, if there is one`));
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
  ] as const)('takes no store for whole that has no %s', async (name) => {
    const tests = testsOf(() => ({ ...memoryStore(), [name]: undefined }) as unknown as KeyStore);
    const about = [...tests].filter(([title]) => title.startsWith(`${name} `));
    const results = await Promise.allSettled(about.map(([, run]) => run()));
    expect(results.map(({ status }) => status)).toContain('rejected');
  });

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
