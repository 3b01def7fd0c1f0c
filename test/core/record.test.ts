import { digestKey, generateKey, type KeyRecord, type KeyStore } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  denied,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  returning,
  rowOf,
  START,
  setUp,
  storeError,
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

it('refuses a row with * in its scopes, from the memory store too', async () => {
  const store = memoryStore();
  const { keyring } = setUp({ store, peppers: 'none' });
  const { info } = await issue(keyring);
  const key = generateKey({ prefix: 'acme' });
  await store.insert({
    ...(await rowOf(store, info.keyId)),
    keyId: OTHER,
    digest: digestKey(key),
    scopes: ['*:*'],
  });
  await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
});

it('refuses a row whose list has a hole', async () => {
  const inner = memoryStore();
  const { key } = await issue(setUp({ store: inner, peppers: 'none' }).keyring);
  const { keyring } = setUp({
    store: tampering(inner, (row) => ({ ...row, scopes: new Array(1) })),
    peppers: 'none',
  });
  await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
});

it('reads a row once: a getter cannot answer otherwise after the check', async () => {
  const inner = memoryStore();
  const { key } = await issue(setUp({ store: inner, peppers: 'none' }).keyring);
  let reads = 0;
  const edit = (row: object) =>
    Object.defineProperty({ ...row }, 'scopes', {
      enumerable: true,
      get: () => (reads++ < 1 ? ['threats:read'] : ['*:*']),
    });
  const { keyring } = setUp({ store: tampering(inner, edit), peppers: 'none' });
  expect((await keyring.verify(key).catch(() => ({ scopes: [] }))).scopes).not.toContain('*:*');
});

it('refuses a row with a malformed scope before any authority is asked', async () => {
  const store = memoryStore();
  const { keyring } = setUp({ store, peppers: 'none' });
  const row = await rowOf(store, (await issue(keyring)).info.keyId);
  const digest = digestKey(generateKey({ prefix: 'acme' }));
  await store.insert({ ...row, keyId: OTHER, digest, scopes: ['threats:read:zzz', 'foo'] });
  const authority = { ...AUTHORITY, scopes: ['*:read', '*:undefined', 'fo:*'] };
  await denied(
    () => keyring.rotate(OTHER, { overlapMs: 0 }, authority),
    'invalid_token',
    'record_tampered',
  );
});

