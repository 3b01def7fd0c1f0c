import { type AccessError, toResponse } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  ANSWERING,
  AUTHORITY,
  delayed,
  denied,
  dump,
  HOUR,
  inputError,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  recording,
  rowOf,
  START,
  setUp,
  storeError,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';
import { bring, editing, LIFE_NAMES, LIVES } from '../support/lives.ts';

const EVE = { ...AUTHORITY, actor: 'eve', reason: 'leaked' } as const;
const SEAL = /^[0-9a-f]{64}$/;

describe('revoke', () => {
  it.each(ANSWERING)(
    'ends the key immediately, in a store that answers %s',
    async (_how, through) => {
      const { keyring, store, clock, events } = setUp({ store: through(memoryStore()) });
      const { key, info } = await issue(keyring);
      const neighbour = await issue(keyring);
      const before = await rowOf(store, info.keyId);
      await keyring.verify(key);
      clock.advance(HOUR);
      await keyring.revoke(info.keyId, EVE);
      await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
      await keyring.verify(neighbour.key);
      // Only one mark with its seal; the record stays.
      const after = await rowOf(store, info.keyId);
      expect(after).toEqual({
        ...before,
        seal: expect.stringMatching(SEAL) as unknown,
        revokedAt: START + HOUR,
        changedAt: START + HOUR,
        endedBy: 'eve',
        endReason: 'leaked',
      });
      expect(after.seal).not.toBe(before.seal);
      expect(events.slice(2)).toEqual([
        {
          type: 'key.revoked',
          time: START + HOUR,
          keyId: info.keyId,
          entityId: OWN,
          actor: 'eve',
          reason: 'leaked',
        },
      ]);
    },
  );

  it.each(LIFE_NAMES)('ends a key that is %s', async (name) => {
    const { keyring, inner, events, key, keyId } = await bring(name);
    const before = await rowOf(inner, keyId);
    await keyring.revoke(keyId, EVE);
    const wasRevoked = LIVES[name].state === 'revoked';
    // Who revoked it stays. Only the seal becomes null, because nobody can check it any more.
    const isKept = name === 'revoked and orphaned';
    const after = await rowOf(inner, keyId);
    if (wasRevoked) expect(after).toEqual(before);
    else if (isKept) expect(after).toEqual({ ...before, seal: null });
    else expect(after).toMatchObject({ revokedAt: expect.any(Number) as unknown, endedBy: 'eve' });
    expect(events.map(({ type }) => type)).toEqual(wasRevoked || isKept ? [] : ['key.revoked']);
    events.length = 0;
    await keyring.revoke(keyId, { ...EVE, actor: 'again' });
    expect(await rowOf(inner, keyId)).toEqual(after);
    expect(events).toEqual([]);
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'revoked' });
    // Whatever happens to the row, its pepper and the clock.
    const first = setUp({ store: inner }).keyring;
    await denied(() => first.verify(key), 'invalid_token', 'revoked');
  });

  it('is idempotent: the actor and time of the first call stay, with one event', async () => {
    const { keyring, store, clock, events } = setUp({ store: delayed(memoryStore()) });
    const { key, info } = await issue(keyring);
    const revoke = (actor: string) => keyring.revoke(info.keyId, { ...AUTHORITY, actor });
    await Promise.all([revoke('first'), revoke('second'), revoke('third')]);
    clock.advance(HOUR);
    await revoke('last');
    expect(await rowOf(store, info.keyId)).toMatchObject({ revokedAt: START, endedBy: 'first' });
    expect(events.filter(({ type }) => type === 'key.revoked')).toMatchObject([{ actor: 'first' }]);
    expect(await keyring.get(info.keyId, AUTHORITY)).toMatchObject({ tampered: false });
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
  });

  // A row that the store and the core read differently stayed live, although revoke resolved.
  it('throws if the store wrote nothing and the key is not revoked', async () => {
    const inner = memoryStore();
    const silent = wrap(inner, (method, _args, call) => (method === 'mark' ? false : call()));
    const { keyring, events } = setUp({ store: silent });
    const { key, info } = await issue(keyring);
    await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
    expect(events.map(({ type }) => type)).toEqual(['key.issued']);
    await keyring.verify(key);
    // Not a valid mark, but the condition of the write may treat it as one.
    const odd = editing(silent, info.keyId, { revokedAt: 'null ' });
    await storeError(() => setUp({ store: odd }).keyring.revoke(info.keyId, AUTHORITY));
    // Once another caller has revoked it, `false` is a correct answer.
    await setUp({ store: inner }).keyring.revoke(info.keyId, AUTHORITY);
    await keyring.revoke(info.keyId, AUTHORITY);
  });

  it('denies another entity’s key like an unknown one, and writes nothing', async () => {
    const inner = memoryStore();
    const { key, info } = await issue(setUp({ store: inner }).keyring);
    const { store, calls } = recording(inner);
    const { keyring, events } = setUp({ store });
    const before = await dump(inner);
    const errors: AccessError[] = [];
    for (const keyId of [
      info.keyId,
      NOWHERE,
      'not-an-id',
      '',
      info.keyId.toUpperCase(),
      '*',
      'x'.repeat(1e6),
    ]) {
      // Not even if the authority may grant the entity: the keys of one entity are meant.
      const authority = { entityId: OTHER, entities: [OWN] };
      const reason = keyId === info.keyId ? 'foreign_key' : 'no_such_key';
      errors.push(await denied(() => keyring.revoke(keyId, authority), 'not_found', reason));
    }
    const seen = errors.map((error) => {
      const { message, keyId } = error;
      const response = toResponse(error, { realm: 'acme' });
      return JSON.stringify([message, keyId, Object.entries(error), response]);
    });
    expect(new Set(seen).size).toBe(1);
    expect(new Set(calls)).toEqual(new Set(['findById']));
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['management.denied']));
    expect(await dump(inner)).toBe(before);
    await keyring.verify(key);
  });

  it('queries the store only for valid key ids', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const odd = ["' OR 1=1 --", '%', `${NOWHERE}\u0000`, `${NOWHERE} `, '{"$ne":null}'];
    for (const keyId of odd) {
      await denied(() => keyring.revoke(keyId, AUTHORITY), 'not_found', 'no_such_key');
    }
    expect(calls).toEqual([]);
  });

  it.each([undefined, null, 7, { $ne: null }, [NOWHERE]])(
    'refuses %j as a key id',
    async (keyId) => {
      const act = () => setUp().keyring.revoke(untyped(keyId), AUTHORITY);
      await inputError(act, 'keyId', /^keyId: pass a string, not /);
    },
  );

  it.each([undefined, {}, { entityId: '*' }, { entityId: OWN, all: true }])(
    'refuses %j as an authority',
    async (authority) => {
      await typeError(() => setUp().keyring.revoke(NOWHERE, untyped(authority)), /authority/);
    },
  );
});

