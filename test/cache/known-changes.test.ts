/** Known changes: marks and new keys outdate answers; usage is merged into them. */
import type { KeyRecord, KeyStore } from 'keyscope';
import { digestKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  cachedRing,
  freshRecord,
  holdLookUps,
  issueForTwo,
  MARKINGS,
  MAX_MS,
  REVOKE,
  standing,
} from '../support/cache.ts';
import {
  type Between,
  delayed,
  HOUR,
  issue,
  NOWHERE,
  PEPPER,
  START,
  setUp,
  storeError,
  wrap,
} from '../support/keyring.ts';

describe.each(MARKINGS)('a key that is $what here', ({ prepare, before, mark, after }) => {
  /** A key in its state before the mark. */
  async function prepared(inner: KeyStore) {
    const ring = cachedRing(inner);
    const { key, info } = await issueForTwo(ring.keyring);
    await prepare(ring.keyring, info.keyId);
    const stands = () => standing(ring.keyring.verify(key));
    return { ...ring, stands, mark: () => mark(ring.keyring, info.keyId) };
  }

  it('shows it at once', async () => {
    const key = await prepared(memoryStore());
    expect(await key.stands()).toBe(before);
    await key.mark();
    expect(await key.stands()).toBe(after);
  });

  it('generation check: is not restored by a look-up that was sent before', async () => {
    const { store, letGo } = holdLookUps(memoryStore());
    const key = await prepared(store);
    const early = key.stands();
    await key.mark();
    await letGo();
    // Asked before the mark, so either answer was right.
    await early;
    const later = key.stands();
    await letGo();
    expect(await later).toBe(after);
  });

  it('single flight: is not answered by a look-up that was sent before', async () => {
    const { store, letGo } = holdLookUps(memoryStore());
    const key = await prepared(store);
    const early = key.stands();
    await key.mark();
    const later = key.stands();
    await letGo();
    await early;
    expect(await later).toBe(after);
  });

  it('is looked up again if the write took effect and then failed', async () => {
    const inner = memoryStore();
    let fails = false;
    const between: Between = (method, _args, call) => {
      const answer = call();
      if (method === 'mark' && fails) throw new Error('lost');
      return answer;
    };
    for (const store of [wrap(inner, between), delayed(wrap(inner, between))]) {
      fails = false;
      const key = await prepared(store);
      expect(await key.stands()).toBe(before);
      fails = true;
      await storeError(key.mark);
      expect(await key.stands()).toBe(after);
    }
  });

  it('is looked up again if the write never answers', async () => {
    let hangs = false;
    const store = wrap(memoryStore(), (method, _args, call) => {
      const answer = call();
      return method === 'mark' && hangs ? new Promise(() => {}) : answer;
    });
    const { clock, store: cached } = cachedRing(store);
    const { keyring } = setUp({ store: cached, now: clock.now, storeTimeoutMs: 5 });
    const { key, info } = await issueForTwo(keyring);
    await prepare(keyring, info.keyId);
    expect(await standing(keyring.verify(key))).toBe(before);
    hangs = true;
    await storeError(() => mark(keyring, info.keyId));
    expect(await standing(keyring.verify(key))).toBe(after);
  });
});

describe('a key that is created here', () => {
  it('works at once, even if it was tried before it existed', async () => {
    for (const inner of [memoryStore(), delayed(memoryStore())]) {
      const { store } = cachedRing(inner);
      const made = freshRecord();
      expect(await store.findByDigest([made.digest])).toEqual([]);
      await store.insert(made);
      expect(await store.findByDigest([made.digest])).toEqual([made]);
    }
  });

  it('does not stay unknown because of a look-up that was sent before', async () => {
    const { store: inner, letGo } = holdLookUps(memoryStore());
    const { store } = cachedRing(inner);
    const made = freshRecord();
    const early = store.findByDigest([made.digest]);
    await store.insert(made);
    const joined = store.findByDigest([made.digest]);
    await letGo();
    expect(await early).toEqual([]);
    expect(await joined).toEqual([made]);
    expect(await store.findByDigest([made.digest])).toEqual([made]);
  });

  it('is looked up again if the insert took effect and then failed', async () => {
    const inner = wrap(memoryStore(), (method, _args, call) => {
      const answer = call();
      if (method === 'insert') throw new Error('lost');
      return answer;
    });
    const { store } = cachedRing(inner);
    const made = freshRecord();
    await store.findByDigest([made.digest]);
    expect(() => store.insert(made)).toThrow('lost');
    expect(await store.findByDigest([made.digest])).toEqual([made]);
  });
});

