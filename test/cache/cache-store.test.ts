/** The cache as a store: it keeps the contract, and nobody in one process can tell it is there. */
import fc from 'fast-check';
import type { KeyStore } from 'keyscope';
import { definePolicy } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { cachedRing, freshRecord, lru, MAX_MS } from '../support/cache.ts';
import {
  AUTHORITY,
  catalog,
  delayed,
  denied,
  issue,
  METHODS,
  NOWHERE,
  PLAIN,
  START,
  stoppedClock,
} from '../support/keyring.ts';
import { runs } from '../support/runs.ts';

afterEach(() => {
  vi.useRealTimers();
});

describe('the contract, over a store', () => {
  const over = (inner: KeyStore) => () =>
    cacheStore(inner, { cache: lru(1000), maxStalenessMs: 30_000 });
  describe('that answers at once', () => storeContract(test, over(memoryStore())));
  describe('that answers later', () => storeContract(test, over(delayed(memoryStore()))));
  describe('with a cache of one entry', () =>
    storeContract(test, () =>
      cacheStore(memoryStore(), { cache: lru(1), maxStalenessMs: 30_000 }),
    ));
  describe('with a cache that forgets everything', () => {
    const cache = { get: () => undefined, set: () => undefined, delete: () => undefined };
    storeContract(test, () => cacheStore(memoryStore(), { cache, maxStalenessMs: 30_000 }));
  });
});

describe('one process', () => {
  const keys = ['0', '1', '2'].map((digit) => ({
    keyId: NOWHERE.replace(/.$/, digit),
    digest: `s1$${digit}`,
  }));
  const all = keys.map(({ digest }) => digest);
  const acts = ['insert', 'revoke', 'retire', 'touch', 'find', 'find all'] as const;
  const key = fc.constantFrom(...keys);
  const time = fc.integer({ min: 1, max: 50 });
  const wait = fc.constantFrom(1, 4_000, 6_000, MAX_MS);
  const step = fc.oneof(
    ...acts.map((act) => fc.record({ act: fc.constant(act), key, time })),
    fc.record({ act: fc.constant('wait' as const), key, time: wait }),
  );

  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

  /** What a store answers to a step, or what it throws. */
  function take(store: KeyStore, { act, key: { keyId, digest }, time: at }: Step): unknown {
    const steps: Readonly<Record<Step['act'], () => unknown>> = {
      insert: () => store.insert(freshRecord({ keyId, digest })),
      revoke: () => store.markEnded(keyId, { revokedAt: at }),
      retire: () => store.markEnded(keyId, { retireAt: at }),
      touch: () => store.touch([{ keyId, lastUsedAt: at, scopesUsed: { [`a:${digest}`]: at } }]),
      find: () => store.findByDigest([digest]),
      'find all': () => store.findByDigest(all),
      wait: () => null,
    };
    try {
      return steps[act]();
    } catch (error) {
      return String(error);
    }
  }

  it('cannot tell the cache from the store', () => {
    const sizes = fc.constantFrom(1, 2, 100);
    const property = fc.property(fc.array(step, { maxLength: 40 }), sizes, (steps, max) => {
      const clock = stoppedClock();
      const plain = memoryStore();
      const options = { cache: lru(max), maxStalenessMs: MAX_MS, now: clock.now };
      const cached = cacheStore(memoryStore(), options);
      for (const each of steps) {
        if (each.act === 'wait') clock.advance(each.time);
        expect(take(cached, each)).toEqual(take(plain, each));
      }
    });
    fc.assert(property, { numRuns: runs(1000) });
  });
});

describe('a key that was looked up', () => {
  it('ends with its expiry and its retirement, which are checked on each request', async () => {
    const { keyring, clock, lookUps } = cachedRing();
    const { key } = await keyring.issue({ ...PLAIN, expiresAt: new Date(START + 100) }, AUTHORITY);
    const old = await issue(keyring);
    await keyring.rotate(old.info.keyId, { overlapMs: 200 }, AUTHORITY);
    await Promise.all([keyring.verify(key), keyring.verify(old.key)]);
    clock.advance(99);
    await keyring.verify(key);
    clock.advance(1);
    await denied(() => keyring.verify(key), 'invalid_token', 'expired');
    clock.advance(100);
    await denied(() => keyring.verify(old.key), 'invalid_token', 'retired');
    expect(lookUps()).toBe(2);
  });

  it('is read from the store wherever it is managed', async () => {
    const { keyring, calls } = cachedRing();
    const { key, info } = await issue(keyring);
    await keyring.verify(key);
    calls.length = 0;
    await keyring.get(info.keyId, AUTHORITY);
    await keyring.get(info.keyId, AUTHORITY);
    await keyring.list({}, AUTHORITY);
    await keyring.list({}, AUTHORITY);
    expect(calls).toEqual(['findById', 'findById', 'list', 'list']);
  });
});

describe('the store behind it', () => {
  it('is asked for the keys that are live now if no time is given', () => {
    const asked: number[] = [];
    const summarize = (now: number) => {
      asked.push(now);
      return [];
    };
    vi.useFakeTimers({ toFake: ['Date'], now: START });
    const options = { cache: lru(), maxStalenessMs: MAX_MS };
    const cached = cacheStore({ ...memoryStore(), summarize }, options);
    expect((cached.summarize as () => unknown)()).toEqual([]);
    expect(asked).toEqual([START]);
  });

  // From these lengths the contract knows what to ask of a store, and it asks the same of a cache
  // in front of one.
  it('decides whether the summary takes a time', () => {
    const over = (store: KeyStore) =>
      cacheStore(store, { cache: lru(), maxStalenessMs: MAX_MS }).summarize;
    expect(over(memoryStore())).toHaveLength(1);
    expect(over({ ...memoryStore(), summarize: () => [] })).toHaveLength(0);
  });

  it('has its methods called on itself', async () => {
    class StoreOfMethods {
      inner = memoryStore();
    }
    for (const name of METHODS) {
      Object.defineProperty(StoreOfMethods.prototype, name, {
        value(this: StoreOfMethods, ...args: never[]) {
          return (this.inner[name] as (...all: never[]) => unknown)(...args);
        },
      });
    }
    const { keyring } = cachedRing(new StoreOfMethods() as unknown as KeyStore);
    const { key, info } = await issue(keyring);
    const policy = definePolicy(catalog, { list: ['threats:read'] });
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    await keyring.flush();
    await keyring.revoke(info.keyId, AUTHORITY);
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(1);
  });
});
