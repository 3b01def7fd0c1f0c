/**
 * Tests with rows that someone edited behind the store's back. No edit makes a key pass as another
 * one, and a damaged row affects no other key.
 */
import type { KeyRecord, KeyStore } from 'keyscope';
import { digestKey, generateKey } from 'keyscope';
import { expect, test } from 'vitest';
import { columnOf, FIXED, fieldOf } from './columns.ts';
import {
  AUTHORITY,
  HOUR,
  issue,
  OTHER,
  OWN,
  PEPPER,
  PLAIN,
  type Ring,
  START,
  setUp,
} from './keyring.ts';
import { outcome } from './outcome.ts';

/** The fields that an operation writes, and that no seal covers while the key lives. */
type ChangingField =
  | 'revokedAt'
  | 'suspendedAt'
  | 'retireAt'
  | 'withdrawn'
  | 'endedBy'
  | 'endReason'
  | 'changedAt'
  | 'lastUsedAt'
  | 'scopesUsed';

/** The fields that never change, and the seal. */
type SealedField = Exclude<keyof KeyRecord, ChangingField>;

/** The fields that hold more than one value. */
type JsonField = 'scopes' | 'accessibleEntities' | 'metadata' | 'withdrawn' | 'scopesUsed';

/** Values of each field, in the encoding of the store. */
export type Edits = Readonly<Record<SealedField, readonly string[]>>;
export type Damages = Readonly<Record<JsonField, readonly string[]>>;

/** A key that the attacker knows. */
const attackers = generateKey({ prefix: 'acme' });

/** Digests of that key. */
export const ATTACKERS_DIGESTS: readonly string[] = [
  digestKey(attackers, PEPPER),
  digestKey(attackers),
];

/** Malformed JSON, or JSON of the wrong type. */
export const BAD_JSON: readonly string[] = [
  'none',
  '',
  '[',
  '{',
  '5',
  'null',
  '"threats:read"',
  '["threats:read"',
  '[],[]',
];

/** Used scopes with invalid times. */
export const BAD_USES: readonly string[] = [
  '{"threats:read":"text","c:d":{}}',
  '{"threats:read":1.5,"c:d":1e300}',
];

/** Quotes a text for SQL. */
export function quoted(text: string): string {
  return `'${text}'`;
}

/** Edits of text columns that every SQL database accepts. */
export const EDITED_COLUMNS = {
  format: ['2', '0', '-1'],
  prefix: ["'other'", "''", "'ACME'"],
  hint: ["'AAAA'", "''"],
  name: ["'other'", "''", "'CI'"],
  accessibleEntities: [
    quoted(JSON.stringify([OWN, OTHER])),
    "'[]'",
    quoted(JSON.stringify([OTHER])),
    "'[5]'",
    "'[[]]'",
  ],
  scopes: [
    `'["threats:read","threats:write"]'`,
    `'["threats:*"]'`,
    `'["*:*"]'`,
    "'[]'",
    `'["threats:read","threats:read"]'`,
    "'[null]'",
    `'["Threats:read"]'`,
  ],
  justification: ["'because'", "''"],
  metadata: [`'{"team":"blue"}'`, `'{"a":5}'`, `'{"__proto__":"x"}'`],
  createdBy: ["'somebody'", "''"],
  rotatedFrom: [quoted(OTHER), "''"],
  rootKeyId: [quoted(OTHER), "''"],
  issuedUnder: [quoted(OTHER), "''"],
  trust: [quoted('{"subject":"ci"}'), quoted('{}')],
} as const satisfies Partial<Edits>;

const DAMAGED_COLUMN = BAD_JSON.map(quoted);

/** Damages of a table that keeps JSON in text columns. */
export const DAMAGED_COLUMNS: Damages = {
  scopes: DAMAGED_COLUMN,
  accessibleEntities: DAMAGED_COLUMN,
  metadata: DAMAGED_COLUMN,
  withdrawn: DAMAGED_COLUMN,
  scopesUsed: [...DAMAGED_COLUMN, ...BAD_USES.map(quoted)],
};

