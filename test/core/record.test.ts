import { digestKey, generateKey, type KeyRecord } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  addressableBy,
  FrozenRecord,
  isLaterFormat,
  isUnended,
  readRecord,
  withUsage,
} from '../../src/core/record.js';
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
  THIRD,
  tampering,
} from '../support/keyring.ts';
import { RECORD } from '../support/records.ts';

describe('a row from a store', () => {
  const without = (field: string) => (row: KeyRecord) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name !== field));
  const text = 'not what belongs here';
  const noText = [null, 7, {}, '\ud800'];
  const noTextOrNull = [undefined, 7, {}, false, 'half a pair \udc00'];
  // Text, fractions, things that only look like numbers, and times beyond the range of a Date.
  const noTime = [String(START), 1.5, Number.NaN, new Date(START), BigInt(START), 8.64e15 + 1];
  const noTimeOrNull = [undefined, '', false, -8.64e15 - 1, Number.POSITIVE_INFINITY, ...noTime];
  const noEntities = [null, {}, [text], [OWN, text], [null], [OWN, null], JSON.stringify([OWN])];
  const noScopes = [null, 'threats:read', ['threats:*'], ['*:*'], [7], [null], ['X'], ['']];
  const noTable = [null, [], '{}', 7];

  const malformed: readonly (readonly [keyof KeyRecord, readonly unknown[]])[] = [
    ['format', [null, 0, -1, 1.5, '1', '2', 1n, Number.NaN, Number.POSITIVE_INFINITY]],
    ['keyId', [null, 7, text, OWN.toUpperCase()]],
    ['prefix', noText],
    ['hint', noText],
    ['name', noText],
    // The digest of the key: a row with another digest, or without one, is not its row.
    ['digest', [null, 7]],
    ['entityId', [text, null, '..', '']],
    ['accessibleEntities', [...noEntities, [OWN, '..'], [OWN, 'a b'], [], [OTHER]]],
    ['scopes', [...noScopes, ['a:b:c'], ['a\nb:c']]],
    ['justification', noTextOrNull],
    ['metadata', [...noTable, { a: 1 }, { a: null }, { a: '\ud800' }, { '\ud800': 'a' }]],
    ['createdAt', [null, ...noTime]],
    ['createdBy', noTextOrNull],
    ['expiresAt', noTimeOrNull],
    ['rotatedFrom', [undefined, 7, text, '']],
    ['rootKeyId', [null, 7, text, OWN.toUpperCase()]],
    ['issuedUnder', [undefined, 7, text, '']],
    ['trust', [...noTextOrNull, '', '[]', '"ci"', '{', 'null']],
    ['seal', [undefined, 7, {}]],
    ['revokedAt', noTimeOrNull],
    ['suspendedAt', noTimeOrNull],
    ['retireAt', noTimeOrNull],
    // Entities withdraw from the keys of others. With its own entity in the list, a key would
    // address none.
    ['withdrawn', [...noEntities, [OWN], [OTHER, OWN]]],
    ['endedBy', noTextOrNull],
    ['endReason', noTextOrNull],
    ['changedAt', noTimeOrNull],
    ['lastUsedAt', noTimeOrNull],
    ['scopesUsed', [...noTable, { 'threats:read': 'yesterday' }, { 'threats:read': 8.64e15 + 1 }]],
  ];

  it.each(malformed)('is refused if its %s is missing or malformed', async (field, values) => {
    // Peppers 'none', so no seal would detect it. `revokedAt: undefined` must not mean "not
    // revoked".
    const reason = field === 'digest' ? 'unknown_key' : 'record_tampered';
    const edits = [
      without(field),
      ...values.map((value) => (row: KeyRecord) => ({ ...row, [field]: value })),
    ];
    for (const edit of edits) {
      const { key, keyring } = await readThrough((store) => tampering(store, edit), {
        peppers: 'none',
      });
      await denied(() => keyring.verify(key), 'invalid_token', reason);
    }
    for (const value of values) expect(readRecord({ ...RECORD, [field]: value })).toBeNull();
  });

  // After the database was edited, the audit trail named none of the affected keys.
  it('is identified by its key id if it is malformed, and by no other text', async () => {
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
    const fields = malformed.map(([field]) => field);
    expect(fields).toEqual(Object.keys(await rowOf(store, info.keyId)));
    expect(fields).toEqual(Object.keys(RECORD));
  });

  it('belongs to a later release if its format is a greater number', async () => {
    for (const format of [2, 3, Number.MAX_SAFE_INTEGER]) {
      // The rest of the row is ignored, because this release cannot know its meaning.
      const edit = (row: KeyRecord) => ({ ...row, format, scopes: undefined, revokedAt: START });
      const { key, info, keyring } = await readThrough((store) => tampering(store, edit), {
        peppers: 'none',
      });
      const error = await denied(() => keyring.verify(key), 'invalid_token', 'unknown_format');
      expect(error.keyId).toBe(info.keyId);
    }
  });

  it.each([[[]], [{}], [{ digest: 7 }], [{ digest: ['s1$'] }]])(
    'is not the row of the key if it is %j',
    async (row) => {
      const { key, keyring } = await readThrough((store) => returning(store, () => [row]));
      await denied(() => keyring.verify(key), 'invalid_token', 'unknown_key');
    },
  );

  it('is refused if it has only its digest', async () => {
    const digestOf = ({ digest }: KeyRecord) => ({ digest });
    const { key, keyring } = await readThrough((store) => tampering(store, digestOf));
    const error = await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
    expect(error.keyId).toBeUndefined();
  });

  it('is copied before anything uses it', async () => {
    // A store that returns its own object could change it after the check.
    const rows: KeyRecord[] = [];
    const keep = (row: KeyRecord) => {
      const own = {
        ...row,
        scopes: [...row.scopes],
        metadata: { ...row.metadata },
        withdrawn: [...row.withdrawn],
      };
      rows.push(own);
      return own;
    };
    const { key, keyring, info } = await readThrough((store) => tampering(store, keep));
    const principal = await keyring.verify(key);
    const shown = await keyring.get(info.keyId, AUTHORITY);
    expect(rows).toHaveLength(2);
    for (const { scopes, withdrawn } of rows) {
      (scopes as string[]).push('users:delete');
      (withdrawn as string[]).push(OTHER);
    }
    expect(principal.scopes).toEqual(['threats:read']);
    expect(shown).toMatchObject({ scopes: ['threats:read'], withdrawn: [] });
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

  it.each([
    ['scopes', new Array<string>(1)],
    ['accessibleEntities', Object.assign(new Array<string>(2), { 1: OWN })],
    ['withdrawn', new Array<string>(1)],
  ])('is refused if there is a hole in its %s', async (field, holed) => {
    const edit = (row: KeyRecord) => ({ ...row, [field]: holed });
    const { key, keyring } = await readThrough((store) => tampering(store, edit), {
      peppers: 'none',
    });
    await denied(() => keyring.verify(key), 'invalid_token', 'record_tampered');
  });

  it('is read once, so that a getter cannot change its answer after the check', async () => {
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
    const scopes = ['threats:read:zzz', 'foo'];
    await store.insert({ ...row, keyId: OTHER, rootKeyId: OTHER, digest, scopes });
    const authority = { ...AUTHORITY, scopes: ['*:read', '*:undefined', 'fo:*'] };
    await denied(
      () => keyring.rotate(OTHER, { overlapMs: 0 }, authority),
      'conflict',
      'record_tampered',
    );
  });
});

