/** Look-ups by key id, which tokens use: cached and shared like those by digest. */
import type { KeyStore } from 'keyscope';
import { createTokenIssuer } from 'keyscope/jwt';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  cachedRing,
  freshRecord,
  holdLookUps,
  lru,
  MARKINGS,
  MAX_MS,
  REVOKE,
} from '../support/cache.ts';
import { SIGNING, signingWith } from '../support/jwt.ts';
import {
  AUTHORITY,
  delayed,
  denied,
  issue,
  NOWHERE,
  OTHER,
  PLAIN,
  setUp,
  wrap,
} from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';
import { GOOD, VERIFIER } from '../support/token-attacks.ts';

/** A cache over a store with one key that counts look-ups by id. */
async function cached(inner: KeyStore = memoryStore()) {
  const ring = cachedRing(inner);
  const { entityId } = RECORD;
  const made = freshRecord({ accessibleEntities: [entityId, OTHER] });
  await inner.insert(made);
  const find = async () => ring.store.findById(made.keyId);
  const lookUps = () => ring.calls.filter((name) => name === 'findById').length;
  return { ...ring, made, find, lookUps };
}

describe('a key cached by its id', () => {
  it('is looked up once, and returned synchronously as the same frozen record', async () => {
    const { store, made, find, lookUps } = await cached(delayed(memoryStore()));
    const found = await Promise.all(Array.from({ length: 100 }, find));
    expect([found[0], new Set(found).size, lookUps()]).toEqual([made, 1, 1]);
    expect(store.findById(made.keyId)).toBe(found[0]);
    expect(Object.isFrozen(found[0])).toBe(true);
  });

  it('is cached no longer than maxStalenessMs', async () => {
    const { inner, made, clock, find } = await cached();
    await find();
    await inner.mark(made.keyId, REVOKE);
    clock.advance(MAX_MS - 1);
    expect(await find()).toMatchObject({ revokedAt: null });
    clock.advance(1);
    expect(await find()).toMatchObject({ revokedAt: 1 });
  });

  it('shows at once how it is marked and used here', async () => {
    const { store, made, find } = await cached();
    await find();
    await store.touch([{ keyId: made.keyId, lastUsedAt: 7, scopesUsed: {} }]);
    expect(await find()).toMatchObject({ lastUsedAt: 7 });
    await store.mark(made.keyId, { kind: 'withdraw', at: 5, entityId: OTHER });
    expect(await find()).toMatchObject({ withdrawn: [OTHER], lastUsedAt: 7 });
    await store.mark(made.keyId, REVOKE);
    expect(await find()).toMatchObject({ revokedAt: 1 });
  });

  it('does not answer a look-up by digest, nor vice versa', async () => {
    const { store, made, cache } = await cached();
    await store.findById(made.keyId);
    await store.findByDigest([made.digest]);
    expect([...cache.keys()]).toEqual([made.digest, `id:${made.keyId}`]);
    for (const name of [`id:${made.keyId}`, made.keyId]) {
      expect(await store.findByDigest([name])).toEqual([]);
    }
  });

  it('works at once if it is created here, even if it was tried before', async () => {
    const { store, inner, clock, lookUps } = await cached();
    const here = freshRecord();
    const elsewhere = freshRecord();
    for (const { keyId } of [here, elsewhere, elsewhere]) {
      expect(await store.findById(keyId)).toBe(null);
    }
    expect(lookUps()).toBe(2);
    await store.insert(here);
    await inner.insert(elsewhere);
    expect(await store.findById(here.keyId)).toEqual(here);
    expect(await store.findById(elsewhere.keyId)).toBe(null);
    clock.advance(5_000);
    expect(await store.findById(elsewhere.keyId)).toEqual(elsewhere);
  });
});

describe('an answer by id that is not cached', () => {
  it.each([
    ['of another key', freshRecord()],
    ['a malformed record', { ...freshRecord({ keyId: NOWHERE }), scopes: ['*:*'] }],
    ['nothing', undefined],
  ])('%s', async (_what, answer) => {
    let asked = 0;
    const store = wrap(memoryStore(), (method, _args, call) => {
      if (method !== 'findById') return call();
      asked += 1;
      return answer;
    });
    const { store: over } = cachedRing(store);
    for (let i = 1; i <= 2; i++) {
      expect(await over.findById(NOWHERE)).toBe(answer);
      expect(asked).toBe(i);
    }
  });

  it('the answer to anything that is not a key id', async () => {
    const { store, cache } = await cached();
    for (const odd of ['', 'x', NOWHERE.toUpperCase(), [NOWHERE], 5]) {
      expect(await store.findById(odd as string)).toBe(null);
    }
    expect(cache.size).toBe(0);
  });
});