const TAMPERED = 'invalid_token record_tampered';
const UNKNOWN_FORMAT = 'invalid_token unknown_format';
/** The format of a later version, in the encoding of every store. */
const LATER_FORMAT = '2';
const REFUSED = [TAMPERED, 'invalid_token unknown_key', 'StoreError'];
/** The outcomes of a rotation. A digest may name a pepper that is not configured. */
const NOT_ROTATED = [
  'conflict record_tampered',
  'conflict unknown_format',
  'conflict orphaned',
  'not_found no_such_key',
  'not_found foreign_key',
  'StoreError',
];

/** The key whose record is edited. */
export interface Victim {
  readonly key: string;
  readonly keyId: string;
}

/** A store whose safeguards are off: no trigger, no CHECK. */
export interface Editable {
  readonly store: () => KeyStore;
  /** Writes a field of a key's record, like someone with the database's password. */
  readonly edit: (victim: Victim, field: keyof KeyRecord, to: string) => unknown;
  /** Removes all records, because edited ones would collide. */
  readonly clear: () => unknown;
  /** Values that widen a key, or that are just wrong. */
  readonly edits: Edits;
  /** Values that make a record unreadable. */
  readonly damages: Damages;
  /** Invalid times, or times beyond the range of a number. */
  readonly badTimes: readonly string[];
  /** The value of an absent mark. */
  readonly noMark: string;
  /** Values at which the driver throws, so that the store counts as broken. */
  readonly unreadable?: readonly string[];
}

/** Makes an editable store of a SQL database. */
export function editedBy(
  sql: (text: string) => unknown,
): Pick<Editable, 'edit' | 'clear' | 'noMark'> {
  return {
    noMark: 'NULL',
    edit({ keyId }, field, to) {
      const column = columnOf(field);
      return sql(`UPDATE keyscope_keys SET ${column} = ${to} WHERE key_id = '${keyId}'`);
    },
    clear: () => sql('DELETE FROM keyscope_keys'),
  };
}

/** The authority in these tests, which may let keys address others. */
const ADMIN = { ...AUTHORITY, entities: [OTHER], actor: 'ada', reason: 'leaked' } as const;

/** Issues a key whose row a test edits. */
async function issueVictim({ store, edit }: Editable, accessibleEntities: readonly string[] = []) {
  const ring = setUp({ store: store(), storeTimeoutMs: 60_000 });
  const expiresAt = new Date(START + HOUR);
  const input = { ...PLAIN, metadata: { team: 'red' }, expiresAt, accessibleEntities };
  const { key, info } = await ring.keyring.issue(input, ADMIN);
  expect(await outcome(() => ring.keyring.verify(key))).toBe('passed');
  const { keyId } = info;
  const write = async (field: keyof KeyRecord, to: string) => edit({ key, keyId }, field, to);
  return { ...ring, key, keyId, write };
}

/**
 * Returns the allowed refusals of an edited row that is found by its digest: tampering, or a broken
 * store only if the row cannot be read.
 */
function refusals({ unreadable = [] }: Editable, to: string): readonly string[] {
  return unreadable.includes(to) ? REFUSED : [TAMPERED];
}

/** Returns the same for any field, including the format and the digest by which a row is found. */
function refusalsOf(editable: Editable, field: SealedField, to: string): readonly string[] {
  if (field === 'digest') return REFUSED;
  if (field === 'format' && to === LATER_FORMAT) return [UNKNOWN_FORMAT];
  return refusals(editable, to);
}

/** Returns the states of an entity's keys in `list`: `live`, `damaged` and others. */
async function listedStates(keyring: Ring, entityId: string): Promise<readonly string[]> {
  const { keys } = await keyring.list({}, { entityId });
  return keys.map(({ state }) => state).sort();
}

function testSealedFields(editable: Editable): void {
  const fields = [...FIXED, 'seal'].map(fieldOf) as SealedField[];

  test('every field that a seal covers is tried, and the seal', () => {
    expect(Object.keys(editable.edits).sort()).toEqual(fields.toSorted());
  });

  test.each(fields)('a key whose %s was edited never passes', async (field) => {
    for (const to of editable.edits[field]) {
      const why = `${field} = ${to}`;
      const { keyring, key, keyId, write } = await issueVictim(editable);
      await write(field, to);
      const allowed = refusalsOf(editable, field, to);
      expect(allowed, why).toContain(await outcome(() => keyring.verify(key)));
      // Nor does the attacker's key pass.
      expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
      for (const entityId of [OWN, OTHER]) {
        const by = { entityId, scopes: 'all' } as const;
        const rotated = await outcome(() => keyring.rotate(keyId, { overlapMs: 0 }, by));
        expect(NOT_ROTATED, `${why}, rotated`).toContain(rotated);
        const listed = await outcome(() => keyring.list({}, { entityId }));
        // Without its id, the row belongs to no known key.
        const isNamed = field !== 'keyId' && refusals(editable, to).length === 1;
        expect(isNamed ? ['passed'] : ['passed', 'StoreError'], `${why}, listed`).toContain(listed);
      }
      // Every other key keeps working.
      const other = await issue(keyring);
      expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
      await editable.clear();
    }
  });
}