describe('a cached key', () => {
  it('shows its usage without another look-up', async () => {
    const { keyring, store, clock, lookUps } = cachedRing();
    const { key } = await issue(keyring);
    const digest = digestKey(key, PEPPER);
    for (let i = 1; i <= 3; i++) {
      clock.advance(5);
      const { principal } = await keyring.admit(`Bearer ${key}`, { operation: 'list' });
      await keyring.flush();
      // The same object, so its seal was not computed again.
      expect(await keyring.verify(key)).toBe(principal);
      const [row] = (await store.findByDigest([digest])) as [KeyRecord];
      expect(row.lastUsedAt).toBe(START + 5 * i);
    }
    expect(lookUps()).toBe(1);
  });

  it('shows no usage that the store rejected', async () => {
    const down = wrap(memoryStore(), (method, _args, call) =>
      method === 'touch' ? Promise.reject(new Error('down')) : call(),
    );
    const { store } = cachedRing(down);
    const made = freshRecord();
    await store.insert(made);
    await store.findByDigest([made.digest]);
    const touched = store.touch([{ keyId: made.keyId, lastUsedAt: START, scopesUsed: {} }]);
    await expect(touched).rejects.toThrow('down');
    expect(await store.findByDigest([made.digest])).toEqual([made]);
  });

  it('shows no usage that was recorded before the key was created', async () => {
    const { store, inner } = cachedRing();
    const made = freshRecord();
    const touch = (time: number) =>
      store.touch([{ keyId: made.keyId, lastUsedAt: time, scopesUsed: {} }]);
    await touch(9);
    await store.insert(made);
    await store.findByDigest([made.digest]);
    await touch(5);
    expect(await store.findByDigest([made.digest])).toEqual(
      await inner.findByDigest([made.digest]),
    );
  });

  it('is looked up again if its usage was recorded at an invalid time', async () => {
    const { store, lookUps, inner } = cachedRing(
      wrap(memoryStore(), (method, _args, call) => method !== 'touch' && call()),
    );
    const made = freshRecord();
    await inner.insert(made);
    await store.findByDigest([made.digest]);
    await store.touch([{ keyId: made.keyId, lastUsedAt: Number.NaN, scopesUsed: {} }]);
    expect(await store.findByDigest([made.digest])).toEqual([made]);
    expect(lookUps()).toBe(2);
  });
});

describe('more changes than the cache remembers', () => {
  /** Ends, or uses, that many other keys. */
  async function afterOthers(count: number, how: 'ended' | 'used') {
    const { store, lookUps, inner } = cachedRing();
    const made = freshRecord();
    await inner.insert(made);
    await store.findByDigest([made.digest]);
    await store.mark(made.keyId, { ...REVOKE, at: 5 });
    const ids = Array.from({ length: count }, (_, i) => `${NOWHERE}${i}`);
    if (how === 'ended') for (const keyId of ids) await store.mark(keyId, REVOKE);
    else await store.touch(ids.map((keyId) => ({ keyId, lastUsedAt: 1, scopesUsed: {} })));
    return { store, made, lookUps };
  }

  it.each(['ended', 'used'] as const)('hide no end of a key (%s)', async (how) => {
    for (const count of [9_999, 10_000, 20_001]) {
      const { store, made } = await afterOthers(count, how);
      expect(await store.findByDigest([made.digest])).toMatchObject([{ revokedAt: 5 }]);
    }
  });

  // When more than 10,000 keys were in use, each batch of their usage dropped every entry.
  it('do not include usage, whose oldest is dropped without dropping an entry', async () => {
    const { store, lookUps, inner } = cachedRing();
    const made = freshRecord();
    await inner.insert(made);
    await store.findByDigest([made.digest]);
    const touch = (keyId: string) => store.touch([{ keyId, lastUsedAt: 7, scopesUsed: {} }]);
    for (const others of [9_999, 10_000]) {
      touch(made.keyId);
      for (let i = 0; i < others; i++) touch(`${NOWHERE}${i}`);
    }
    expect(await store.findByDigest([made.digest])).toMatchObject([{ lastUsedAt: null }]);
    touch(made.keyId);
    expect(await store.findByDigest([made.digest])).toMatchObject([{ lastUsedAt: 7 }]);
    expect(lookUps()).toBe(1);
  });

  // It was remembered until 10,000 keys had been used, so the heap grew for hours.
  it('do not include usage, which is dropped once no entry from before it lives', () => {
    const { store, clock } = cachedRing();
    const touch = (keyId: string) => store.touch([{ keyId, lastUsedAt: 7, scopesUsed: {} }]);
    const removed = vi.spyOn(Map.prototype, 'delete');
    onTestFinished(() => removed.mockRestore());
    touch('first');
    clock.advance(MAX_MS - 1);
    removed.mockClear();
    touch('second');
    expect(removed.mock.calls).not.toContainEqual(['first']);
    clock.advance(1);
    touch('third');
    expect(removed.mock.calls).toContainEqual(['first']);
  });
});

