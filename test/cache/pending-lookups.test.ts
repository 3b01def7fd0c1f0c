/** Look-ups in progress: who joins them, for how long, and what a late one changes. */
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it, vi } from 'vitest';
import { cachedRing, freshRecord, holdLookUps, REVOKE } from '../support/cache.ts';
import { delayed, issue, NOWHERE, storeError, wrap } from '../support/keyring.ts';

describe('look-ups in progress', () => {
  it('single lookup: 100 requests with one key make one query', async () => {
    const { keyring, lookUps } = cachedRing(delayed(memoryStore()));
    const { key } = await issue(keyring);
    const principals = await Promise.all(Array.from({ length: 100 }, () => keyring.verify(key)));
    expect([lookUps(), new Set(principals).size]).toEqual([1, 1]);
  });

  it('are not joined on Cloudflare Workers, where a query ends with its request', async () => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
    const { store, letGo, waiting } = holdLookUps(memoryStore());
    const { store: cached } = cachedRing(store);
    vi.unstubAllGlobals();
    const answers = [cached.findByDigest(['s1$a']), cached.findByDigest(['s1$a'])];
    expect(waiting).toHaveLength(2);
    await letGo();
    expect(await Promise.all(answers)).toEqual([[], []]);
    await cached.findByDigest(['s1$a']);
    expect(waiting).toEqual([]);
  });

  it('of different keys are not shared', async () => {
    const { keyring, lookUps } = cachedRing(delayed(memoryStore()));
    const keys = await Promise.all(Array.from({ length: 10 }, () => issue(keyring)));
    const principals = await Promise.all(keys.map(({ key }) => keyring.verify(key)));
    expect(principals.map(({ keyId }) => keyId)).toEqual(keys.map(({ info }) => info.keyId));
    expect(lookUps()).toBe(10);
  });

  it('are joined for a second: one that hangs does not block later requests', async () => {
    const { store, waiting } = holdLookUps(memoryStore());
    const { store: cached, clock } = cachedRing(store);
    cached.findByDigest(['s1$a']);
    clock.advance(999);
    cached.findByDigest(['s1$a']);
    expect(waiting).toHaveLength(1);
    clock.advance(1);
    cached.findByDigest(['s1$a']);
    expect(waiting).toHaveLength(2);
    cached.findByDigest(['s1$a']);
    expect(waiting).toHaveLength(2);
  });

  it('are joined for no longer than an entry lives', async () => {
    const { store, waiting } = holdLookUps(memoryStore());
    const { store: cached, clock } = cachedRing(store, { maxStalenessMs: 10 });
    cached.findByDigest(['s1$a']);
    clock.advance(10);
    cached.findByDigest(['s1$a']);
    expect(waiting).toHaveLength(2);
  });

  it('do not replace the answer to a later look-up', async () => {
    const inner = memoryStore();
    const { store, letGo, waiting } = holdLookUps(inner);
    const { store: cached, clock } = cachedRing(store);
    const made = freshRecord();
    await inner.insert(made);
    const answers = [cached.findByDigest([made.digest])];
    await inner.mark(made.keyId, { ...REVOKE, at: 5 });
    clock.advance(1_000);
    answers.push(cached.findByDigest([made.digest]));
    await letGo(1);
    await letGo(0);
    expect(waiting).toEqual([]);
    expect((await Promise.all(answers)).flat().map(({ revokedAt }) => revokedAt)).toEqual([
      null,
      5,
    ]);
    expect(await cached.findByDigest([made.digest])).toMatchObject([{ revokedAt: 5 }]);
  });

  it('leave a later one joinable when they are answered', async () => {
    const { store, letGo, waiting } = holdLookUps(memoryStore());
    const { store: cached, clock } = cachedRing(store);
    cached.findByDigest(['s1$a']);
    clock.advance(1_000);
    cached.findByDigest(['s1$a']);
    // A change detaches both. The first one's answer is outdated by the time it arrives.
    cached.insert(freshRecord({ digest: 's1$a' }));
    cached.findByDigest(['s1$a']);
    expect(waiting).toHaveLength(3);
    await letGo(0);
    cached.findByDigest(['s1$a']);
    expect(waiting).toHaveLength(2);
  });

  it('fail together, and the next one asks again: no error is cached', async () => {
    let down = true;
    const store = wrap(memoryStore(), (method, _args, call) => {
      if (method === 'findByDigest' && down) throw new Error('down');
      return call();
    });
    for (const inner of [store, delayed(store)]) {
      down = true;
      const { keyring } = cachedRing(inner);
      const { key } = await issue(keyring);
      await Promise.all(Array.from({ length: 3 }, () => storeError(() => keyring.verify(key))));
      await storeError(() => keyring.verify(key));
      down = false;
      await keyring.verify(key);
      // A known key works while the store is down, for as long as it would have anyway.
      down = true;
      await keyring.verify(key);
    }
  });

  it('can be joined up to 1,024, then the oldest cannot', async () => {
    const { store, waiting } = holdLookUps(memoryStore());
    const { store: cached } = cachedRing(store);
    for (let i = 0; i < 1_025; i++) cached.findByDigest([`s1$${i}`]);
    cached.findByDigest(['s1$1']);
    expect(waiting).toHaveLength(1_025);
    cached.findByDigest(['s1$0']);
    expect(waiting).toHaveLength(1_026);
  });
});

