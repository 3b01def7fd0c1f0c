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
  issue,
  NOWHERE,
  OTHER,
  OWN,
  recording,
  rowOf,
  START,
  setUp,
  storeError,
  tampering,
  typeError,
  untyped,
} from '../support/keyring.ts';

describe('revoke', () => {
  it.each(ANSWERING)('ends the key at once, in a store that answers %s', async (_how, through) => {
    const { keyring, store, clock, events } = setUp({ store: through(memoryStore()) });
    const { key, info } = await issue(keyring);
    const neighbour = await issue(keyring);
    const before = await rowOf(store, info.keyId);
    await keyring.verify(key);
    clock.advance(HOUR);
    await keyring.revoke(info.keyId, AUTHORITY);
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
    await keyring.verify(neighbour.key);
    // One mark and nothing else; the record stays.
    expect(await rowOf(store, info.keyId)).toEqual({ ...before, revokedAt: START + HOUR });
    expect(events.slice(2)).toEqual([
      { type: 'key.revoked', time: START + HOUR, keyId: info.keyId, entityUuid: OWN },
    ]);
  });

  it('is idempotent: the time of the first call stays, and its event is the only one', async () => {
    const { keyring, store, clock, events } = setUp({ store: delayed(memoryStore()) });
    const { key, info } = await issue(keyring);
    const revoke = () => keyring.revoke(info.keyId, AUTHORITY);
    await Promise.all([revoke(), revoke(), revoke()]);
    clock.advance(HOUR);
    await revoke();
    expect((await rowOf(store, info.keyId)).revokedAt).toBe(START);
    expect(events.filter(({ type }) => type === 'key.revoked')).toHaveLength(1);
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
  });

  // A row that the store and the core read differently stayed live, and revoke resolved.
  it('throws if the store wrote nothing and the key is not revoked', async () => {
    const inner = memoryStore();
    const { keyring, events } = setUp({ store: { ...inner, markEnded: () => false } });
    const { key, info } = await issue(keyring);
    await storeError(() => keyring.revoke(info.keyId, AUTHORITY));
    expect(events.map(({ type }) => type)).toEqual(['key.issued']);
    await keyring.verify(key);
    // A mark that is none: the condition of the write may see one.
    const odd = tampering({ ...inner, markEnded: () => false }, (row) => ({
      ...row,
      revokedAt: untyped('null '),
    }));
    await storeError(() => setUp({ store: odd }).keyring.revoke(info.keyId, AUTHORITY));
    // Once somebody has revoked it, `false` is true.
    await setUp({ store: inner }).keyring.revoke(info.keyId, AUTHORITY);
    await keyring.revoke(info.keyId, AUTHORITY);
  });

  it('ends a key that is retiring, expired or tampered with, too', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const { key, info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    const odd = setUp({ store: tampering(inner, (row) => ({ ...row, name: 'x', expiresAt: 0 })) });
    await odd.keyring.revoke(info.keyId, AUTHORITY);
    await denied(() => keyring.verify(key), 'invalid_token', 'revoked');
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
      'no id',
      '',
      info.keyId.toUpperCase(),
      '*',
      'x'.repeat(1e6),
    ]) {
      // Not even where the authority may hand the entity out: whose keys they are is one entity.
      const authority = { entityUuid: OTHER, entities: [OWN] };
      errors.push(await denied(() => keyring.revoke(keyId, authority), 'not_found', 'no_such_key'));
    }
    const seen = errors.map((error) => {
      const { message, keyId } = error;
      const response = toResponse(error, { realm: 'acme' });
      return JSON.stringify([message, keyId, Object.entries(error), response]);
    });
    expect(new Set(seen).size).toBe(1);
    expect(new Set(calls)).toEqual(new Set(['findById']));
    expect(events).toEqual([]);
    expect(await dump(inner)).toBe(before);
    await keyring.verify(key);
  });

  it('asks the store only for what can be a key id', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const odd = ["' OR 1=1 --", '%', `${NOWHERE}\u0000`, `${NOWHERE} `, '{"$ne":null}'];
    for (const keyId of odd)
      await denied(() => keyring.revoke(keyId, AUTHORITY), 'not_found', 'no_such_key');
    expect(calls).toEqual([]);
  });

  it.each([undefined, null, 7, { $ne: null }, [NOWHERE]])(
    'refuses %j as a key id',
    async (keyId) => {
      await typeError(
        () => setUp().keyring.revoke(untyped(keyId), AUTHORITY),
        /keyId: pass a string/,
      );
    },
  );

  it.each([undefined, {}, { entityUuid: '*' }, { entityUuid: OWN, all: true }])(
    'refuses %j as an authority',
    async (authority) => {
      await typeError(() => setUp().keyring.revoke(NOWHERE, untyped(authority)), /authority/);
    },
  );

  it('ends a key whose row is malformed', async () => {
    const store = memoryStore();
    const { key, info } = await issue(setUp({ store }).keyring);
    const { keyring } = setUp({ store: tampering(store, (row) => ({ ...row, scopes: ['*:*'] })) });
    await keyring.revoke(info.keyId, AUTHORITY);
    await denied(() => setUp({ store }).keyring.verify(key), 'invalid_token', 'revoked');
  });
});