describe('changes of other keys', () => {
  /** A cache with one entry, and a function that ends any number of other keys. */
  async function cached() {
    const ring = cachedRing();
    const { store, inner } = ring;
    const made = freshRecord();
    await inner.insert(made);
    const find = () => store.findByDigest([made.digest]);
    await find();
    let ended = 0;
    const end = (count: number) => {
      for (let i = 0; i < count; i++) {
        ended += 1;
        store.mark(`${NOWHERE}${ended}`, REVOKE);
      }
    };
    return { ...ring, made, find, end };
  }

  // The 10,001st revocation, counted from the start, emptied the caches of all processes at once.
  it('drop no live entry, however many happen in a year', async () => {
    const { clock, lookUps, find, end } = await cached();
    const stepMs = Math.floor((365 * 24 * HOUR) / 10_001);
    for (let i = 0; i < 10_001; i++) {
      clock.advance(stepMs);
      await find();
      end(1);
      await find();
    }
    expect(lookUps()).toBe(10_002);
  });

  it('are dropped once no entry from before them lives, and not sooner', async () => {
    const { store, clock, end } = await cached();
    const removed = vi.spyOn(Map.prototype, 'delete');
    end(1);
    clock.advance(MAX_MS - 1);
    end(1);
    const isForgotten = () => removed.mock.calls.some(([name]) => name === `${NOWHERE}1`);
    removed.mockClear();
    store.mark(`${NOWHERE}x`, REVOKE);
    expect(isForgotten()).toBe(false);
    clock.advance(1);
    store.mark(`${NOWHERE}y`, REVOKE);
    expect(isForgotten()).toBe(true);
    removed.mockRestore();
  });

  it('restore nothing when they are dropped and the clock then goes back', async () => {
    const { store, clock, made, end, find } = await cached();
    store.mark(made.keyId, REVOKE);
    clock.advance(MAX_MS);
    end(1);
    clock.advance(1 - MAX_MS);
    expect(await find()).toMatchObject([{ revokedAt: 1 }]);
  });

  it('drop nothing in use in a storm, and idle entries only in one process at a time', async () => {
    for (const random of [0, 0.5]) {
      vi.spyOn(Math, 'random').mockReturnValue(random);
      const { store, inner, lookUps, find, end } = await cached();
      const idle = freshRecord();
      await inner.insert(idle);
      const findIdle = () => store.findByDigest([idle.digest]);
      await findIdle();
      const bound = 10_000 + random * 10_000;
      for (let i = 1; i < bound; i += 100) {
        end(100);
        await find();
      }
      // Two of the limit's changes belong to one key: before its write and after it.
      expect(lookUps()).toBe(2);
      end(1);
      await find();
      expect(lookUps()).toBe(2);
      await findIdle();
      expect(lookUps()).toBe(3);
      vi.restoreAllMocks();
    }
  });

  it('take no more memory than their limit in a storm', async () => {
    const { find, end, lookUps } = await cached();
    let largest = 0;
    const { set } = Map.prototype;
    vi.spyOn(Map.prototype, 'set').mockImplementation(function (
      this: Map<unknown, unknown>,
      ...args
    ) {
      largest = Math.max(largest, this.size);
      return set.apply(this, args);
    });
    end(25_000);
    vi.restoreAllMocks();
    expect(largest).toBeGreaterThan(10_000);
    expect(largest).toBeLessThanOrEqual(20_000);
    expect(await find()).toMatchObject([{ revokedAt: null }]);
    expect(lookUps()).toBe(2);
  });
});