describe('readRecord', () => {
  it('accepts 256 scopes and 1,000 entities, and no more', () => {
    const scopes = Array.from({ length: 257 }, (_, index) => `threats:a${index}`);
    const others = Array.from({ length: 1_001 }, (_, index) => {
      const digits = index.toString(16).padStart(8, '0');
      return `${digits}-0000-4000-8000-000000000000`;
    });
    const entities = [RECORD.entityId, ...others.slice(0, 1_000)];
    const most = {
      scopes: scopes.slice(1),
      accessibleEntities: entities.slice(0, -1),
      withdrawn: others.slice(1),
    };
    expect(readRecord({ ...RECORD, ...most })).toMatchObject(most);
    expect(readRecord({ ...RECORD, ...most, scopes })).toBeNull();
    expect(readRecord({ ...RECORD, ...most, accessibleEntities: entities })).toBeNull();
    expect(readRecord({ ...RECORD, ...most, withdrawn: others })).toBeNull();
  });

  const times = [
    'createdAt',
    'expiresAt',
    'revokedAt',
    'suspendedAt',
    'retireAt',
    'changedAt',
    'lastUsedAt',
  ] as const satisfies readonly (keyof KeyRecord)[];

  it.each(times)('accepts only times within the range of a Date as %s', (field) => {
    for (const time of [-8.64e15, -1, 0, 8.64e15]) {
      expect(readRecord({ ...RECORD, [field]: time })).toMatchObject({ [field]: time });
    }
    for (const time of [-8.64e15 - 1, -0.5, 0.5, 8.64e15 + 1, Number.MAX_SAFE_INTEGER])
      expect(readRecord({ ...RECORD, [field]: time }), String(time)).toBeNull();
  });

  it('accepts the same times for the use of a scope', () => {
    const used = (time: number) => ({ ...RECORD, scopesUsed: { 'threats:read': time } });
    for (const time of [-8.64e15, 8.64e15]) expect(readRecord(used(time))).toEqual(used(time));
    for (const time of [-8.64e15 - 1, 8.64e15 + 1, 0.5])
      expect(readRecord(used(time)), String(time)).toBeNull();
  });

  it('returns a deep-frozen copy, and the same object for such a copy', () => {
    const lists = {
      accessibleEntities: [...RECORD.accessibleEntities, OTHER],
      scopes: [...RECORD.scopes],
      withdrawn: [OTHER],
    };
    const tables = { metadata: { ...RECORD.metadata }, scopesUsed: { 'threats:read': 1 } };
    const row = { ...RECORD, ...lists, ...tables };
    const record = readRecord(row);
    expect(record).toEqual(row);
    expect(record).not.toBe(row);
    const parts: readonly unknown[] = [record, ...Object.values<unknown>({ ...record })];
    expect(parts.every((part) => Object.isFrozen(part))).toBe(true);
    expect(readRecord(record)).toBe(record);
    for (const [name, part] of Object.entries<object>({ ...lists, ...tables })) {
      expect(Object.isFrozen(part), name).toBe(false);
      expect(record?.[name as 'scopes']).not.toBe(part);
    }
  });

  it('keeps names of a table that could reach a prototype', () => {
    const metadata = JSON.parse('{"__proto__":"a","constructor":"b"}') as Record<string, string>;
    const read = readRecord({ ...RECORD, metadata });
    expect(JSON.stringify(read?.metadata)).toBe('{"__proto__":"a","constructor":"b"}');
    expect(Object.getPrototypeOf(read?.metadata)).toBe(Object.prototype);
  });

  it('leaves out unknown fields', () => {
    expect(Object.keys(readRecord({ ...RECORD, tenant: 'x' }) ?? {})).toEqual(Object.keys(RECORD));
  });

  it.each([undefined, null, 'row', 7, {}, []])('returns null for %j', (row) => {
    expect(readRecord(row)).toBeNull();
  });
});

