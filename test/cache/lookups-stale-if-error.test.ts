/** `insecureStaleIfErrorMs`: known keys that work while the store fails. */
import type { Awaitable, CallOptions, KeyRecord, KeyStore } from 'keyscope';
import type { CachedStore } from 'keyscope/cache';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { freshRecord, lru, MAX_MS, openChannel, REVOKE } from '../support/cache.ts';
import { AUTHORITY, issue, NOWHERE, setUp, stoppedClock, storeError } from '../support/keyring.ts';

const GRACE_MS = 60_000;

type Failure = 'throws' | 'rejects' | 'hangs';

/** A cache over a store that can be taken down, with one cached key. */
async function cached(insecureStaleIfErrorMs: number | undefined = GRACE_MS) {
  const clock = stoppedClock();
  const inner = memoryStore();
  const { channel, listeners } = openChannel();
  const line: { failure: Failure | null } = { failure: null };
  const signals: (AbortSignal | undefined)[] = [];
  function fail<T>(call: () => Awaitable<T>, options: CallOptions | undefined): Awaitable<T> {
    if (line.failure === null) return call();
    if (line.failure === 'throws') throw new Error('down');
    if (line.failure === 'rejects') return Promise.reject(new Error('down'));
    signals.push(options?.signal);
    return new Promise(() => {});
  }
  const failing: KeyStore = {
    ...inner,
    findByDigest: (digests, options) => fail(() => inner.findByDigest(digests, options), options),
    findById: (keyId, options) => fail(() => inner.findById(keyId, options), options),
  };
  const options = { cache: lru(), maxStalenessMs: MAX_MS, now: clock.now, invalidation: channel };
  const store = cacheStore(failing, { ...options, insecureStaleIfErrorMs });
  const made = freshRecord();
  await inner.insert(made);
  const find = async () => store.findByDigest([made.digest]);
  const findId = async () => store.findById(made.keyId);
  function tell(keyId: string): void {
    for (const listener of listeners) listener(keyId);
  }
  await find();
  await findId();
  return { clock, inner, line, store, made, find, findId, tell, signals };
}

afterEach(() => {
  vi.useRealTimers();
});

describe('insecureStaleIfErrorMs', () => {
  it.each(['throws', 'rejects'] as const)(
    'lets a known key work that long beyond maxStalenessMs, and no longer (%s)',
    async (failure) => {
      const { clock, inner, line, made, find, findId } = await cached();
      line.failure = failure;
      await inner.mark(made.keyId, REVOKE);
      clock.advance(MAX_MS + GRACE_MS - 1);
      expect([await find(), await findId()]).toEqual([[made], made]);
      clock.advance(1);
      await expect(find()).rejects.toThrow('down');
      await expect(findId()).rejects.toThrow('down');
    },
  );

  it('is 0 by default, so nothing works beyond maxStalenessMs', async () => {
    for (const none of [undefined, 0]) {
      const { clock, line, find } = await cached(none ?? 0);
      line.failure = 'rejects';
      clock.advance(MAX_MS - 1);
      await find();
      clock.advance(1);
      await expect(find()).rejects.toThrow('down');
    }
  });

  it('does nothing while the store answers', async () => {
    const { clock, inner, made, find, findId } = await cached();
    await inner.mark(made.keyId, REVOKE);
    clock.advance(MAX_MS);
    expect(await find()).toMatchObject([{ revokedAt: 1 }]);
    expect(await findId()).toMatchObject({ revokedAt: 1 });
  });

  it('is not cut short by changes to other keys', async () => {
    const { clock, line, made, find, tell } = await cached();
    line.failure = 'rejects';
    for (let passed = 0; passed < GRACE_MS; passed += MAX_MS) {
      tell(crypto.randomUUID());
      clock.advance(MAX_MS);
    }
    tell(NOWHERE);
    expect(await find()).toEqual([made]);
  });

  it('ends when the store is back', async () => {
    const { clock, inner, line, made, find } = await cached();
    line.failure = 'rejects';
    clock.advance(MAX_MS);
    await find();
    await inner.mark(made.keyId, REVOKE);
    line.failure = null;
    expect(await find()).toMatchObject([{ revokedAt: 1 }]);
    line.failure = 'rejects';
    clock.advance(MAX_MS);
    // Not live when it was last looked up.
    await expect(find()).rejects.toThrow('down');
  });

  it('does not apply to a key changed here, by a message, or long ago', async () => {
    const changes: ((store: CachedStore, made: KeyRecord, tell: (id: string) => void) => void)[] = [
      (store, made) => void store.mark(made.keyId, REVOKE),
      (_store, made, tell) => tell(made.keyId),
    ];
    for (const change of changes) {
      for (const waitMs of [0, MAX_MS, GRACE_MS]) {
        const { clock, line, store, made, find, findId, tell } = await cached();
        line.failure = 'rejects';
        change(store, made, tell);
        clock.advance(waitMs);
        // The next change lets the cache drop those that are old enough.
        tell(NOWHERE);
        clock.advance(MAX_MS - 1);
        await expect(find()).rejects.toThrow('down');
        await expect(findId()).rejects.toThrow('down');
      }
    }
  });

  it('does not apply to unknown keys, suspended ones, or fresh answers', async () => {
    const { clock, inner, line, store, made } = await cached();
    const suspended = freshRecord({ suspendedAt: 1 });
    await inner.insert(suspended);
    await store.findByDigest([suspended.digest]);
    await store.findByDigest(['s1$unknown']);
    line.failure = 'rejects';
    clock.advance(MAX_MS);
    for (const digest of [suspended.digest, 's1$unknown', 's1$never']) {
      await expect(store.findByDigest([digest])).rejects.toThrow('down');
    }
    const fresh = async () => store.findByDigest([made.digest], { fresh: true });
    await expect(fresh()).rejects.toThrow('down');
  });

  it('leads to a 503 for an unknown key, and admits a known one', async () => {
    const { clock, line, store } = await cached();
    const { keyring } = setUp({ store, now: clock.now });
    const known = await issue(keyring);
    const unknown = await issue(keyring);
    await keyring.verify(known.key);
    line.failure = 'rejects';
    clock.advance(MAX_MS);
    expect((await keyring.verify(known.key)).keyId).toBe(known.info.keyId);
    await storeError(() => keyring.verify(unknown.key));
    await keyring.revoke(known.info.keyId, AUTHORITY).catch(() => {});
  });
});

describe('a store that hangs', () => {
  it('gets a second, and then an aborted signal', async () => {
    const { clock, line, made, find, signals } = await cached();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    line.failure = 'hangs';
    clock.advance(MAX_MS);
    const answers: unknown[] = [];
    const requests = [find(), find()];
    for (const request of requests) void request.then((rows) => answers.push(rows));
    await vi.advanceTimersByTimeAsync(999);
    expect(answers).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(answers).toEqual([[made], [made]]);
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  it('is given longer if the key has changed meanwhile', async () => {
    const { clock, line, store, made, find } = await cached();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    line.failure = 'hangs';
    clock.advance(MAX_MS);
    const settled = vi.fn();
    void find().then(settled, settled);
    store.mark(made.keyId, REVOKE);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(settled).not.toHaveBeenCalled();
  });

  it('leaves no timer behind once it has answered', async () => {
    const { clock, line, find } = await cached();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    line.failure = 'rejects';
    clock.advance(MAX_MS);
    await find();
    expect(vi.getTimerCount()).toBe(0);
  });
});
