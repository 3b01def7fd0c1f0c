/** After every write through the cache, the next look-up shows the state of the store. */
import type { KeyRecord, KeyStore, Mark } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { cachedRing, freshRecord } from '../support/cache.ts';
import { delayed, OTHER, wrap } from '../support/keyring.ts';

const WHO = { at: 5, by: null, reason: null };

const MARKS = {
  revoke: { ...WHO, kind: 'revoke', seal: null },
  retire: { ...WHO, kind: 'retire', retireAt: 9 },
  suspend: { ...WHO, kind: 'suspend' },
  resume: { kind: 'resume', at: 5 },
  withdraw: { kind: 'withdraw', at: 5, entityId: OTHER },
} as const satisfies Readonly<Record<string, Mark>>;

/** How a write ends: normally, or with an error after or before it took effect. */
const ENDS = ['done', 'lost', 'refused'] as const;

/** A store whose writes end like that. */
function ending(inner: KeyStore, how: (typeof ENDS)[number], isLater: boolean): KeyStore {
  const store = wrap(inner, (method, _args, call) => {
    if (method !== 'mark' && method !== 'insert') return call();
    if (how === 'refused') throw new Error('refused');
    const answer = call();
    if (how === 'lost') throw new Error('lost');
    return answer;
  });
  return isLater ? delayed(store) : store;
}

const FINDS = {
  findByDigest: async (store: KeyStore, { digest }: KeyRecord) =>
    (await store.findByDigest([digest]))[0] ?? null,
  findById: async (store: KeyStore, { keyId }: KeyRecord) => store.findById(keyId),
};

const CASES = [false, true].flatMap((isLater) =>
  ENDS.flatMap((end) =>
    (['findByDigest', 'findById'] as const).map((find) => ({ isLater, end, find })),
  ),
);

describe.each(CASES)('a write that is $end (by promise: $isLater), checked by $find', (given) => {
  const { isLater, end, find } = given;
  const attempt = async (write: () => unknown) => {
    const failed = await Promise.resolve()
      .then(write)
      .then(
        () => false,
        () => true,
      );
    expect(failed).toBe(end !== 'done');
  };

  it.each(Object.entries<Mark>(MARKS))('shows the mark %s at once', async (kind, mark) => {
    const inner = memoryStore();
    const made = freshRecord({ suspendedAt: kind === 'resume' ? 1 : null });
    inner.insert(made);
    const { store, lookUps } = cachedRing(ending(inner, end, isLater));
    expect(await FINDS[find](store, made)).toEqual(made);
    await attempt(() => store.mark(made.keyId, mark));
    const shown = await FINDS[find](store, made);
    expect(shown).toEqual(inner.findById(made.keyId));
    expect(shown?.changedAt).toBe(end === 'refused' ? null : 5);
    expect(lookUps()).toBe(find === 'findByDigest' ? 2 : 0);
  });

  it('shows the new key at once', async () => {
    const inner = memoryStore();
    const made = freshRecord();
    const { store } = cachedRing(ending(inner, end, isLater));
    expect(await FINDS[find](store, made)).toBeNull();
    await attempt(() => store.insert(made));
    expect(await FINDS[find](store, made)).toEqual(end === 'refused' ? null : made);
  });
});

describe.each(['findByDigest', 'findById'] as const)('a look-up during a write (%s)', (find) => {
  // It was sent after the entry was outdated, read the old state, and stayed cached after the
  // write.
  it.each(['done', 'lost'] as const)('is not cached after it: %s', async (end) => {
    const inner = memoryStore();
    const made = freshRecord();
    inner.insert(made);
    let letGo = (): void => {};
    const held = wrap(inner, async (method, _args, call) => {
      if (method !== 'mark') return call();
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
      const answer = await call();
      if (end === 'lost') throw new Error('lost');
      return answer;
    });
    const { store } = cachedRing(held);
    const writing = Promise.resolve(store.mark(made.keyId, MARKS.revoke)).catch(() => {});
    expect(await FINDS[find](store, made)).toEqual(made);
    letGo();
    await writing;
    expect(await FINDS[find](store, made)).toMatchObject({ revokedAt: 5 });
  });
});
