/** Look-ups by digest: which answers are cached, and under which name. */
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  cachedRing,
  freshRecord,
  holdLookUps,
  lru,
  MAX_MS,
  noteOptions,
  REVOKE,
} from '../support/cache.ts';
import { delayed, issue, NOWHERE, wrap } from '../support/keyring.ts';

describe('an answer that is not cached', () => {
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

  it('the answer to anything that is not a digest, or to an ambiguous name', async () => {
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

describe('a fresh look-up', () => {
  it('asks the store, whatever is cached or in progress', async () => {
    const { store: inner, waiting, letGo } = holdLookUps(memoryStore());
    const { store } = cachedRing(inner);
    const made = freshRecord();
    await inner.insert(made);
    const early = store.findByDigest([made.digest]);
    await inner.mark(made.keyId, REVOKE);
    const fresh = store.findByDigest([made.digest], { fresh: true });
    expect(waiting).toHaveLength(2);
    await letGo();
    expect(await early).toMatchObject([{ revokedAt: null }]);
    expect(await fresh).toMatchObject([{ revokedAt: 1 }]);
    const again = store.findByDigest([made.digest], { fresh: true });
    expect(waiting).toHaveLength(1);
    await letGo();
    expect(await again).toMatchObject([{ revokedAt: 1 }]);
  });

  it('is what management, identify and anything that outlives a request use', async () => {
    const { store: inner, noted } = noteOptions(memoryStore());
    const { keyring } = cachedRing(inner);
    const { key } = await issue(keyring);
    await keyring.verify(key);
    await keyring.identify(key);
    await keyring.authenticate(`Bearer ${key}`, { fresh: true });
    expect(noted.map((options) => options?.fresh)).toEqual([undefined, true, true]);
  });

  it('caches its answer', async () => {
    const { store, inner, lookUps } = cachedRing();
    const made = freshRecord();
    await inner.insert(made);
    await store.findByDigest([made.digest]);
    await inner.mark(made.keyId, REVOKE);
    expect(await store.findByDigest([made.digest])).toMatchObject([{ revokedAt: null }]);
    expect(await store.findByDigest([made.digest], { fresh: true })).toMatchObject([
      { revokedAt: 1 },
    ]);
    expect(await store.findByDigest([made.digest])).toMatchObject([{ revokedAt: 1 }]);
    expect(lookUps()).toBe(2);
  });

  it('replaces neither a mark nor the answer to a later look-up', async () => {
    const { store: inner, letGo } = holdLookUps(memoryStore());
    const { store, clock } = cachedRing(inner);
    const made = freshRecord();
    await store.insert(made);
    const marked = store.findByDigest([made.digest], { fresh: true });
    await store.mark(made.keyId, REVOKE);
    await letGo();
    expect(await marked).toMatchObject([{ revokedAt: null }]);
    const later = store.findByDigest([made.digest]);
    await letGo();
    expect(await later).toMatchObject([{ revokedAt: 1 }]);

    const other = freshRecord();
    await inner.insert(other);
    const slow = store.findByDigest([other.digest], { fresh: true });
    await inner.mark(other.keyId, REVOKE);
    clock.advance(1);
    const fast = store.findByDigest([other.digest]);
    await letGo(1);
    expect(await fast).toMatchObject([{ revokedAt: 1 }]);
    await letGo();
    expect(await slow).toMatchObject([{ revokedAt: null }]);
    expect(await store.findByDigest([other.digest])).toMatchObject([{ revokedAt: 1 }]);
  });
});
