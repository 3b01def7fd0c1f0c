/** The law of keys without a secret, in this process: any case, and every small one. */
import fc from 'fast-check';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { expect, it } from 'vitest';
import { anyCase, everyCase, playKeyless } from '../support/keyless-law.ts';
import { runs } from '../support/runs.ts';

it('holds for any key, changes and token', async () => {
  const law = fc.asyncProperty(anyCase, async (played) => {
    const store = memoryStore();
    await playKeyless(store, [store], played);
  });
  await fc.assert(law, { numRuns: runs(300) });
});

it('holds for every key, changes and token of a small world', async () => {
  let count = 0;
  for (const played of everyCase()) {
    const store = memoryStore();
    const cached = cacheStore(store, { cache: new Map(), maxStalenessMs: 1_000 });
    await playKeyless(cached, [store, cached], played);
    count += 1;
  }
  expect(count).toBe(640);
});
