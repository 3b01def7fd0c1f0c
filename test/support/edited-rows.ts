/**
 * What somebody can do who writes to a store behind its back: no edit makes a key pass as another
 * one, and a damaged row is in nobody else's way.
 */
import type { KeyRecord, KeyStore } from 'keyscope';
import { digestKey, generateKey } from 'keyscope';
import { expect, test } from 'vitest';
import { columnOf, FIXED, fieldOf } from './columns.ts';
import { AUTHORITY, HOUR, issue, OTHER, OWN, PEPPER, PLAIN, START, setUp } from './keyring.ts';
import { outcome } from './outcome.ts';

/** The fields of a record that an operation writes, beside those that never change. */
type ChangingField = 'revokedAt' | 'retireAt' | 'lastUsedAt' | 'scopesUsed';
type FixedField = Exclude<keyof KeyRecord, ChangingField>;

/** The fields that hold more than one value. */
type JsonField = 'scopes' | 'accessibleEntities' | 'metadata' | 'scopesUsed';

/** Values of each field, as they are written where the store keeps them. */
export type Edits = Readonly<Record<FixedField, readonly string[]>>;
export type Damages = Readonly<Record<JsonField, readonly string[]>>;

/** A key that whoever edits a row knows. */
const attackers = generateKey({ prefix: 'acme' });

/** Digests of that key. */
export const ATTACKERS_DIGESTS: readonly string[] = [
  digestKey(attackers, PEPPER),
  digestKey(attackers),
];

/** JSON that is none, or of another kind than its field. */
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

/** Used scopes with times that are none. */
export const BAD_USES: readonly string[] = [
  '{"threats:read":"text","c:d":{}}',
  '{"threats:read":1.5,"c:d":1e300}',
];

/** As SQL. */
export function quoted(text: string): string {
  return `'${text}'`;
}

/** Edits of columns of text, as every SQL database takes them. */
export const EDITED_COLUMNS = {
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
  rotatedFrom: [quoted(OTHER), "''"],
} as const satisfies Partial<Edits>;

const DAMAGED_COLUMN = BAD_JSON.map(quoted);

/** The damages of a table that keeps JSON in columns of text. */
export const DAMAGED_COLUMNS: Damages = {
  scopes: DAMAGED_COLUMN,
  accessibleEntities: DAMAGED_COLUMN,
  metadata: DAMAGED_COLUMN,
  scopesUsed: [...DAMAGED_COLUMN, ...BAD_USES.map(quoted)],
};

const TAMPERED = 'invalid_token record_tampered';
const REFUSED = [TAMPERED, 'invalid_token unknown_key', 'StoreError'];

/** The key whose record is edited. */
export interface Victim {
  readonly key: string;
  readonly keyId: string;
}

/** A store whose safeguards are off: no trigger, no CHECK. */
export interface Editable {
  readonly store: () => KeyStore;
  /** Writes a field of a key's record, as somebody does who has the password of the database. */
  readonly edit: (victim: Victim, field: keyof KeyRecord, to: string) => unknown;
  /** Removes all records: edited ones would meet each other. */
  readonly clear: () => unknown;
  /** Values that widen a key, or that are merely wrong. */
  readonly edits: Edits;
  /** Values that no record can be read from. */
  readonly damages: Damages;
  /** Values for a time that are none, or beyond what a number holds. */
  readonly badTimes: readonly string[];
  /** Those over which the driver throws, which makes it a broken store. */
  readonly unreadable?: readonly string[];
}

/** How the rows of a SQL store are edited. */
export function editedBy(sql: (text: string) => unknown): Pick<Editable, 'edit' | 'clear'> {
  return {
    edit({ keyId }, field, to) {
      const column = columnOf(field);
      return sql(`UPDATE keyscope_keys SET ${column} = ${to} WHERE key_id = '${keyId}'`);
    },
    clear: () => sql('DELETE FROM keyscope_keys'),
  };
}

/** A key of its own, whose row alone is edited. */
async function issueVictim({ store, edit }: Editable) {
  const ring = setUp({ store: store(), storeTimeoutMs: 60_000 });
  const expiresAt = new Date(START + HOUR);
  const input = { ...PLAIN, metadata: { team: 'red' }, expiresAt };
  const { key, info } = await ring.keyring.issue(input, AUTHORITY);
  expect(await outcome(() => ring.keyring.verify(key))).toBe('passed');
  const { keyId } = info;
  const write = async (field: keyof KeyRecord, to: string) => edit({ key, keyId }, field, to);
  return { ...ring, key, keyId, write };
}

