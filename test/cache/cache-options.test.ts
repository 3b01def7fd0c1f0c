/** The arguments that `cacheStore` accepts, and its errors for others. */
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

/** Returns the error for options, or for a store. */
function complaintOf(options: unknown, store: unknown = memoryStore()): string {
  return complaint(() => cacheStore(store as KeyStore, options as CacheOptions));
}

describe('options', () => {
  it('accept an LRUCache with any content, and a Map', () => {
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
    'with maxStalenessMs: %s are rejected, with the valid range',
    (maxStalenessMs) => {
      expect(complaintOf({ ...GOOD, maxStalenessMs })).toBe(
        'maxStalenessMs, in milliseconds: pass a whole number from 1 to 86400000',
      );
    },
  );

  it.each([-1, 86_400_001, 1.5, Number.NaN, '5000', null])(
    'with insecureStaleIfErrorMs: %s are rejected, with the valid range',
    (insecureStaleIfErrorMs) => {
      expect(complaintOf({ ...GOOD, insecureStaleIfErrorMs })).toBe(
        'insecureStaleIfErrorMs, in milliseconds: pass a whole number from 0 to 86400000',
      );
    },
  );

  it('are rejected without a valid cache, channel, clock or store, and with unknown names', () => {
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
