import { createKeyring, type KeyRecord, type KeyStore } from 'keyscope';
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
  OWN,
  PLAIN,
  rowOf,
  START,
  setUp,
  tampering,
} from '../support/keyring.ts';

/** A keyring, one key of it, and a second keyring that reads the same store through `through`. */
async function reader(
  through: (store: KeyStore) => KeyStore,
  options: Parameters<typeof setUp>[0] = {},
) {
  const store = memoryStore();
  const { keyring } = setUp({ ...options, store });
  const { key, info } = await issue(keyring);
  return { ...setUp({ ...options, store: through(store) }), key, info, store };
}

it('covers the names of metadata: half a surrogate pair is not U+FFFD', async () => {
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
    ['seal', (row) => row.seal?.replace(/^./, (c) => (c === '0' ? '1' : '0'))],
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

  // An encoding without lengths, or one that took null for empty, would read these as what was
  // sealed.
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
  ])('tells apart: %s', async (_what, edit) => {
    const { key, keyring } = await rich((row) => ({ ...row, ...edit(row) }));
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('does not depend on the order of metadata, which databases change', async () => {
    const { key, keyring } = await rich((row) => ({ ...row, metadata: { b: '2', a: '1' } }));
    await keyring.verify(key);
  });

  it("refuses another row's seal", async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const [mine, other] = [await issue(keyring), await issue(keyring)];
    const { seal } = await rowOf(store, other.info.keyId);
    const swapped = setUp({ store: tampering(store, (row) => ({ ...row, seal })) });
    await denied(() => swapped.keyring.verify(mine.key), 'invalid_token', 'record_tampered');
  });

  it('leaves out revocation, retirement and usage: their marks are written later', async () => {
    const marks = { retireAt: START + 1, lastUsedAt: START, scopesUsed: { 'threats:read': START } };
    const { key, keyring } = await rich((row) => ({ ...row, ...marks }));
    await keyring.verify(key);
    const cleared = await rich((row) => ({ ...row, revokedAt: START }));
    await denied(() => cleared.keyring.verify(cleared.key), 'invalid_token', 'revoked');
  });

  it('is checked on the second use too, when the store hands out another object', async () => {
    // Remembering seals by key id instead of by object would let an edit pass after the first use.
    let tamper = false;
    const { key, keyring } = await reader((store) =>
      tampering(store, (row) => (tamper ? { ...row, scopes: ['users:delete'] } : row)),
    );
    await keyring.verify(key);
    tamper = true;
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it("is null with peppers 'none', and a row with one is refused there", async () => {
    const { key, info, keyring, store } = await reader((s) => s, { peppers: 'none' });
    expect((await rowOf(store, info.keyId)).seal).toBeNull();
    await keyring.verify(key);
    const given = setUp({
      store: tampering(store, (row) => ({ ...row, seal: '0'.repeat(64) })),
      peppers: 'none',
    });
    await denied(() => given.keyring.verify(key), 'invalid_token', 'record_tampered');
  });
});
