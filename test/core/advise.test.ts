import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  bearer,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  PLAIN,
  policy,
  rowOf,
  START,
  setUp,
  storeError,
  tampering,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

const scopes = ['threats:read', 'threats:write', 'decoys:read'] as const;
const unusedForMs = 10;

describe('advise', () => {
  it('names the granted scopes not exercised for so long, to the millisecond', async () => {
    const { keyring, clock } = setUp();
    const { key, info } = await keyring.issue({ ...PLAIN, scopes }, AUTHORITY);
    const advice = () => keyring.advise(info.keyId, { unusedForMs }, AUTHORITY);
    const use = (operation: 'list' | 'triage' | 'whoami') =>
      keyring.admit(bearer(key), { policy, operation });

    clock.advance(9);
    // Younger than the time asked about: nothing is known yet.
    expect(await advice()).toEqual({ unusedScopes: [], lastUsedAt: null });
    await use('triage');
    clock.advance(1);
    expect(await advice()).toEqual({
      unusedScopes: ['decoys:read'],
      lastUsedAt: new Date(START + 9),
    });
    await use('list');
    clock.advance(8);
    expect((await advice()).unusedScopes).toEqual(['decoys:read']);
    clock.advance(1);
    expect((await advice()).unusedScopes).toEqual(['threats:write', 'decoys:read']);
    // An operation that needs no scope is use of the key and of no scope.
    clock.advance(1);
    await use('whoami');
    expect(await advice()).toEqual({ unusedScopes: scopes, lastUsedAt: new Date(START + 20) });
  });

  it('counts usage that this process has noted and not written yet', async () => {
    const { keyring, store, clock } = setUp();
    const { key, info } = await issue(keyring);
    clock.advance(HOUR);
    await keyring.admit(bearer(key), { policy, operation: 'list' });
    expect((await rowOf(store, info.keyId)).lastUsedAt).toBeNull();
    expect((await keyring.advise(info.keyId, { unusedForMs }, AUTHORITY)).unusedScopes).toEqual([]);
    expect((await rowOf(store, info.keyId)).lastUsedAt).toBe(START + HOUR);
  });

  it('finds no key of another entity', async () => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    const elsewhere = () => keyring.advise(info.keyId, { unusedForMs }, { entityUuid: OTHER });
    await denied(elsewhere, 'not_found', 'no_such_key');
    await denied(
      () => keyring.advise(NOWHERE, { unusedForMs }, AUTHORITY),
      'not_found',
      'no_such_key',
    );
    await typeError(
      () => keyring.advise(info.keyId, { unusedForMs }, untyped({})),
      /authority\.entityUuid/,
    );
  });

  it.each([
    ['nothing', undefined, /advise: pass an object/],
    ['no time', {}, /unusedForMs: pass a whole number/],
    ['a negative time', { unusedForMs: -1 }, /unusedForMs/],
    ['a time as text', { unusedForMs: '1' }, /unusedForMs/],
    ['part of a millisecond', { unusedForMs: 0.5 }, /unusedForMs/],
    ['another field', { unusedForMs, entityUuid: OTHER }, /unknown field "entityUuid"/],
  ])('refuses %s', async (_what, input, message) => {
    const { keyring } = setUp();
    const { info } = await issue(keyring);
    await typeError(() => keyring.advise(info.keyId, untyped(input), AUTHORITY), message);
  });

  it('treats a malformed row as a broken store', async () => {
    const { keyring } = setUp({
      store: tampering(memoryStore(), (row) => ({ ...row, scopesUsed: { 'a:b': 'c' } })),
    });
    const { info } = await issue(keyring);
    await storeError(() => keyring.advise(info.keyId, { unusedForMs }, AUTHORITY));
  });

  it('rejects while usage cannot be written', async () => {
    const down = wrap(memoryStore(), (method, _args, call) => {
      if (method === 'touch') throw new Error('down');
      return call();
    });
    const { keyring } = setUp({ store: down });
    const { key, info } = await issue(keyring);
    await keyring.admit(bearer(key), { policy, operation: 'list' });
    await storeError(() => keyring.advise(info.keyId, { unusedForMs }, AUTHORITY));
  });
});
