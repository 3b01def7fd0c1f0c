import type { KeyRecord, KeyStore } from 'keyscope';
import { createKeyring, digestKey, generateKey, toResponse } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  AUTHORITY,
  catalog,
  delayed,
  denied,
  HOUR,
  issue,
  NOWHERE,
  OTHER,
  OWN,
  PEPPER,
  PEPPER_2,
  recording,
  returning,
  rowOf,
  START,
  setUp,
  stoppedClock,
  storeError,
  tampering,
  thrown,
} from '../support/keyring.ts';
import {
  failures,
  type PepperVector,
  pepperOf,
  readVectors,
  type Vector,
} from '../support/vectors.ts';

/**
 * The secret and another, so that one differs from the other in a single character of its entropy.
 */
const withCharacter = (key: string, at: number): string => {
  const other = key.charAt(at) === 'x' ? 'y' : 'x';
  return key.slice(0, at) + other + key.slice(at + 1);
};

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

afterEach(() => {
  vi.restoreAllMocks();
  vi.resetModules();
});

describe('the order of the steps', () => {
  const garbage: readonly (readonly [
    string,
    (key: string) => unknown,
    'malformed_key' | 'wrong_checksum',
  ])[] = [
    ['nothing', () => undefined, 'malformed_key'],
    ['null', () => null, 'malformed_key'],
    ['a number', () => 42, 'malformed_key'],
    ['a String object', (key) => Object(key), 'malformed_key'],
    ['a list of the key', (key) => [key], 'malformed_key'],
    [
      'an object that turns into the key',
      (key) => ({ toString: () => key, length: key.length }),
      'malformed_key',
    ],
    ['the empty text', () => '', 'malformed_key'],
    ['a megabyte', () => 'x'.repeat(1_000_000), 'malformed_key'],
    ['one character less', (key) => key.slice(0, -1), 'malformed_key'],
    ['one character more', (key) => `${key}0`, 'malformed_key'],
    ['another prefix', () => generateKey({ prefix: 'acmf' }), 'malformed_key'],
    [
      'a character outside the alphabet',
      (key) => `${key.slice(0, 10)}-${key.slice(11)}`,
      'malformed_key',
    ],
    ['a full-width digit', (key) => `${key.slice(0, 10)}\uff11${key.slice(11)}`, 'malformed_key'],
    ['an upper-case prefix', (key) => `ACME${key.slice(4)}`, 'malformed_key'],
    ['an entropy character changed', (key) => withCharacter(key, 12), 'wrong_checksum'],
    ['a checksum character changed', (key) => withCharacter(key, key.length - 1), 'wrong_checksum'],
  ];

  it.each(garbage)('refuses %s before the store is asked', async (_what, make, reason) => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store });
    const { key } = await issue(keyring);
    calls.length = 0;
    const error = await denied(() => keyring.verify(make(key)), 'invalid_token', reason);
    expect(calls).toEqual([]);
    expect(error.keyId).toBeUndefined();
  });

  it('hashes nothing for garbage, and once for a key', async () => {
    const { getBuiltinModule } = process;
    const crypto = getBuiltinModule('node:crypto');
    let hashes = 0;
    const hash = (algorithm: string, data: string, encoding: 'hex') => {
      hashes += 1;
      return crypto.hash(algorithm, data, encoding);
    };
    // The hash is chosen when the module loads, so a fresh copy of it is given one that counts.
    vi.spyOn(process, 'getBuiltinModule').mockReturnValue(untypedModule({ hash }));
    vi.resetModules();
    const fresh = await import('keyscope');
    const { memoryStore: freshStore } = await import('keyscope/stores/memory');
    const keyring = fresh.createKeyring({
      prefix: 'acme',
      catalog,
      store: freshStore(),
      peppers: 'none',
    });
    const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt: 'never' }, AUTHORITY);
    hashes = 0;
    for (const [, make] of garbage) await thrown(() => keyring.verify(make(key)));
    expect(hashes).toBe(0);
    await keyring.verify(key);
    expect(hashes).toBe(1);
  });

  it('asks the store once, with every candidate digest, whatever the outcome', async () => {
    const { store, calls } = recording(memoryStore());
    const { keyring } = setUp({ store, peppers: [PEPPER, PEPPER_2] });
    const { key } = await issue(keyring);
    calls.length = 0;
    await keyring.verify(key);
    await thrown(() => keyring.verify(generateKey({ prefix: 'acme' })));
    expect(calls).toEqual(['findByDigest', 'findByDigest']);
  });

  // From the last fault to the first: each row has all the faults below it too, and its own is the
  // one reported.
  const past = { expiresAt: START - 1 };
  const faults: readonly (readonly [string, Partial<KeyRecord>, string])[] = [
    ['expired', past, 'expired'],
    ['retired before expired', { ...past, retireAt: START }, 'retired'],
    ['revoked before both', { ...past, retireAt: START, revokedAt: START + HOUR }, 'revoked'],
  ];

  it.each(faults)('reports %s', async (_what, edit, reason) => {
    // Without a pepper there is no seal in the way of the edit.
    const { key, keyring } = await reader(
      (store) => tampering(store, (row) => ({ ...row, ...edit })),
      { peppers: 'none' },
    );
    await denied(() => keyring.verify(key), 'invalid_token', reason as 'expired');
  });

  it('reports tampering before revoked, retired and expired', async () => {
    const edit = { ...past, retireAt: START, revokedAt: START };
    const { key, info, keyring } = await reader((store) =>
      tampering(store, (row) => ({ ...row, ...edit })),
    );
    const error = await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    expect(error.keyId).toBe(info.keyId);
  });

  it("says nothing of a wrong row's state: it is unknown, and not named, although revoked", async () => {
    const edit = { digest: digestKey(generateKey({ prefix: 'acme' }), PEPPER), revokedAt: START };
    const { key, keyring } = await reader((store) =>
      tampering(store, (row) => ({ ...row, ...edit })),
    );
    const error = await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    expect(error.keyId).toBeUndefined();
  });

  it('revokes by presence: no clock is asked, so none can bring a key back', async () => {
    const store = memoryStore();
    const { keyring } = setUp({ store });
    const { key, info } = await issue(keyring);
    await keyring.revoke(info.keyId, AUTHORITY);
    await denied(
      () => setUp({ store, now: () => Number.NaN }).keyring.verify(key),
      'invalid_token',
      'revoked',
    );
    await denied(
      () => setUp({ store, now: () => 0 }).keyring.verify(key),
      'invalid_token',
      'revoked',
    );
  });
});

