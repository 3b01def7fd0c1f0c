import type { KeyRecord } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { sealedText } from '../../src/core/seal.js';
import {
  AUTHORITY,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PLAIN,
  readThrough,
  rowOf,
  START,
  setUp,
  tampering,
} from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

describe('the seal', () => {
  const sealed: readonly (readonly [keyof KeyRecord, (row: KeyRecord) => unknown])[] = [
    ['keyId', () => NOWHERE],
    ['name', (row) => `${row.name}x`],
    ['entityUuid', () => OTHER],
    ['accessibleEntities', (row) => [...row.accessibleEntities, NOWHERE]],
    ['scopes', (row) => [...row.scopes, 'users:delete']],
    ['justification', () => 'because'],
    ['metadata', () => ({ role: 'admin' })],
    ['createdAt', (row) => row.createdAt + 1],
    ['expiresAt', () => null],
    ['rotatedFrom', () => NOWHERE],
    ['seal', (row) => row.seal?.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))],
  ];

  async function rich(edit: (row: KeyRecord) => object) {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const { key, info } = await keyring.issue(
      {
        name: 'ci',
        scopes: ['threats:read', 'threats:write'],
        expiresAt: new Date(START + HOUR),
        accessibleEntities: [OTHER],
        metadata: { a: '1', b: '2' },
      },
      { entityUuid: OWN, entities: [OTHER] },
    );
    return { key, info, ...setUp({ store: tampering(store, edit) }) };
  }

  it.each(sealed)('covers %s', async (field, edit) => {
    const { key, info, keyring } = await rich((row) => ({ ...row, [field]: edit(row) }));
    const error = await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    expect(error.keyId).toBe(field === 'keyId' ? NOWHERE : info.keyId);
  });

  // An encoding without lengths, or one to which null and empty are the same, would read these as
  // what was sealed.
  it.each([
    ['no seal', () => ({ seal: null })],
    ['an empty seal', () => ({ seal: '' })],
    ['one scope joined of two', (row: KeyRecord) => ({ scopes: [...row.scopes].reverse() })],
    ['a scope dropped', (row: KeyRecord) => ({ scopes: row.scopes.slice(1) })],
    ['no scopes', () => ({ scopes: [] })],
    ['an empty justification', () => ({ justification: '' })],
    ['an expiry that moved', (row: KeyRecord) => ({ expiresAt: (row.expiresAt ?? 0) + 1 })],
    ['metadata moved between key and value', () => ({ metadata: { a1: '', b: '2' } })],
    ['metadata merged', () => ({ metadata: { a: '1b2' } })],
    ['the name moved into metadata', () => ({ name: 'c', metadata: { a: '1', b: '2', i: '' } })],
    [
      'entities reordered',
      (row: KeyRecord) => ({ accessibleEntities: [...row.accessibleEntities].reverse() }),
    ],
    ['an entity dropped', () => ({ accessibleEntities: [OWN] })],
  ])('refuses a row with %s', async (_what, edit) => {
    const { key, keyring } = await rich((row) => ({ ...row, ...edit(row) }));
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('tells half a surrogate pair in a name of metadata from U+FFFD', async () => {
    const store = memoryStore();
    const { key } = await setUp({ store }).keyring.issue(
      { ...PLAIN, metadata: { '\ufffd': 'a' } },
      AUTHORITY,
    );
    const edited = tampering(store, (row) => ({ ...row, metadata: { '\ud800': 'a' } }));
    await denied(
      () => setUp({ store: edited }).keyring.verify(key),
      'invalid_token',
      'record_tampered',
    );
  });

  it('does not depend on the order of metadata, which databases change', async () => {
    const { key, keyring } = await rich((row) => ({ ...row, metadata: { b: '2', a: '1' } }));
    await keyring.verify(key);
  });

  it('refuses the seal of another row', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const mine = await issue(keyring);
    const other = await issue(keyring);
    const { seal } = await rowOf(store, other.info.keyId);
    const swapped = setUp({ store: tampering(store, (row) => ({ ...row, seal })) });
    await denied(() => swapped.keyring.verify(mine.key), 'invalid_token', 'record_tampered');
  });

  it('leaves out revocation, retirement and usage, which are written later', async () => {
    const marks = { retireAt: START + 1, lastUsedAt: START, scopesUsed: { 'threats:read': START } };
    const { key, keyring } = await rich((row) => ({ ...row, ...marks }));
    await keyring.verify(key);
    const cleared = await rich((row) => ({ ...row, revokedAt: START }));
    await denied(() => cleared.keyring.verify(cleared.key), 'invalid_token', 'revoked');
  });

  it('is checked again if the store hands out another object', async () => {
    // Remembering seals by key id instead of by object would let an edit pass after the first use.
    let tamper = false;
    const { key, keyring } = await readThrough((store) =>
      tampering(store, (row) => (tamper ? { ...row, scopes: ['users:delete'] } : row)),
    );
    await keyring.verify(key);
    tamper = true;
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('is null without peppers, and a row with one is refused there', async () => {
    const { key, info, keyring, store } = await readThrough((inner) => inner, { peppers: 'none' });
    expect((await rowOf(store, info.keyId)).seal).toBeNull();
    await keyring.verify(key);
    const given = setUp({
      store: tampering(store, (row) => ({ ...row, seal: '0'.repeat(64) })),
      peppers: 'none',
    });
    await denied(() => given.keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  // Null means that there was no pepper to seal with; an empty text is a seal that is wrong.
  it('refuses an empty text as the seal of a row without a pepper', async () => {
    const inner = await readThrough((store) => store, { peppers: 'none' });
    const edited = tampering(inner.store, (row) => ({ ...row, seal: '' }));
    const { keyring } = setUp({ store: edited, peppers: 'none' });
    await denied(() => keyring.verify(inner.key), 'invalid_token', 'record_tampered');
  });
});

describe('sealedText', () => {
  it('encodes each field with its type and length, in a fixed order', () => {
    expect(sealedText(RECORD)).toBe(
      [
        'l12:s18:keyscope record v1',
        `s36:${RECORD.keyId}`,
        's5:ci 🦊',
        `s67:${RECORD.digest}`,
        `s36:${RECORD.entityUuid}`,
        `l1:s36:${RECORD.entityUuid}`,
        'l1:s12:threats:read',
        's0:',
        'l1:l2:s1:as3:é🦊',
        'i1;',
        'n',
        'n',
      ].join(''),
    );
  });

  it('differs for null, an empty text and an empty list', () => {
    const texts = [null, ''].map((justification) => sealedText({ ...RECORD, justification }));
    texts.push(sealedText({ ...RECORD, scopes: [] }), sealedText({ ...RECORD, scopes: [''] }));
    expect(new Set(texts).size).toBe(4);
  });
});