describe('isLaterFormat', () => {
  it('returns true only for whole numbers beyond the format of this release', () => {
    for (const format of [2, 3, 100, Number.MAX_SAFE_INTEGER])
      expect(isLaterFormat({ ...RECORD, format }), String(format)).toBe(true);
    for (const format of [
      undefined,
      null,
      1,
      0,
      -2,
      1.5,
      2.5,
      '2',
      2n,
      true,
      [2],
      2 ** 53,
      Number.NaN,
    ])
      expect(isLaterFormat({ ...RECORD, format }), String(format)).toBe(false);
    expect(isLaterFormat({})).toBe(false);
  });
});

describe('isUnended', () => {
  const live = { revokedAt: null, retireAt: null, expiresAt: null };

  it.each([
    ['a key without an end', {}, true],
    ['a revoked key', { revokedAt: START + 1 }, false],
    ['a deadline that is ahead', { retireAt: START + 1, expiresAt: START + 1 }, true],
    ['the end of an overlap', { retireAt: START, expiresAt: START + 1 }, false],
    ['the end of a life', { retireAt: START + 1, expiresAt: START }, false],
    ['an overlap that ended, without an expiry', { retireAt: START - 1 }, false],
    ['a row without fields', { revokedAt: undefined, retireAt: undefined }, false],
    ['a row with an odd deadline', { expiresAt: 'soon' as unknown as number }, false],
  ])('judges %s', (_what, ends, unended) => {
    expect(isUnended({ ...live, ...(ends as object) }, START)).toBe(unended);
  });
});

describe('addressableBy', () => {
  const made = [OWN, OTHER, THIRD];
  const having = (withdrawn: readonly string[]) =>
    addressableBy({ ...RECORD, accessibleEntities: made, withdrawn });

  it('returns the entities of a key, less those that withdrew', () => {
    expect(having([OTHER])).toEqual([OWN, THIRD]);
    expect(having([THIRD, OTHER])).toEqual([OWN]);
    // In an edited row, from a key that is not made for this entity.
    expect(having([THIRD, '0f0f0f0f-0000-4000-8000-00000000000f'])).toEqual([OWN, OTHER]);
    expect(Object.isFrozen(having([OTHER]))).toBe(true);
  });

  it('returns the list itself if nobody withdrew, to save memory', () => {
    expect(having([])).toBe(made);
  });
});

describe('a copy with another usage', () => {
  const frozen = () => readRecord({ ...RECORD }) as KeyRecord;
  const USED = { lastUsedAt: 7, scopesUsed: { 'threats:read': 7 } };

  it('differs only in usage, and keeps what was remembered for the record', () => {
    const record = frozen();
    FrozenRecord.remember(record, 'made');
    const used = withUsage(record, USED) as KeyRecord;
    expect(used).toEqual({ ...record, ...USED });
    expect(FrozenRecord.recall(used)).toBe('made');
    expect(record.lastUsedAt).toBe(RECORD.lastUsedAt);
  });

  it('is null if the usage is malformed', () => {
    expect(withUsage(frozen(), { ...USED, lastUsedAt: Number.NaN })).toBeNull();
  });
});