/**
 * What a verification may say of an edited row that is found by its digest: tampering, not a broken
 * store, wherever the row can be read.
 */
function refusals({ unreadable = [] }: Editable, to: string): readonly string[] {
  return unreadable.includes(to) ? REFUSED : [TAMPERED];
}

function testFixedFields(editable: Editable): void {
  const fields = FIXED.map(fieldOf) as FixedField[];

  test('every field that never changes is tried', () => {
    expect(Object.keys(editable.edits)).toEqual(fields);
  });

  test.each(fields)('a key whose %s was edited never passes', async (field) => {
    for (const to of editable.edits[field]) {
      const why = `${field} = ${to}`;
      const { keyring, key, keyId, write } = await issueVictim(editable);
      await write(field, to);
      const allowed = field === 'digest' ? REFUSED : refusals(editable, to);
      expect(allowed, why).toContain(await outcome(() => keyring.verify(key)));
      // Nor the key that whoever edited the digest knows.
      expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
      for (const entityUuid of [OWN, OTHER]) {
        const rotate = () => keyring.rotate(keyId, { overlapMs: 0 }, { entityUuid });
        const rotated = await outcome(rotate);
        expect([...REFUSED, 'not_found no_such_key'], `${why}, rotated`).toContain(rotated);
        const listed = await outcome(() => keyring.list({}, { entityUuid }));
        expect(['passed', 'StoreError'], `${why}, listed`).toContain(listed);
      }
      // Every other key works on.
      const other = await issue(keyring);
      expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
      await editable.clear();
    }
  });
}

function testJsonFields(editable: Editable): void {
  const { damages } = editable;

  // Drivers that read JSON columns themselves end the process over what is none.
  test.each(Object.keys(damages) as JsonField[])(
    'a key whose %s are not JSON of their kind is refused, and no other key is',
    async (field) => {
      for (const to of damages[field]) {
        const why = `${field} = ${to}`;
        const { keyring, key, keyId, write } = await issueVictim(editable);
        const other = await issue(keyring);
        await write(field, to);
        expect(await outcome(() => keyring.verify(key)), why).toBe(TAMPERED);
        expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
        expect(await outcome(() => keyring.list({}, AUTHORITY)), why).toBe('StoreError');
        expect(await outcome(() => keyring.get(keyId, AUTHORITY)), why).toBe('StoreError');
        const shown = await outcome(() => keyring.get(other.info.keyId, AUTHORITY));
        expect(shown, why).toBe('passed');
        await editable.clear();
      }
    },
  );

  test('used scopes that are no JSON object keep no other key from its usage', async () => {
    for (const to of damages.scopesUsed) {
      const { keyring, store, keyId, write } = await issueVictim(editable);
      const other = await issue(keyring);
      await write('scopesUsed', to);
      const use = { lastUsedAt: START + 1, scopesUsed: { 'threats:read': 5 } };
      await store.touch([keyId, other.info.keyId].map((id) => ({ keyId: id, ...use })));
      expect(await store.findById(other.info.keyId), to).toMatchObject(use);
      expect(await outcome(() => keyring.get(keyId, AUTHORITY)), to).toBe('StoreError');
      await editable.clear();
    }
  });
}

function testTimes(editable: Editable): void {
  test.each(['revokedAt', 'retireAt', 'lastUsedAt'] as const)(
    'a key whose %s is no time, or beyond what a number holds, never passes',
    async (field) => {
      for (const to of editable.badTimes) {
        const why = `${field} = ${to}`;
        const { keyring, key, write } = await issueVictim(editable);
        await write(field, to);
        const said = await outcome(() => keyring.verify(key));
        expect(refusals(editable, to), why).toContain(said);
        expect(await outcome(() => keyring.list({}, AUTHORITY)), why).toBe('StoreError');
        await editable.clear();
      }
    },
  );
}

/** The tests. Call it in a `describe`; the store may be made in a `beforeAll`. */
export function editedRows(editable: Editable): void {
  testFixedFields(editable);
  testJsonFields(editable);
  testTimes(editable);
}