describe('what a store returned', () => {
  it('refuses the row of another key', async () => {
    // Without the comparison, a store with a case-insensitive collation would let another key in.
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const [mine, other] = [await issue(keyring), await issue(keyring)];
    const row = await rowOf(store, other.info.keyId);
    for (const rows of [[row], [{ ...row }], [{ ...row, digest: row.digest.toUpperCase() }]]) {
      const wrong = setUp({ store: returning(store, () => rows) });
      await denied(() => wrong.keyring.verify(mine.key), 'invalid_token', 'unknown_key');
    }
  });

  // It let the key in, and never looked at the row that has no business there.
  it('takes a store that answers with a row more for broken, whichever row comes first', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const [mine, other] = [await issue(keyring), await issue(keyring)];
    const [own, foreign] = [
      await rowOf(store, mine.info.keyId),
      await rowOf(store, other.info.keyId),
    ];
    for (const rows of [
      [own, foreign],
      [foreign, own],
      [own, own],
      [own, {}],
      [foreign, foreign],
    ]) {
      const wrong = setUp({ store: returning(store, () => rows) });
      await storeError(() => wrong.keyring.verify(mine.key));
    }
  });

  it.each([
    ['at the end', (d: string) => `${d.slice(0, -1)}${d.endsWith('0') ? '1' : '0'}`],
    ['in the first digit', (d: string) => d.replace(/\$./, (m) => (m === '$0' ? '$1' : '$0'))],
    ['by a character less', (d: string) => d.slice(0, -1)],
    ['by a space more', (d: string) => `${d} `],
    ['in the pepper id', (d: string) => d.replace('p1', 'p2')],
  ])('refuses a digest that differs %s', async (_where, edit) => {
    const through = (store: KeyStore) =>
      tampering(store, (row) => ({ ...row, digest: edit(row.digest) }));
    const { key, keyring } = await reader(through);
    await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
  });

  it('takes two matches for a broken store', async () => {
    const twice = (rows: readonly KeyRecord[]) =>
      rows.flatMap((row) => [row, { ...row, keyId: NOWHERE }]);
    const { key, keyring } = await reader((store) => returning(store, twice));
    await storeError(() => keyring.verify(key));
    const same = await reader((store) => returning(store, (rows) => [...rows, ...rows]));
    await storeError(() => same.keyring.verify(same.key));
  });

  it('takes an answer that is no list for a broken store', async () => {
    for (const answer of [undefined, null, {}, 'row', 0, new Set()]) {
      const { key, keyring } = await reader((store) => returning(store, () => answer));
      await storeError(() => keyring.verify(key));
    }
  });

  const without = (field: string) => (row: KeyRecord) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== field));
  const text = 'not what belongs here';
  const malformed: readonly (readonly [keyof KeyRecord, readonly unknown[]])[] = [
    ['keyId', [null, 7, text, OWN.toUpperCase()]],
    ['name', [null, 7, '\ud800']],
    ['digest', [null, 7]],
    ['seal', [7, {}]],
    ['entityUuid', [text, null, OWN.toUpperCase()]],
    [
      'accessibleEntities',
      [
        null,
        {},
        [text],
        [OWN, text],
        [OWN, OTHER.toUpperCase()],
        [null],
        [OWN, null],
        JSON.stringify([OWN]),
        [],
        [OTHER],
      ],
    ],
    [
      'scopes',
      [
        null,
        'threats:read',
        ['threats:*'],
        ['*:*'],
        [7],
        [null],
        ['X'],
        [''],
        ['a:b:c'],
        ['a\nb:c'],
      ],
    ],
    ['justification', [7, {}]],
    ['metadata', [null, [], '{}', { a: 1 }, { a: null }]],
    ['createdAt', [null, String(START), 1.5, Number.NaN, new Date(START), BigInt(START)]],
    [
      'expiresAt',
      [undefined, String(START), 1.5, Number.NaN, new Date(START), BigInt(START), false],
    ],
    ['revokedAt', [undefined, '', 1.5, Number.NaN, new Date(START), false]],
    ['retireAt', [undefined, '', 1.5, Number.NaN, new Date(START), false]],
    ['rotatedFrom', [undefined, 7, text]],
    ['lastUsedAt', [undefined, '', 1.5]],
    ['scopesUsed', [null, [], { 'threats:read': 'yesterday' }]],
  ];

  it.each(malformed)('refuses a row whose %s is missing or malformed', async (field, values) => {
    // Peppers 'none': no seal would catch it. `revokedAt: undefined` must not read as "not
    // revoked".
    const edits = [
      without(field),
      ...values.map((value) => (row: KeyRecord) => ({ ...row, [field]: value })),
    ];
    for (const edit of edits) {
      const { key, keyring } = await reader((store) => tampering(store, edit), { peppers: 'none' });
      await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    }
  });

  // Where somebody had edited the database, the audit trail said of no key that it was that one.
  it('names the key of a malformed row, and nothing that stands there instead of a key id', async () => {
    const bad = { scopes: ['BAD'] };
    for (const edit of [bad, { ...bad, keyId: 'acme_somebody' }]) {
      const { key, keyring, info } = await reader(
        (store) => tampering(store, (row) => ({ ...row, ...edit })),
        { peppers: 'none' },
      );
      const error = await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
      expect(error.keyId).toBe('keyId' in edit ? undefined : info.keyId);
    }
  });

  it('has a case for every field of a record', async () => {
    const { store, info } = await reader((s) => s);
    expect(malformed.map(([field]) => field).sort()).toEqual(
      Object.keys(await rowOf(store, info.keyId)).sort(),
    );
  });

  it.each([[[]], [{}]])('refuses %j for a row', async (row) => {
    const { key, keyring } = await reader((store) => returning(store, () => [row]));
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it.each([null, undefined, 'row', 7])(
    'takes a store that lists %j for broken, not for tampered with',
    async (row) => {
      const { key, keyring } = await reader((store) => returning(store, () => [row]));
      await storeError(() => keyring.verify(key));
    },
  );

  it('copies a row before it relies on it', async () => {
    // A store that hands out its own object could change it after the check.
    const rows: KeyRecord[] = [];
    const keep = (row: KeyRecord) => {
      const own = { ...row, scopes: [...row.scopes], metadata: { ...row.metadata } };
      rows.push(own);
      return own;
    };
    const { key, keyring } = await reader((store) => tampering(store, keep));
    const principal = await keyring.verify(key);
    for (const { scopes } of rows) (scopes as string[]).push('users:delete');
    expect(principal.scopes).toEqual(['threats:read']);
  });
});
