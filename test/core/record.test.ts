import { digestKey, generateKey, type KeyRecord } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { memoize, readRecord } from '../../src/core/record.js';
import {
  AUTHORITY,
  denied,
  issue,
  OTHER,
  OWN,
  readThrough,
  returning,
  rowOf,
  START,
  setUp,
  tampering,
} from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

describe('a row that a store returned', () => {
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

  it.each(malformed)('is refused if its %s is missing or malformed', async (field, values) => {
    // Peppers 'none': no seal would catch it. `revokedAt: undefined` must not read as "not
    // revoked".
    const edits = [
      without(field),
      ...values.map((value) => (row: KeyRecord) => ({ ...row, [field]: value })),
    ];
    for (const edit of edits) {
      const { key, keyring } = await readThrough((store) => tampering(store, edit), {
        peppers: 'none',
      });
      await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    }
  });

  // After somebody had edited the database, the audit trail named none of the keys concerned.
  it('is named by its key id if it is malformed, and by no other text', async () => {
    const bad = { scopes: ['BAD'] };
    for (const edit of [bad, { ...bad, keyId: 'acme_somebody' }]) {
      const { key, keyring, info } = await readThrough(
        (store) => tampering(store, (row) => ({ ...row, ...edit })),
        { peppers: 'none' },
      );
      const error = await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
      expect(error.keyId).toBe('keyId' in edit ? undefined : info.keyId);
    }
  });

  it('is tested above in every field of a record', async () => {
    const { store, info } = await readThrough((inner) => inner);
    expect(malformed.map(([field]) => field).sort()).toEqual(
      Object.keys(await rowOf(store, info.keyId)).sort(),
    );
  });

  it.each([[[]], [{}]])('is refused if it is %j', async (row) => {
    const { key, keyring } = await readThrough((store) => returning(store, () => [row]));
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('is copied before anything relies on it', async () => {
    // A store that hands out its own object could change it after the check.
    const rows: KeyRecord[] = [];
    const keep = (row: KeyRecord) => {
      const own = { ...row, scopes: [...row.scopes], metadata: { ...row.metadata } };
      rows.push(own);
      return own;
    };
    const { key, keyring } = await readThrough((store) => tampering(store, keep));
    const principal = await keyring.verify(key);
    for (const { scopes } of rows) (scopes as string[]).push('users:delete');
    expect(principal.scopes).toEqual(['threats:read']);
  });

  it('is refused with * in its scopes, from the memory store too', async () => {
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

  it('is refused if a list has a hole', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner, peppers: 'none' }).keyring);
    const { keyring } = setUp({
      store: tampering(inner, (row) => ({ ...row, scopes: new Array<string>(1) })),
      peppers: 'none',
    });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('is read once, so that a getter cannot answer otherwise after the check', async () => {
    const inner = memoryStore();
    const { key } = await issue(setUp({ store: inner, peppers: 'none' }).keyring);
    let reads = 0;
    const edit = (row: object) =>
      Object.defineProperty({ ...row }, 'scopes', {
        enumerable: true,
        get: () => {
          reads += 1;
          return reads === 1 ? ['threats:read'] : ['*:*'];
        },
      });
    const { keyring } = setUp({ store: tampering(inner, edit), peppers: 'none' });
    expect((await keyring.verify(key).catch(() => ({ scopes: [] }))).scopes).not.toContain('*:*');
  });

  it('is refused for a malformed scope before any authority is compared', async () => {
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
});

describe('readRecord', () => {
  it('takes 256 scopes and 1,000 entities, and not one more', () => {
    const scopes = Array.from({ length: 257 }, (_, index) => `threats:a${index}`);
    const others = Array.from({ length: 1_000 }, (_, index) => {
      const digits = index.toString(16).padStart(8, '0');
      return `${digits}-0000-4000-8000-000000000000`;
    });
    const entities = [RECORD.entityUuid, ...others];
    const most = { scopes: scopes.slice(1), accessibleEntities: entities.slice(0, -1) };
    expect(readRecord({ ...RECORD, ...most })).toMatchObject(most);
    expect(readRecord({ ...RECORD, ...most, scopes })).toBeNull();
    expect(readRecord({ ...RECORD, ...most, accessibleEntities: entities })).toBeNull();
  });

  it('returns a deep-frozen copy, and the same object for such a copy', () => {
    const row = { ...RECORD, scopes: [...RECORD.scopes], metadata: { ...RECORD.metadata } };
    const record = readRecord(row);
    expect(record).toEqual(RECORD);
    expect(record).not.toBe(row);
    const parts: readonly unknown[] = [record, ...Object.values<unknown>({ ...record })];
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true);
    expect(readRecord(record)).toBe(record);
  });

  it('leaves out what is no field of a record', () => {
    expect(Object.keys(readRecord({ ...RECORD, tenant: 'x' }) ?? {})).toEqual(Object.keys(RECORD));
  });

  it.each([undefined, null, 'row', 7, {}, []])('returns null for %j', (row) => {
    expect(readRecord(row)).toBeNull();
  });
});

describe('memoize', () => {
  it('makes once for each owner', () => {
    const record = readRecord({ ...RECORD }) ?? RECORD;
    const owner = {};
    let made = 0;
    const make = (): number => {
      made += 1;
      return made;
    };
    expect([memoize(record, owner, make), memoize(record, owner, make)]).toEqual([1, 1]);
    expect(memoize(record, {}, make)).toBe(2);
  });

  it('makes again after `make` threw', () => {
    const record = readRecord({ ...RECORD }) ?? RECORD;
    const owner = {};
    const broken = () => {
      throw new RangeError('not made');
    };
    expect(() => memoize(record, owner, broken)).toThrow('not made');
    expect(memoize(record, owner, () => 'made')).toBe('made');
  });
});
