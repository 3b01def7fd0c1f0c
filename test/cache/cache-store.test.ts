/** The cache as a store: it fulfils the contract, and one process cannot tell that it is there. */
import fc from 'fast-check';
import type { KeyStore } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { storeContract } from 'keyscope/testing';
import { describe, expect, it, test } from 'vitest';
import { cachedRing, freshRecord, lru, MAX_MS, REVOKE } from '../support/cache.ts';
import { entitySuite } from '../support/entity-suite.ts';
import {
  AUTHORITY,
  delayed,
  denied,
  issue,
  METHODS,
  NOWHERE,
  OTHER,
  PLAIN,
  START,
  stoppedClock,
} from '../support/keyring.ts';
import { runs } from '../support/runs.ts';

describe('the contract, over a store', () => {
  const over = (inner: KeyStore) => () =>
    cacheStore(inner, { cache: lru(1000), maxStalenessMs: 30_000 });
  describe('that answers synchronously', () => storeContract(test, over(memoryStore())));
  describe('that answers asynchronously', () => storeContract(test, over(delayed(memoryStore()))));
  describe('with a cache of one entry', () =>
    storeContract(test, () =>
      cacheStore(memoryStore(), { cache: lru(1), maxStalenessMs: 30_000 }),
    ));
  describe('with a cache that forgets everything', () => {
    const cache = { get: () => undefined, set: () => undefined, delete: () => undefined };
    storeContract(test, () => cacheStore(memoryStore(), { cache, maxStalenessMs: 30_000 }));
  });
});

describe('ids of entities that are not UUIDs, through the cache,', () => {
  entitySuite(() => {
    const cached = cacheStore(memoryStore(), { cache: lru(1000), maxStalenessMs: 30_000 });
    return { store: cached as Required<typeof cached> };
  });
});

describe('one process', () => {
  const keys = ['0', '1', '2'].map((digit) => ({
    keyId: NOWHERE.replace(/.$/, digit),
    digest: `s1$${digit}`,
  }));
  const all = keys.map(({ digest }) => digest);
  const acts = [
    'insert',
    'revoke',
    'suspend',
    'resume',
    'retire',
    'withdraw',
    'touch',
    'find',
    'find all',
    'find anew',
  ] as const;
  const unsaid = { by: null, reason: null } as const;
  const key = fc.constantFrom(...keys);
  const time = fc.integer({ min: 1, max: 50 });
  const wait = fc.constantFrom(1, 4_000, 6_000, MAX_MS);
  const step = fc.oneof(
    ...acts.map((act) => fc.record({ act: fc.constant(act), key, time })),
    fc.record({ act: fc.constant('wait' as const), key, time: wait }),
  );

  type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

  /** The answer of a store to a step, or the error that it throws. */
  function take(store: KeyStore, { act, key: { keyId, digest }, time: at }: Step): unknown {
    const steps: Readonly<Record<Step['act'], () => unknown>> = {
      insert: () => store.insert(freshRecord({ keyId, digest })),
      revoke: () => store.mark(keyId, { ...REVOKE, at }),
      suspend: () => store.mark(keyId, { ...unsaid, kind: 'suspend', at }),
      resume: () => store.mark(keyId, { kind: 'resume', at }),
      retire: () => store.mark(keyId, { ...unsaid, kind: 'retire', at, retireAt: 25 }),
      withdraw: () => store.mark(keyId, { kind: 'withdraw', at, entityId: OTHER }),
      touch: () => store.touch([{ keyId, lastUsedAt: at, scopesUsed: { [`a:${digest}`]: at } }]),
      find: () => store.findByDigest([digest]),
      'find all': () => store.findByDigest(all),
      'find anew': () => store.findByDigest([digest], { fresh: true }),
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

describe('a cached key', () => {
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

  it('is read from the store by management', async () => {
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

describe('the inner store', () => {
  const over = (store: KeyStore) => cacheStore(store, { cache: lru(), maxStalenessMs: MAX_MS });
  const OPTIONAL = ['summarize', 'listExpiring', 'listAll', 'listChanged'] as const;

  it.each(OPTIONAL)('determines whether the cache offers %s', (name) => {
    const bare = Object.fromEntries(METHODS.map((method) => [method, memoryStore()[method]]));
    const one = { ...bare, [name]: () => [name] } as unknown as KeyStore;
    expect(OPTIONAL.filter((each) => over(one)[each] !== undefined)).toEqual([name]);
    expect(Object.keys(over(one))).toEqual(expect.arrayContaining([...METHODS, name]));
    expect((over(one)[name] as () => unknown)()).toEqual([name]);
  });

  // The contract uses these lengths to decide what to ask of a store, and must ask the same of a
  // cache in front of it.
  it('determines whether the summary takes a time', () => {
    expect(over(memoryStore()).summarize).toHaveLength(1);
    expect(over({ ...memoryStore(), summarize: () => [] }).summarize).toHaveLength(0);
  });

  it('receives the arguments and options of every call', async () => {
    const asked: unknown[][] = [];
    const names = [...METHODS, ...OPTIONAL];
    const noting = names.map((name) => [name, (...args: unknown[]) => asked.push([name, ...args])]);
    const store = over(Object.fromEntries(noting) as KeyStore);
    const options = { signal: new AbortController().signal, fresh: true };
    const calls: readonly (readonly [(typeof names)[number], ...unknown[]])[] = [
      ['insert', freshRecord()],
      ['findByDigest', ['s1$a']],
      // Without a name, so not cached.
      ['findByDigest', []],
      ['findById', NOWHERE],
      ['list', { entityId: OTHER }],
      ['listLineage', { rootKeyId: NOWHERE, after: OTHER, limit: 5 }],
      ['mark', NOWHERE, REVOKE],
      ['touch', []],
      ['summarize', 5],
      ['listExpiring', { before: 5 }],
      ['listAll', { limit: 5 }],
      ['listChanged', { since: 5 }],
    ];
    for (const [name, ...args] of calls) {
      asked.length = 0;
      await (store[name] as (...all: unknown[]) => unknown)(...args, options);
      expect(asked).toEqual([[name, ...args, options]]);
      expect(asked[0]?.at(-1)).toBe(options);
    }
  });

  it('has its methods called on itself', async () => {
    class StoreOfMethods {
      inner = memoryStore();
    }
    for (const name of [...METHODS, ...OPTIONAL]) {
      Object.defineProperty(StoreOfMethods.prototype, name, {
        value(this: StoreOfMethods, ...args: never[]) {
          return (this.inner[name] as (...all: never[]) => unknown)(...args);
        },
      });
    }
    const inner = new StoreOfMethods() as unknown as KeyStore;
    expect(await over(inner).listAll?.({ after: null, limit: 1 })).toMatchObject({ next: null });
    const { keyring } = cachedRing(inner);
    const { key, info } = await issue(keyring);
    await keyring.admit(`Bearer ${key}`, { operation: 'list' });
    await keyring.flush();
    await keyring.revoke(info.keyId, AUTHORITY);
    expect((await keyring.list({}, AUTHORITY)).keys).toHaveLength(1);
  });
});
