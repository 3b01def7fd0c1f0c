/** Two keyrings over one store, for example one for live keys and one for test keys. */
import type { KeyRecord, KeyStore, Peppers } from 'keyscope';
import { createKeyring, digestKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  denied,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  type Ring,
  rowOf,
  START,
  stoppedClock,
  untypedInput,
} from '../support/keyring.ts';
import { editing } from '../support/lives.ts';
import { CALLS_ON_A_KEY } from '../support/managing.ts';
import { outcome } from '../support/outcome.ts';

const BROAD = { ...AUTHORITY, entities: [OTHER] } as const;

function keyringOf(prefix: string, store: KeyStore, peppers: Peppers): Ring {
  return createKeyring({ prefix, catalog, store, peppers, now: stoppedClock().now });
}

/** Two keyrings over one store, and a key of each. */
async function prepared(peppers: Peppers) {
  const store = memoryStore();
  const live = keyringOf('acme_live', store, peppers);
  const test = keyringOf('acme_test', store, peppers);
  const input = untypedInput({ accessibleEntities: [OTHER] });
  const ofLive = await live.issue(input, BROAD);
  const ofTest = await test.issue(input, BROAD);
  return { store, live, test, ofLive, ofTest };
}

const PEPPERS: readonly (readonly [string, Peppers])[] = [
  ['with a shared pepper', [PEPPER]],
  ['without peppers', 'none'],
];

describe.each(PEPPERS)('two prefixes over one store, %s', (_how, peppers) => {
  it('verify, identify and list only their own keys', async () => {
    const { live, test, ofLive, ofTest } = await prepared(peppers);
    const sides = [
      [live, ofLive, ofTest],
      [test, ofTest, ofLive],
    ] as const;
    for (const [own, mine, theirs] of sides) {
      expect((await own.verify(mine.key)).keyId).toBe(mine.info.keyId);
      await denied(() => own.verify(theirs.key), 'invalid_token', 'malformed_key');
      expect(await own.identify(mine.key)).toEqual(mine.info);
      expect(await own.identify(theirs.key)).toBeNull();
      expect((await own.list({}, AUTHORITY)).keys).toEqual([mine.info]);
      const { keys } = await own.list({ addressing: true }, { entityId: OTHER });
      expect(keys).toMatchObject([{ keyId: mine.info.keyId, prefix: mine.info.prefix }]);
      expect(await own.get(mine.info.keyId, AUTHORITY)).toEqual(mine.info);
      expect(await own.get(theirs.info.keyId, AUTHORITY)).toBeNull();
    }
  });

  it.each(CALLS_ON_A_KEY.filter((name) => name !== 'get'))(
    'cannot %s each other’s keys, which are not_found',
    async (name) => {
      const { store, live, test, ofLive, ofTest } = await prepared(peppers);
      const before = [await rowOf(store, ofLive.info.keyId), await rowOf(store, ofTest.info.keyId)];
      const authority = name === 'withdraw' ? { entityId: OTHER } : AUTHORITY;
      const sides = [
        [live, ofTest],
        [test, ofLive],
      ] as const;
      for (const [own, theirs] of sides) {
        const act = () => own[name](theirs.info.keyId, authority);
        const error = await denied(act, 'not_found', 'foreign_key');
        const none = await denied(() => own[name](NOWHERE, authority), 'not_found', 'no_such_key');
        expect([error.message, error.keyId]).toEqual([none.message, none.keyId]);
      }
      const after = [await rowOf(store, ofLive.info.keyId), await rowOf(store, ofTest.info.keyId)];
      expect(after).toEqual(before);
    },
  );

  it('cannot rotate each other’s keys', async () => {
    const { live, test, ofLive, ofTest } = await prepared(peppers);
    const input = { overlapMs: 0 };
    const actLive = () => live.rotate(ofTest.info.keyId, input, BROAD);
    await denied(actLive, 'not_found', 'foreign_key');
    const actTest = () => test.rotate(ofLive.info.keyId, input, BROAD);
    await denied(actTest, 'not_found', 'foreign_key');
    const next = await live.rotate(ofLive.info.keyId, input, BROAD);
    expect(next.key).toMatch(/^acme_live_/);
    expect(next.info.prefix).toBe('acme_live');
  });

  it('page through their own keys, however many keys the other has', async () => {
    const { live, test } = await prepared(peppers);
    for (let count = 0; count < 5; count++) await test.issue(PLAIN, AUTHORITY);
    const { keys, next } = await live.list({ limit: 1 }, AUTHORITY);
    expect([keys.length, next]).toEqual([1, null]);
  });

  it('refuse a row that was moved from one to the other', async () => {
    const { store, ofLive } = await prepared(peppers);
    const { keyId } = ofLive.info;
    const moved = editing(store, keyId, { prefix: 'acme_test' });
    // The text of the key still has the old prefix: it is not a key of one keyring, and damaged for
    // the other.
    const test = keyringOf('acme_test', moved, peppers);
    await denied(() => test.verify(ofLive.key), 'invalid_token', 'malformed_key');
    const live = keyringOf('acme_live', moved, peppers);
    await denied(() => live.verify(ofLive.key), 'invalid_token', 'record_tampered');
    expect(await live.identify(ofLive.key)).toMatchObject({ state: 'damaged', keyId });
    await denied(() => live.revoke(keyId, AUTHORITY), 'not_found', 'foreign_key');
  });

  it('refuse a row whose digest was moved as well, with a pepper', async () => {
    const { store, ofTest, ofLive } = await prepared(peppers);
    const { keyId } = ofLive.info;
    // The attacker has a test key, and wants it to have the rights of a live one.
    const stolen = peppers === 'none' ? digestKey(ofTest.key) : digestKey(ofTest.key, PEPPER);
    const row = await rowOf(store, keyId);
    const forged: KeyRecord = { ...row, prefix: 'acme_test', digest: stolen };
    const other = memoryStore();
    await other.insert(forged);
    const test = keyringOf('acme_test', other, peppers);
    const answer = await outcome(() => test.verify(ofTest.key));
    // Without a pepper, anyone who can write to the database can make keys, as documented.
    expect(answer).toBe(peppers === 'none' ? 'passed' : 'invalid_token record_tampered');
    const shown = await test.get(keyId, AUTHORITY);
    expect(shown?.state).toBe(peppers === 'none' ? 'live' : 'damaged');
  });
});

