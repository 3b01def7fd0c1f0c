/** What `cacheStore` accepts, and what it says of anything else. */
import type { KeyStore } from 'keyscope';
import type { CacheOptions } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import { describe, expect, it } from 'vitest';
import { lru } from '../support/cache.ts';
import { complaint } from '../support/complaint.ts';
import { METHODS } from '../support/keyring.ts';

const GOOD = { cache: lru(), maxStalenessMs: 1_000 };

/** What is said of options, or of a store. */
function complaintOf(options: unknown, store: unknown = memoryStore()): string {
  return complaint(() => cacheStore(store as KeyStore, options as CacheOptions));
}

describe('options', () => {
  it('accepts an LRUCache, of any content, and a Map', () => {
    const caches = [
      new LRUCache<string, object>({ max: 5 }),
      new LRUCache({ max: 5 }),
      new Map<string, object>(),
    ];
    for (const cache of caches) cacheStore(memoryStore(), { cache, maxStalenessMs: 1 });
    const cache = new Map<string, unknown>();
    cacheStore(memoryStore(), { cache, maxStalenessMs: 30_000, now: () => 0 });
  });

  it.each([0, -1, 86_400_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '5000', undefined, null])(
    'rejects maxStalenessMs: %s, and says what is valid',
    (maxStalenessMs) => {
      expect(complaintOf({ ...GOOD, maxStalenessMs })).toBe(
        'maxStalenessMs, in milliseconds: pass a whole number from 1 to 86400000',
      );
    },
  );

  it.each([-1, 86_400_001, 1.5, Number.NaN, '5000', null])(
    'rejects insecureStaleIfErrorMs: %s, and says what is valid',
    (insecureStaleIfErrorMs) => {
      expect(complaintOf({ ...GOOD, insecureStaleIfErrorMs })).toBe(
        'insecureStaleIfErrorMs, in milliseconds: pass a whole number from 0 to 86400000',
      );
    },
  );

  it('rejects anything that is not a cache, channel, clock or store, and unknown options', () => {
    for (const cache of [undefined, null, {}, { get() {}, set() {} }, 5, []]) {
      expect(complaintOf({ ...GOOD, cache })).toMatch(/^cache: pass a bounded cache/);
    }
    for (const invalidation of [null, {}, { publish() {} }, { subscribe() {} }, () => {}]) {
      expect(complaintOf({ ...GOOD, invalidation })).toMatch(
        /^invalidation: pass \{ publish, subscribe \}/,
      );
    }
    expect(complaintOf({ ...GOOD, now: 5 })).toMatch(/^now: pass a function/);
    for (const onError of [null, {}, 'log']) {
      expect(complaintOf({ ...GOOD, onError })).toMatch(/^onError: pass a function/);
    }
    expect(complaintOf({ ...GOOD, ttl: 5 })).toMatch(/unknown field "ttl"/);
    for (const options of [undefined, null, [], 5]) {
      expect(complaintOf(options)).toMatch(/^cacheStore: pass an object/);
    }
    for (const store of [null, {}, 5, 'store']) {
      expect(complaintOf(GOOD, store)).toMatch(/has no method insert/);
    }
    for (const method of METHODS) {
      const store = { ...memoryStore(), [method]: undefined };
      expect(complaintOf(GOOD, store)).toContain(`has no method ${method}`);
    }
  });
});
