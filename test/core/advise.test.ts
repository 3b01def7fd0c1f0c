/**
 * What recorded use says to those who manage keys: scopes that nobody calls, peppers that nobody
 * needs.
 */
import type { KeyStore, SchemeSummary } from 'keyscope';
import { createKeyring, definePolicy } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  catalog,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  PEPPER,
  PEPPER_2,
  PLAIN,
  rowOf,
  START,
  setUp,
  storeError,
  tampering,
  typeError,
  untyped,
  wrap,
} from '../support/keyring.ts';

const policy = definePolicy(catalog, {
  whoami: [],
  list: ['threats:read'],
  triage: ['threats:read', 'threats:write'],
});
const scopes = ['threats:read', 'threats:write', 'decoys:read'] as const;
const unusedForMs = 10;

describe('advise', () => {
  it('names the granted scopes that were not exercised for so long, to the millisecond', async () => {
    const { keyring, clock } = setUp();
    const { key, info } = await keyring.issue({ ...PLAIN, scopes }, AUTHORITY);
    const advice = () => keyring.advise(info.keyId, { unusedForMs }, AUTHORITY);
    const use = (operation: 'list' | 'triage' | 'whoami') =>
      keyring.admit(`Bearer ${key}`, { policy, operation });

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

  it('counts what this process has noted and not written yet', async () => {
    const { keyring, store, clock } = setUp();
    const { key, info } = await issue(keyring);
    clock.advance(HOUR);
    await keyring.admit(`Bearer ${key}`, { policy, operation: 'list' });
    expect((await rowOf(store, info.keyId)).lastUsedAt).toBeNull();
    expect((await keyring.advise(info.keyId, { unusedForMs }, AUTHORITY)).unusedScopes).toEqual([]);
    expect((await rowOf(store, info.keyId)).lastUsedAt).toBe(START + HOUR);
  });

  it('is for the key’s own entity', async () => {
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

  it('is a broken store where the row is malformed or the usage cannot be written', async () => {
    const { keyring } = setUp({
      store: tampering(memoryStore(), (row) => ({ ...row, scopesUsed: { 'a:b': 'c' } })),
    });
    const { info } = await issue(keyring);
    await storeError(() => keyring.advise(info.keyId, { unusedForMs }, AUTHORITY));

    const down = wrap(memoryStore(), (method, _args, call) => {
      if (method === 'touch') throw new Error('down');
      return call();
    });
    const second = setUp({ store: down });
    const made = await issue(second.keyring);
    await second.keyring.admit(`Bearer ${made.key}`, { policy, operation: 'list' });
    await storeError(() => second.keyring.advise(made.info.keyId, { unusedForMs }, AUTHORITY));
    await storeError(() => second.keyring.pepperReport());
  });
});

describe('pepperReport', () => {
  const ring = (
    store: KeyStore,
    peppers: 'none' | (typeof PEPPER | typeof PEPPER_2)[],
    more = {},
  ) => setUp({ store, peppers, ...more });
  const none = { live: 0, lastUsedAt: null };

  it('counts the live keys under each pepper, and says when one of them was last used', async () => {
    const store = memoryStore();
    const first = ring(store, [PEPPER]);
    const used = await issue(first.keyring);
    await issue(first.keyring);
    const ended = await issue(first.keyring);
    await first.keyring.revoke(ended.info.keyId, AUTHORITY);
    await first.keyring.issue(PLAIN, { entityUuid: OTHER });
    const second = ring(store, [PEPPER_2, PEPPER]);
    second.clock.advance(5);
    await second.keyring.admit(`Bearer ${used.key}`, { policy, operation: 'whoami' });
    const p1 = {
      scheme: 'h1.p1',
      pepper: 'p1',
      live: 3,
      lastUsedAt: new Date(START + 5),
      accepted: true,
    };
    const p2 = { scheme: 'h1.p2', pepper: 'p2', ...none, accepted: true };
    expect(await second.keyring.pepperReport()).toEqual([p1, p2]);
    await issue(second.keyring);
    expect(await second.keyring.pepperReport()).toEqual([p1, { ...p2, live: 1 }]);
    // Taken out: its keys are live in the store alone.
    const third = ring(store, [PEPPER_2]);
    expect(await third.keyring.pepperReport()).toEqual([
      { ...p1, accepted: false },
      { ...p2, live: 1 },
    ]);
  });

  it('names keys without a pepper apart from a pepper called none', async () => {
    const store = memoryStore();
    await issue(ring(store, 'none').keyring);
    const plain = { scheme: 's1', pepper: null, live: 1, lastUsedAt: null };
    expect(await ring(store, 'none').keyring.pepperReport()).toEqual([
      { ...plain, accepted: true },
    ]);
    const called = ring(store, [untyped<typeof PEPPER>({ ...PEPPER, id: 'none' })]);
    const row = { scheme: 'h1.none', pepper: 'none', ...none, accepted: true };
    expect(await called.keyring.pepperReport()).toEqual([{ ...plain, accepted: false }, row]);
  });

  it('says until when keys without a pepper are taken', async () => {
    const store = memoryStore();
    await issue(ring(store, 'none').keyring);
    const { keyring, clock } = ring(store, [PEPPER], {
      insecureAcceptUnpeppered: { until: new Date(START + 1) },
    });
    const accepted = async () =>
      (await keyring.pepperReport()).map(({ scheme, accepted }) => [scheme, accepted]);
    expect(await accepted()).toEqual([
      ['s1', true],
      ['h1.p1', true],
    ]);
    clock.advance(1);
    expect(await accepted()).toEqual([
      ['s1', false],
      ['h1.p1', true],
    ]);
  });

  it.each([
    ['no list', null],
    ['no rows', [null]],
    ['a count as text', [{ scheme: 's1', live: '1', lastUsedAt: null }]],
    ['no scheme', [{ live: 1, lastUsedAt: null }]],
    ['a time as text', [{ scheme: 's1', live: 1, lastUsedAt: '2026-01-01' }]],
    ['no time at all', [{ scheme: 's1', live: 1, lastUsedAt: Number.NaN }]],
  ])('is a broken store where that answers %s', async (_what, rows) => {
    const store = { ...memoryStore(), summarize: () => untyped<SchemeSummary[]>(rows) };
    const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: [PEPPER] });
    await storeError(() => keyring.pepperReport());
  });
});