describe('look-ups in progress while keys change', () => {
  /** A key whose look-ups are held back, and marks on other keys. */
  async function held() {
    const inner = memoryStore();
    const { store, letGo, waiting } = holdLookUps(inner);
    const { store: cached } = cachedRing(store);
    const made = freshRecord();
    await inner.insert(made);
    const find = async () => cached.findByDigest([made.digest]);
    const endOther = () => cached.mark(NOWHERE, REVOKE);
    const end = () => cached.mark(made.keyId, REVOKE);
    return { cached, letGo, waiting, made, find, endOther, end };
  }

  // Each revocation detached every look-up, so that nothing was shared in a storm of them.
  it('are shared by all requests after the first change, in a storm of them', async () => {
    const { letGo, waiting, made, find, endOther } = await held();
    const answers = [find()];
    for (let i = 0; i < 100; i++) {
      endOther();
      answers.push(find(), find());
    }
    expect(waiting).toHaveLength(2);
    await letGo();
    expect(waiting).toEqual([]);
    expect(await Promise.all(answers)).toEqual(Array(201).fill([made]));
  });

  it('are asked again, once for all, by callers from after a change to the key', async () => {
    const { letGo, waiting, find, endOther, end } = await held();
    const early = [find()];
    endOther();
    early.push(find());
    end();
    const late = Array.from({ length: 10 }, find);
    expect(waiting).toHaveLength(2);
    await letGo();
    expect(waiting).toHaveLength(1);
    await Promise.all(early);
    endOther();
    const last = find();
    await letGo();
    await letGo();
    const found = (await Promise.all([...late, last])).flat();
    expect(found.map(({ revokedAt }) => revokedAt)).toEqual(Array(11).fill(1));
  });

  it('are asked again by callers from after a change, if the answer is not cacheable', async () => {
    const made = freshRecord();
    const odd = [made, { ...made, keyId: NOWHERE }];
    const answers: ((rows: unknown) => void)[] = [];
    const store = wrap(memoryStore(), (method, _args, call) => {
      if (method !== 'findByDigest') return call();
      return new Promise((resolve) => answers.push(resolve));
    });
    const { store: cached } = cachedRing(store);
    const find = async () => cached.findByDigest([made.digest]);
    const first = find();
    cached.mark(NOWHERE, REVOKE);
    const second = find();
    cached.mark(NOWHERE, REVOKE);
    const third = find();
    expect(answers).toHaveLength(2);
    for (const answer of answers) answer(odd);
    expect([await first, await second]).toEqual([odd, odd]);
    expect(answers).toHaveLength(3);
    answers[2]?.([made]);
    expect(await third).toEqual([made]);
  });

  it('fail for all callers that joined, even after a change', async () => {
    const failures: ((error: Error) => void)[] = [];
    const store = wrap(memoryStore(), (method, _args, call) => {
      if (method !== 'findByDigest') return call();
      return new Promise((_resolve, reject) => failures.push(reject));
    });
    const { store: cached } = cachedRing(store);
    const requests = Array.from({ length: 4 }, async () => {
      cached.mark(NOWHERE, REVOKE);
      return cached.findByDigest(['s1$a']);
    });
    expect(failures).toHaveLength(2);
    for (const fail of failures) fail(new Error('down'));
    for (const request of requests) await expect(request).rejects.toThrow('down');
    expect(failures).toHaveLength(2);
  });
});
