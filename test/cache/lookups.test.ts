/** Look-ups by digest: which answers are remembered, and under which name. */
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { cachedRing, freshRecord, lru, MAX_MS } from '../support/cache.ts';
import { delayed, NOWHERE, wrap } from '../support/keyring.ts';

describe('an answer that is not remembered', () => {
  const asked = freshRecord();
  const others: Readonly<Record<string, unknown>> = {
    'two records': [asked, { ...asked, keyId: NOWHERE }],
    'a malformed record': [{ ...asked, scopes: ['*:*'] }],
    'no record': [null],
    "another key's record": [freshRecord()],
    'no list': { length: 0 },
    nothing: undefined,
  };

  it.each(Object.keys(others))('%s', async (what) => {
    let answer = others[what];
    const store = wrap(memoryStore(), (method, _args, call) =>
      method === 'findByDigest' ? answer : call(),
    );
    for (const inner of [store, delayed(store)]) {
      answer = others[what];
      const cached = cacheStore(inner, { cache: lru(), maxStalenessMs: MAX_MS });
      expect(await cached.findByDigest([asked.digest])).toBe(answer);
      answer = [asked];
      expect(await cached.findByDigest([asked.digest])).toEqual([asked]);
    }
  });

  it('the answer to anything but digests, or to a name that is ambiguous', async () => {
    const { store, cache, lookUps } = cachedRing();
    const made = freshRecord({ digest: 's1$a' });
    await store.insert(made);
    for (const digests of [['s1$a'], ['s1$a', 's1$b']]) {
      expect(await store.findByDigest(digests)).toEqual([made]);
    }
    expect([...cache.keys()].sort()).toEqual(['s1$a', 's1$a\ns1$b']);
    const odd = [[['s1$a']], [[['s1$a']]], [{ toString: () => 's1$a' }], ['s1$a\ns1$b'], [], ['']];
    for (const digests of [...odd, ...odd]) {
      expect(await store.findByDigest(digests as string[])).toEqual([]);
    }
    expect(lookUps()).toBe(2 + 2 * odd.length - 1);
    const empty = freshRecord({ digest: '' });
    await store.insert(empty);
    expect(await store.findByDigest([''])).toEqual([empty]);
    expect(await store.findByDigest([])).toEqual([]);
  });
});