/** `getBuiltinModule` is overloaded by module name; here one object stands for all of them. */
const untypedModule = (module: object): ReturnType<typeof process.getBuiltinModule> =>
  module as ReturnType<typeof process.getBuiltinModule>;

describe('verify', () => {
  it.each([
    ['at once', (store: KeyStore) => store],
    ['by promise', delayed],
  ])(
    'yields the frozen principal from a store that answers %s, and writes nothing',
    async (_how, through) => {
      const { store, calls } = recording(memoryStore());
      const { keyring } = setUp({ store: through(store) });
      const { key, info } = await keyring.issue(
        {
          name: 'ci',
          scopes: ['threats:read', 'threats:write'],
          expiresAt: new Date(START + HOUR),
          accessibleEntities: [OTHER],
          metadata: { team: 'a' },
        },
        { entityUuid: OWN, entities: [OTHER] },
      );
      calls.length = 0;
      const principal = await keyring.verify(key);
      expect({ ...principal }).toEqual({
        keyId: info.keyId,
        name: 'ci',
        entityUuid: OWN,
        accessibleEntities: [OWN, OTHER],
        scopes: ['threats:read', 'threats:write'],
        metadata: { team: 'a' },
        expiresAt: START + HOUR,
        via: 'key',
      });
      expect(calls).toEqual(['findByDigest']);
    },
  );

  it('gives every refusal the same bytes: status, headers and body', async () => {
    const { keyring, clock } = setUp();
    const authority = AUTHORITY;
    const soon = await keyring.issue(
      { name: 'n', scopes: [], expiresAt: new Date(START + 1) },
      authority,
    );
    const [revoked, retired] = [await issue(keyring), await issue(keyring)];
    await keyring.revoke(revoked.info.keyId, authority);
    await keyring.rotate(retired.info.keyId, { overlapMs: 0 }, authority);
    const tampered = await reader((store) =>
      tampering(store, (row) => ({ ...row, name: 'other' })),
    );
    clock.advance(1);
    const unknown = generateKey({ prefix: 'acme' });
    const errors = [
      await denied(() => keyring.verify(undefined), 'invalid_token', 'malformed_key'),
      await denied(
        () => keyring.verify(withCharacter(unknown, 8)),
        'invalid_token',
        'wrong_checksum',
      ),
      await denied(() => keyring.verify(unknown), 'invalid_token', 'unknown_key'),
      await denied(() => tampered.keyring.verify(tampered.key), 'invalid_token', 'record_tampered'),
      await denied(() => keyring.verify(revoked.key), 'invalid_token', 'revoked'),
      await denied(() => keyring.verify(retired.key), 'invalid_token', 'retired'),
      await denied(() => keyring.verify(soon.key), 'invalid_token', 'expired'),
    ];
    const answers = new Set(
      errors.map((error) => JSON.stringify(toResponse(error, { realm: 'acme' }))),
    );
    expect([...answers]).toHaveLength(1);
    expect([...answers][0]).toContain('"status":401');
    // What inspecting an error's enumerable side shows is the same, too: a serializer would be an
    // oracle.
    expect(
      new Set(errors.map((error) => JSON.stringify({ ...error, text: error.message }))).size,
    ).toBe(1);
  });

  it('does not take a digest for a key', async () => {
    const { keyring, store } = setUp();
    const { info } = await issue(keyring);
    const { digest, seal } = await rowOf(store, info.keyId);
    for (const stolen of [digest, seal, digest.slice(6), `acme_${digest.slice(6, 38)}`])
      await thrown(() => keyring.verify(stolen));
  });

  it('refuses a clock that answers no time, as broken infrastructure', async () => {
    for (const time of [
      Number.NaN,
      Number.POSITIVE_INFINITY,
      -9e15,
      undefined,
      '1700000000000',
      10n,
    ]) {
      const { key, keyring } = await reader((store) => store);
      await keyring.verify(key);
      const odd = await reader((store) => store);
      const broken = setUp({ store: odd.store, now: () => time as number });
      await storeError(() => broken.keyring.verify(odd.key));
    }
  });

  it('checks the life cycle on each use, although the record object is the same one', async () => {
    // Remembering the answer beside the seal would let a key live on past its deadline.
    const { keyring, clock } = setUp();
    const expiresAt = new Date(START + HOUR);
    const { key } = await keyring.issue({ name: 'n', scopes: [], expiresAt }, AUTHORITY);
    await keyring.verify(key);
    clock.set(START + HOUR);
    await denied(() => keyring.verify(key), 'invalid_token', 'expired');
  });
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

type Stored = Vector & {
  readonly key: string;
  readonly pepper: PepperVector | null;
  readonly record: KeyRecord;
};

describe('a record that was stored long ago', () => {
  const { tests } = readVectors<{ tests: readonly Stored[] }>('records');
  const now = () => Date.parse('2026-06-01');

  // The seal is checked by what wrote it: a change of its encoding would show nowhere else, and end
  // every key in use.
  it('verifies for as long as keyscope exists', async () => {
    const failed = await failures(tests, async ({ key, pepper, record }) => {
      const prefix = key.slice(0, -33);
      const store = memoryStore();
      await store.insert(record);
      const peppers = pepper === null ? 'none' : [pepperOf(pepper)];
      const principal = await createKeyring({ prefix, catalog, store, peppers, now }).verify(key);
      expect(principal).toMatchObject({ keyId: record.keyId, scopes: record.scopes });
      expect(principal.accessibleEntities).toEqual(record.accessibleEntities);
    });
    expect(failed).toEqual([]);
    expect(tests.length).toBeGreaterThan(15);
  });
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

describe('peppers', () => {
  it('digests new keys under the first and verifies under each', async () => {
    const store = memoryStore();
    const before = setUp({ store, peppers: [PEPPER] });
    const old = await issue(before.keyring);
    const after = setUp({ store, peppers: [PEPPER_2, PEPPER] });
    const fresh = await issue(after.keyring);
    expect((await rowOf(store, old.info.keyId)).digest).toBe(digestKey(old.key, PEPPER));
    expect((await rowOf(store, fresh.info.keyId)).digest).toBe(digestKey(fresh.key, PEPPER_2));
    expect((await after.keyring.verify(old.key)).keyId).toBe(old.info.keyId);
    expect((await after.keyring.verify(fresh.key)).keyId).toBe(fresh.info.keyId);
    // Taking a pepper out ends the keys made under it.
    const only = setUp({ store, peppers: [PEPPER_2] });
    await denied(() => only.keyring.verify(old.key), 'invalid_token', 'unknown_key');
    await only.keyring.verify(fresh.key);
  });

  it('depends on the secret, not on the id alone', async () => {
    const { key, store } = await reader((s) => s);
    const other = setUp({ store, peppers: [{ id: PEPPER.id, secret: PEPPER_2.secret }] });
    await denied(() => other.keyring.verify(key), 'invalid_token', 'unknown_key');
  });

  it('takes text and its UTF-8 bytes for the same secret, and copies the bytes', async () => {
    const secret = new TextEncoder().encode(PEPPER.secret);
    const { key, store } = await reader((s) => s, { peppers: [{ id: PEPPER.id, secret }] });
    const late = setUp({ store, peppers: [{ id: PEPPER.id, secret }] });
    secret.fill(0);
    await late.keyring.verify(key);
    await setUp({ store, peppers: [PEPPER] }).keyring.verify(key);
  });

  describe('insecureAcceptUnpeppered', () => {
    const until = START + HOUR;

    async function gained() {
      const { key, info, store } = await reader((s) => s, { peppers: 'none' });
      const clock = stoppedClock();
      // What its methods say was believed, and a Date whose getTime says otherwise had no end.
      const insecureAcceptUnpeppered = {
        until: Object.assign(new Date(until), { getTime: () => Infinity }),
      };
      const { keyring } = setUp({
        store,
        now: clock.now,
        peppers: [PEPPER],
        insecureAcceptUnpeppered,
      });
      return { key, info, store, clock, keyring };
    }

    it.each([
      [until - 1, true],
      [until, false],
      [until + 1, false],
    ])('at %i takes unpeppered keys: %s', async (time, taken) => {
      const { key, keyring, clock } = await gained();
      clock.set(time);
      if (taken) await keyring.verify(key);
      else await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    });

    it('ends for a key that was in use before', async () => {
      const { key, keyring, clock } = await gained();
      await keyring.verify(key);
      clock.set(until);
      await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    });

    it('is never the default', async () => {
      const { key, store } = await gained();
      await denied(() => setUp({ store }).keyring.verify(key), 'invalid_token', 'unknown_key');
    });

    it('lets an unpeppered key be rotated into a peppered one before, not after', async () => {
      const { info, store, keyring, clock } = await gained();
      const next = await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
      expect((await rowOf(store, next.info.keyId)).digest).toBe(digestKey(next.key, PEPPER));
      expect((await rowOf(store, next.info.keyId)).seal).toMatch(/^[0-9a-f]{64}$/);
      const late = await gained();
      late.clock.set(until);
      await denied(
        () => late.keyring.rotate(late.info.keyId, { overlapMs: 0 }, AUTHORITY),
        'invalid_token',
        'unknown_key',
      );
      clock.set(until);
      await keyring.verify(next.key);
    });

    it('asks the clock before it digests: a broken one is no reason to take them', async () => {
      const { key, store } = await gained();
      const insecureAcceptUnpeppered = { until: new Date(until) };
      const now = () => Number.NaN;
      await storeError(() => setUp({ store, now, insecureAcceptUnpeppered }).keyring.verify(key));
    });
  });
});

describe('two keyrings', () => {
  it('of other prefixes do not take each other’s keys, on one store', async () => {
    const { key, store, clock } = await reader((s) => s);
    const other = createKeyring({
      prefix: 'acme_eu',
      catalog,
      store,
      peppers: [PEPPER],
      now: clock.now,
    });
    await denied(() => other.verify(key), 'invalid_token', 'malformed_key');
  });
});