function testJsonFields(editable: Editable): void {
  const { damages } = editable;

  // Drivers that parse JSON columns end the process over malformed JSON. And one damaged row used
  // to hide all other keys of its entity.
  test.each(Object.keys(damages) as JsonField[])(
    'a key whose %s are not JSON of their kind is refused and shown as damaged, no other is',
    async (field) => {
      for (const to of damages[field]) {
        const why = `${field} = ${to}`;
        const { keyring, key, keyId, write } = await issueVictim(editable);
        const other = await issue(keyring);
        await write(field, to);
        expect(await outcome(() => keyring.verify(key)), why).toBe(TAMPERED);
        expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
        expect(await listedStates(keyring, OWN), why).toEqual(['damaged', 'live']);
        const shown = await keyring.get(keyId, AUTHORITY);
        expect(shown, why).toEqual({ state: 'damaged', keyId, entityId: OWN });
        expect(await keyring.get(other.info.keyId, AUTHORITY), why).toMatchObject({
          state: 'live',
        });
        await editable.clear();
      }
    },
  );

  test('used scopes that are not a JSON object do not affect the usage of other keys', async () => {
    for (const to of damages.scopesUsed) {
      const { keyring, store, keyId, write } = await issueVictim(editable);
      const other = await issue(keyring);
      await write('scopesUsed', to);
      const use = { lastUsedAt: START + 1, scopesUsed: { 'threats:read': 5 } };
      await store.touch([keyId, other.info.keyId].map((id) => ({ keyId: id, ...use })));
      expect(await store.findById(other.info.keyId), to).toMatchObject(use);
      expect(await keyring.get(keyId, AUTHORITY), to).toMatchObject({ state: 'damaged' });
      await editable.clear();
    }
  });
}

function testTimes(editable: Editable): void {
  test.each(['revokedAt', 'suspendedAt', 'retireAt', 'changedAt', 'lastUsedAt'] as const)(
    'a key whose %s is an invalid time, or beyond the range of a number, never passes',
    async (field) => {
      for (const to of editable.badTimes) {
        const why = `${field} = ${to}`;
        const { keyring, key, write } = await issueVictim(editable);
        await issue(keyring);
        await write(field, to);
        const said = await outcome(() => keyring.verify(key));
        expect(refusals(editable, to), why).toContain(said);
        if (refusals(editable, to).length === 1) {
          expect(await listedStates(keyring, OWN), why).toEqual(['damaged', 'live']);
        }
        await editable.clear();
      }
    },
  );
}

function testRevocations(editable: Editable): void {
  const { noMark, edits } = editable;

  test('a revocation that was cleared by hand, with who and why, revives nothing', async () => {
    const { keyring, key, keyId, write } = await issueVictim(editable);
    await keyring.revoke(keyId, ADMIN);
    for (const field of ['revokedAt', 'endedBy', 'endReason', 'changedAt'] as const) {
      await write(field, noMark);
      // For a revoked key, `list` shows the edit; without the mark, the seal refuses the key.
      expect(await outcome(() => keyring.verify(key)), field).toBe(TAMPERED);
      expect(await listedStates(keyring, OWN), field).toEqual(['damaged']);
    }
    await keyring.revoke(keyId, ADMIN);
    expect(await listedStates(keyring, OWN)).toEqual(['revoked']);
    await editable.clear();
  });

  // Any other text and any other time, in the encoding of the store.
  test.each([
    ['endReason', edits.createdBy[0]],
    ['endReason', noMark],
    ['endedBy', edits.createdBy[0]],
    ['endedBy', noMark],
    ['revokedAt', edits.createdAt[0]],
  ] as const)(
    'a revoked key whose %s was edited stays out, and is shown as damaged',
    async (field, to) => {
      const { keyring, key, keyId, write } = await issueVictim(editable);
      await keyring.revoke(keyId, ADMIN);
      const before = { state: 'revoked', tampered: false, endedBy: 'ada', endReason: 'leaked' };
      expect(await keyring.get(keyId, ADMIN)).toMatchObject(before);
      await write(field, to ?? '');
      expect(await outcome(() => keyring.verify(key))).toBe('invalid_token revoked');
      expect(await keyring.get(keyId, ADMIN)).toMatchObject({ state: 'damaged', tampered: true });
      await keyring.revoke(keyId, ADMIN);
      expect(await keyring.get(keyId, ADMIN)).toMatchObject({ state: 'revoked', tampered: true });
      await editable.clear();
    },
  );
}