describe('a fresh look-up by id', () => {
  it('asks the store, replaces a cached answer, and adds none', async () => {
    const { store, inner, made, cache, find } = await cached();
    const findFresh = () => store.findById(made.keyId, { fresh: true });
    await findFresh();
    expect(cache.size).toBe(0);
    await find();
    await inner.mark(made.keyId, REVOKE);
    expect(await find()).toMatchObject({ revokedAt: null });
    expect(await findFresh()).toMatchObject({ revokedAt: 1 });
    expect(await find()).toMatchObject({ revokedAt: 1 });
  });

  // Otherwise a job that read every key would have emptied the cache of the keys in use.
  it('is what management uses, so it evicts nothing', async () => {
    const small = lru(1);
    const { keyring } = cachedRing(memoryStore(), { cache: small });
    const { key } = await issue(keyring);
    await keyring.verify(key);
    const kept = [...small.keys()];
    for (let i = 0; i < 3; i++) {
      const { info } = await issue(keyring);
      await keyring.get(info.keyId, AUTHORITY);
      await keyring.suspend(info.keyId, AUTHORITY);
    }
    expect([...small.keys()]).toEqual(kept);
  });
});

describe('look-ups by id in progress', () => {
  async function held() {
    const inner = memoryStore();
    const { store: holding, letGo, waiting } = holdLookUps(inner, 'findById');
    const ring = await cached(holding);
    return { ...ring, letGo, waiting };
  }

  it('are shared whatever happens to other keys', async () => {
    const { store, made, find, waiting, letGo } = await held();
    const found = [find()];
    for (let i = 0; i < 10; i++) {
      store.mark(NOWHERE, REVOKE);
      found.push(find());
    }
    expect(waiting).toHaveLength(1);
    await letGo();
    expect(await Promise.all(found)).toEqual(Array(11).fill(made));
  });

  it('are detached by a change to their key', async () => {
    const { store, made, find, waiting, letGo } = await held();
    const early = find();
    store.mark(made.keyId, REVOKE);
    const late = find();
    expect(waiting).toHaveLength(2);
    await letGo();
    await early;
    expect(await late).toMatchObject({ revokedAt: 1 });
    expect(await find()).toMatchObject({ revokedAt: 1 });
  });
});

describe('a token', () => {
  const issuer = createTokenIssuer({ ...SIGNING, ...signingWith(GOOD) });

  /**
   * A keyring over a cache, another elsewhere over the same store, and a token of a key for both.
   */
  async function exchanged() {
    const ring = cachedRing();
    const { keyring } = setUp({ store: ring.store, tokens: VERIFIER, now: ring.clock.now });
    const elsewhere = setUp({ store: ring.inner, now: ring.clock.now }).keyring;
    const input = { ...PLAIN, accessibleEntities: [OTHER] };
    const made = await keyring.issue(input, { ...AUTHORITY, entities: [OTHER] });
    const caller = await keyring.authenticate(`Bearer ${made.key}`, { fresh: true });
    const { accessToken } = await issuer.exchange(caller);
    const use = () => keyring.authenticate(`Bearer ${accessToken}`);
    return { ...ring, keyring, elsewhere, keyId: made.info.keyId, use };
  }

  it('looks up its key once, not with every request', async () => {
    const { use, calls } = await exchanged();
    calls.length = 0;
    for (let i = 0; i < 5; i++) expect((await use()).via).toBe('jwt');
    expect(calls).toEqual(['findById']);
  });

  it('is rejected at once where its key is revoked, elsewhere within maxStalenessMs', async () => {
    const here = await exchanged();
    await here.use();
    await here.keyring.revoke(here.keyId, AUTHORITY);
    await denied(here.use, 'invalid_token', 'revoked');
    const there = await exchanged();
    await there.use();
    await there.elsewhere.revoke(there.keyId, AUTHORITY);
    there.clock.advance(MAX_MS - 1);
    await there.use();
    there.clock.advance(1);
    await denied(there.use, 'invalid_token', 'revoked');
  });

  it.each(MARKINGS)(
    'shows at once that its key is $what here',
    async ({ prepare, mark, after }) => {
      const { use, keyring, keyId } = await exchanged();
      await prepare(keyring, keyId);
      await use().catch(() => {});
      await mark(keyring, keyId);
      if (after === 'two entities') expect((await use()).accessibleEntities).toContain(OTHER);
      else if (after === 'its own') expect((await use()).accessibleEntities).not.toContain(OTHER);
      else await denied(use, 'invalid_token', after as 'revoked');
    },
  );
});