describe('the seal of a revoked key', () => {
  async function revoked(peppers: 'none' | undefined = undefined) {
    const inner = memoryStore();
    const { keyring } = setUp(peppers === undefined ? { store: inner } : { store: inner, peppers });
    const { key, info } = await issue(keyring);
    const sealBefore = (await rowOf(inner, info.keyId)).seal;
    await keyring.revoke(info.keyId, EVE);
    return { inner, keyring, key, keyId: info.keyId, sealBefore };
  }

  it('keeps the key ended after an attacker clears the mark', async () => {
    const { inner, key, keyId } = await revoked();
    const cleared = { revokedAt: null, endedBy: null, endReason: null };
    for (const edit of [{ revokedAt: null }, cleared, { ...cleared, seal: null }]) {
      const { keyring } = setUp({ store: editing(inner, keyId, edit) });
      await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
      await denied(
        () => keyring.rotate(keyId, { overlapMs: 0 }, AUTHORITY),
        'conflict',
        'record_tampered',
      );
      expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({
        state: 'damaged',
        tampered: true,
      });
    }
  });

  it.each([
    [{ revokedAt: START + 1 }],
    [{ revokedAt: 0 }],
    [{ endedBy: 'somebody else' }],
    [{ endedBy: null }],
    [{ endReason: 'another reason' }],
    [{ endReason: null }],
    [{ seal: null }],
    [{ seal: '0'.repeat(64) }],
    [{ name: 'another' }],
    [{ scopes: [] }],
  ])('exposes an edit of the evidence: %j', async (edit) => {
    const { inner, keyId } = await revoked();
    const { keyring } = setUp({ store: editing(inner, keyId, edit) });
    const state = 'seal' in edit && edit.seal === null ? 'revoked' : 'damaged';
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state, tampered: true });
  });

  it('does not cover later changes', async () => {
    const { inner, keyId } = await revoked();
    const edit = {
      lastUsedAt: 5,
      scopesUsed: { 'threats:read': 5 },
      withdrawn: [OTHER],
      retireAt: 5,
    };
    const { keyring } = setUp({ store: editing(inner, keyId, edit) });
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({
      state: 'revoked',
      tampered: false,
    });
  });

  it('differs from the seal of a live key, and neither can replace the other', async () => {
    const { inner, key, keyId, sealBefore } = await revoked();
    // The old seal with a mark written by hand, and the new one without its mark.
    const forged = setUp({ store: editing(inner, keyId, { seal: sealBefore }) });
    expect(await forged.keyring.get(keyId, AUTHORITY)).toMatchObject({ tampered: true });
    // Anyone who kept the old seal can restore the whole row, as from a backup. Documented.
    const restored = { seal: sealBefore, revokedAt: null };
    await setUp({ store: editing(inner, keyId, restored) }).keyring.verify(key);
  });

  it('is null without a pepper, and for a row for which nothing vouches', async () => {
    const unpeppered = await revoked('none');
    expect((await rowOf(unpeppered.inner, unpeppered.keyId)).seal).toBeNull();
    for (const name of ['edited', 'malformed', 'of a later format', 'orphaned'] as const) {
      const { keyring, inner, keyId } = await bring(name);
      await keyring.revoke(keyId, EVE);
      expect((await rowOf(inner, keyId)).seal, name).toBeNull();
    }
  });

  it('does not make an edited row genuine', async () => {
    const { keyring, keyId } = await bring('edited');
    await keyring.revoke(keyId, EVE);
    expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'revoked', tampered: true });
  });

  it('covers a key that was suspended, retired or expired', async () => {
    for (const name of ['suspended', 'retiring', 'retired', 'expired'] as const) {
      const { keyring, keyId } = await bring(name);
      await keyring.revoke(keyId, EVE);
      expect(await keyring.get(keyId, AUTHORITY), name).toMatchObject({
        state: 'revoked',
        tampered: false,
        endedBy: 'eve',
      });
    }
  });

  it('is not made with a broken clock, and nothing is written', async () => {
    const { inner, keyId } = await bring('live');
    const before = await rowOf(inner, keyId);
    await storeError(() => setUp({ store: inner, now: () => NaN }).keyring.revoke(keyId, EVE));
    expect(await rowOf(inner, keyId)).toEqual(before);
  });
});