describe('a pepper that two prefixes share', () => {
  it('seals for one of them, so a row that was copied to the other is damaged there', async () => {
    const { store, ofLive } = await prepared([PEPPER]);
    const { keyId } = ofLive.info;
    const moved = editing(store, keyId, { prefix: 'acme_test' });
    const other = memoryStore();
    await other.insert(await rowOf(moved, keyId));
    const test = keyringOf('acme_test', other, [PEPPER]);
    expect(await test.get(keyId, AUTHORITY)).toMatchObject({ state: 'damaged', tampered: true });
    expect((await test.list({}, AUTHORITY)).keys).toMatchObject([{ keyId, state: 'damaged' }]);
    const act = () => test.rotate(keyId, { overlapMs: 0 }, BROAD);
    await denied(act, 'conflict', 'record_tampered');
    await test.suspend(keyId, AUTHORITY);
    await test.revoke(keyId, AUTHORITY);
    expect(await test.get(keyId, AUTHORITY)).toMatchObject({ state: 'revoked', tampered: true });
    expect(await rowOf(other, keyId)).toMatchObject({ seal: null, revokedAt: START });
  });

  it('does not join their lineages: the other’s keys with the same root stay', async () => {
    const { store, live, ofLive, ofTest } = await prepared([PEPPER]);
    const row = await rowOf(store, ofTest.info.keyId);
    const injected = { ...row, keyId: NOWHERE, digest: `s1$${'0'.repeat(64)}` };
    await store.insert({ ...injected, rootKeyId: ofLive.info.keyId });
    const ended = await live.revokeLineage(ofLive.info.keyId, AUTHORITY);
    expect(ended).toEqual([ofLive.info.keyId]);
    expect(await rowOf(store, NOWHERE)).toMatchObject({ revokedAt: null, entityId: OWN });
  });
});
