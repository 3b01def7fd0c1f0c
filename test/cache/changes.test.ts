/** What has changed: ends and new keys outdate answers, usage is merged into them. */
import type { KeyRecord } from 'keyscope';
import { createKeyring, definePolicy, digestKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { cachedRing, ENDINGS, freshRecord, holdLookUps, outcome } from '../support/cache.ts';
import {
  AUTHORITY,
  type Between,
  catalog,
  delayed,
  denied,
  issue,
  NOWHERE,
  PEPPER,
  PLAIN,
  START,
  storeError,
  wrap,
} from '../support/keyring.ts';

const policy = definePolicy(catalog, { list: ['threats:read'] });

describe.each(ENDINGS)('a key that is %s here', (reason, end) => {
  it('is refused at once', async () => {
    const { keyring } = cachedRing();
    const { key, info } = await issue(keyring);
    await keyring.verify(key);
    await end(keyring, info.keyId);
    await denied(() => keyring.verify(key), 'invalid_token', reason);
  });

  it('generation check: is not brought back by a look-up that was sent before', async () => {
    const { store, letGo } = holdLookUps(memoryStore());
    const { keyring } = cachedRing(store);
    const { key, info } = await issue(keyring);
    const early = keyring.verify(key);
    await end(keyring, info.keyId);
    await letGo();
    // Asked before the end, so either answer was right.
    await early;
    const later = outcome(keyring.verify(key));
    await letGo();
    expect(await later).toBe(reason);
  });

  it('single flight: is not let in by a look-up that was sent before', async () => {
    const { store, letGo } = holdLookUps(memoryStore());
    const { keyring } = cachedRing(store);
    const { key, info } = await issue(keyring);
    const early = keyring.verify(key);
    await end(keyring, info.keyId);
    const later = outcome(keyring.verify(key));
    await letGo();
    await early;
    expect(await later).toBe(reason);
  });

  it('is looked up again if the write took effect and then failed', async () => {
    const inner = memoryStore();
    const between: Between = (method, _args, call) => {
      const answer = call();
      if (method === 'markEnded') throw new Error('lost');
      return answer;
    };
    for (const store of [wrap(inner, between), delayed(wrap(inner, between))]) {
      const { keyring } = cachedRing(store);
      const { key, info } = await issue(keyring);
      await keyring.verify(key);
      await storeError(async () => end(keyring, info.keyId));
      await denied(() => keyring.verify(key), 'invalid_token', reason);
    }
  });

  it('is looked up again if the write never answers', async () => {
    const inner = memoryStore();
    const store = wrap(inner, (method, _args, call) => {
      const answer = call();
      return method === 'markEnded' ? new Promise(() => {}) : answer;
    });
    const { clock, store: cached } = cachedRing(store);
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      peppers: [PEPPER],
      now: clock.now,
      store: cached,
      storeTimeoutMs: 5,
    });
    const { key, info } = await keyring.issue(PLAIN, AUTHORITY);
    await keyring.verify(key);
    await storeError(async () => end(keyring, info.keyId));
    await denied(() => keyring.verify(key), 'invalid_token', reason);
  });
});

describe('a key that is made here', () => {
  it('works at once, also if it was tried before it existed', async () => {
    for (const inner of [memoryStore(), delayed(memoryStore())]) {
      const { store } = cachedRing(inner);
      const made = freshRecord();
      expect(await store.findByDigest([made.digest])).toEqual([]);
      await store.insert(made);
      expect(await store.findByDigest([made.digest])).toEqual([made]);
    }
  });

  it('is not kept unknown by a look-up that was sent before', async () => {
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

describe('a key that was looked up', () => {
  it('shows its use without another look-up', async () => {
    const { keyring, store, clock, lookUps } = cachedRing();
    const { key } = await issue(keyring);
    const digest = digestKey(key, PEPPER);
    for (let i = 1; i <= 3; i++) {
      clock.advance(5);
      await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
      await keyring.flush();
      const [row] = (await store.findByDigest([digest])) as [KeyRecord];
      expect(row.lastUsedAt).toBe(START + 5 * i);
    }
    expect(lookUps()).toBe(1);
  });

  it('shows no use that the store refused', async () => {
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

  it('shows no use that was recorded before the key was made', async () => {
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

  it('is looked up again if its use was recorded at an invalid time', async () => {
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

describe('more changes than are remembered', () => {
  /** Ends, or uses, that many other keys. */
  async function afterOthers(count: number, how: 'ended' | 'used') {
    const { store, lookUps, inner } = cachedRing();
    const made = freshRecord();
    await inner.insert(made);
    await store.findByDigest([made.digest]);
    await store.markEnded(made.keyId, { retireAt: 5 });
    const ids = Array.from({ length: count }, (_, i) => `${NOWHERE}${i}`);
    if (how === 'ended') for (const keyId of ids) await store.markEnded(keyId, { revokedAt: 1 });
    else await store.touch(ids.map((keyId) => ({ keyId, lastUsedAt: 1, scopesUsed: {} })));
    return { store, made, lookUps };
  }

  it.each(['ended', 'used'] as const)('hide no end of a key (%s)', async (how) => {
    for (const count of [9_998, 9_999, 10_000, 20_001]) {
      const { store, made } = await afterOthers(count, how);
      expect(await store.findByDigest([made.digest])).toMatchObject([{ retireAt: 5 }]);
    }
  });

  it('drop every entry, and one fewer drops none', async () => {
    const { store, lookUps, inner } = cachedRing();
    const made = freshRecord();
    await inner.insert(made);
    await store.findByDigest([made.digest]);
    const end = (n: number) => store.markEnded(`${NOWHERE}${n}`, { revokedAt: 1 });
    for (let i = 0; i < 9_999; i++) end(i);
    await store.findByDigest([made.digest]);
    expect(lookUps()).toBe(1);
    end(9_999);
    await store.findByDigest([made.digest]);
    expect(lookUps()).toBe(2);
  });

  // Where more than 10,000 keys were in use, each batch of their usage dropped every entry.
  it('are not usage, of which the oldest is forgotten and no entry dropped', async () => {
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
});