function testWholeRows(editable: Editable): void {
  const { damages } = editable;

  test('a row of another deployment is refused, with the same prefix and pepper', async () => {
    const { key, keyId, store, keyring } = await issueVictim(editable);
    const other = setUp({ store, storeTimeoutMs: 60_000, deployment: 'staging' });
    expect(await outcome(() => other.keyring.verify(key))).toBe(TAMPERED);
    expect(await listedStates(other.keyring, OWN)).toEqual(['damaged']);
    const rotate = () => other.keyring.rotate(keyId, { overlapMs: 0 }, ADMIN);
    expect(await outcome(rotate)).toBe('conflict record_tampered');
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    await editable.clear();
  });

  test('a row of a later format is refused as such, shown, and can be revoked', async () => {
    const { keyring, key, keyId, write } = await issueVictim(editable);
    await issue(keyring);
    await write('format', LATER_FORMAT);
    expect(await outcome(() => keyring.verify(key))).toBe(UNKNOWN_FORMAT);
    expect(await listedStates(keyring, OWN)).toEqual(['live', 'unknown_format']);
    const shown = { keyId, entityId: OWN };
    expect(await keyring.get(keyId, ADMIN)).toEqual({ ...shown, state: 'unknown_format' });
    await keyring.revoke(keyId, ADMIN);
    expect(await keyring.get(keyId, ADMIN)).toEqual({ ...shown, state: 'revoked' });
    expect(await outcome(() => keyring.verify(key))).toBe(UNKNOWN_FORMAT);
    await editable.clear();
  });

  test.each(Object.keys(damages) as JsonField[])(
    'a key whose %s are damaged can be revoked, and its neighbours live on',
    async (field) => {
      for (const to of damages[field].slice(0, 3)) {
        const why = `${field} = ${to}`;
        const { keyring, key, keyId, write } = await issueVictim(editable);
        const other = await issue(keyring);
        await write(field, to);
        await keyring.revoke(keyId, ADMIN);
        expect(await outcome(() => keyring.verify(key)), why).toBe(TAMPERED);
        const shown = { state: 'revoked', keyId, entityId: OWN };
        expect(await keyring.get(keyId, ADMIN), why).toEqual(shown);
        expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
        expect(await listedStates(keyring, OWN), why).toEqual(['live', 'revoked']);
        await editable.clear();
      }
    },
  );

  test.each(['scopes', 'metadata', 'withdrawn', 'scopesUsed'] as const)(
    'a key that addresses another entity is shown to it, though its %s are damaged',
    async (field) => {
      const { keyring, keyId, write } = await issueVictim(editable, [OTHER]);
      const input = { ...PLAIN, accessibleEntities: [OTHER] };
      const other = await keyring.issue(input, ADMIN);
      await write(field, damages[field][0] ?? '');
      const { keys } = await keyring.list({ addressing: true }, { entityId: OTHER });
      expect(keys).toHaveLength(2);
      expect(keys).toContainEqual({ state: 'damaged', keyId, entityId: OWN });
      const intact = { state: 'live', keyId: other.info.keyId, entityId: OWN };
      expect(keys).toContainEqual(expect.objectContaining(intact));
      await editable.clear();
    },
  );
}

/** Registers the tests. Call it in a `describe`; a `beforeAll` may make the store. */
export function editedRows(editable: Editable): void {
  testSealedFields(editable);
  testJsonFields(editable);
  testTimes(editable);
  testRevocations(editable);
  testWholeRows(editable);
}
