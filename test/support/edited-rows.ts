/**
 * Attacks by writing to a store directly: no edit makes a key pass as another one, and a damaged
 * row affects no other row.
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

/** The fields of a record that operations write and that no seal covers while the key is live. */
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

/** The fields that hold several values. */
type JsonField = 'scopes' | 'accessibleEntities' | 'metadata' | 'withdrawn' | 'scopesUsed';

/** Values for each field, in the encoding of the store. */
export type Edits = Readonly<Record<SealedField, readonly string[]>>;
export type Damages = Readonly<Record<JsonField, readonly string[]>>;

/** A key that the attacker knows. */
const attackers = generateKey({ prefix: 'acme' });

/** Digests of the attacker's key. */
export const ATTACKERS_DIGESTS: readonly string[] = [
  digestKey(attackers, PEPPER),
  digestKey(attackers),
];

/** Invalid JSON, or JSON of the wrong kind for its field. */
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

/** Edits of text columns, in any SQL database. */
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

/** Damage to a table that keeps JSON in text columns. */
export const DAMAGED_COLUMNS: Damages = {
  scopes: DAMAGED_COLUMN,
  accessibleEntities: DAMAGED_COLUMN,
  metadata: DAMAGED_COLUMN,
  withdrawn: DAMAGED_COLUMN,
  scopesUsed: [...DAMAGED_COLUMN, ...BAD_USES.map(quoted)],
};

const TAMPERED = 'invalid_token record_tampered';
const UNKNOWN_FORMAT = 'invalid_token unknown_format';
/** The format of a later version, as every store encodes it. */
const LATER_FORMAT = '2';
/** The outcome for a digest whose pepper is unknown. */
const ORPHANED = 'invalid_token orphaned';
const REFUSED = [TAMPERED, 'invalid_token unknown_key', 'StoreError'];
const NOT_FOUND = ['not_found no_such_key', 'not_found foreign_key'];

/** The key whose record is edited. */
export interface Victim {
  readonly key: string;
  readonly keyId: string;
}

/** A store with its safeguards off: no trigger, no CHECK. */
export interface Editable {
  readonly store: () => KeyStore;
  /** Writes one field of a key's record, with the rights of the database user. */
  readonly edit: (victim: Victim, field: keyof KeyRecord, to: string) => unknown;
  /** Removes all records, so that edited ones cannot collide. */
  readonly clear: () => unknown;
  /** Values that widen a key or are simply wrong. */
  readonly edits: Edits;
  /** Values that make a record unreadable. */
  readonly damages: Damages;
  /** Values for a time that are invalid or exceed the range of a number. */
  readonly badTimes: readonly string[];
  /** The store's encoding of a missing mark. */
  readonly noMark: string;
  /** Values that make the driver throw, which counts as a broken store. */
  readonly unreadable?: readonly string[];
}

/** Edits the rows of a SQL store. */
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

/** Manages the keys in these tests and may let them address others. */
const ADMIN = { ...AUTHORITY, entities: [OTHER], actor: 'ada', reason: 'leaked' } as const;

/** Issues a key whose row is the only one edited. */
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
 * The possible answers of a verification that finds an edited row by its digest: tampering, not
 * a broken store, if the row is readable.
 */
function refusals({ unreadable = [] }: Editable, to: string): readonly string[] {
  return unreadable.includes(to) ? REFUSED : [TAMPERED];
}

/** The same, where the edited field may be the format or the digest by which the row is found. */
function refusalsOf(editable: Editable, field: SealedField, to: string): readonly string[] {
  if (field === 'digest') return REFUSED;
  if (field === 'format' && to === LATER_FORMAT) return [UNKNOWN_FORMAT];
  return refusals(editable, to);
}

/** The states of an entity's keys as `list` shows them, for example `live` or `damaged`. */
async function listedStates(keyring: Ring, entityUuid: string): Promise<readonly string[]> {
  const { keys } = await keyring.list({}, { entityUuid });
  return keys.map(({ state }) => state).sort();
}

function testSealedFields(editable: Editable): void {
  const fields = [...FIXED, 'seal'].map(fieldOf) as SealedField[];

  test('covers every sealed field, and the seal', () => {
    expect(Object.keys(editable.edits).sort()).toEqual(fields.toSorted());
  });

  test.each(fields)('refuses a key whose %s was edited', async (field) => {
    for (const to of editable.edits[field]) {
      const why = `${field} = ${to}`;
      const { keyring, key, keyId, write } = await issueVictim(editable);
      await write(field, to);
      const allowed = refusalsOf(editable, field, to);
      expect(allowed, why).toContain(await outcome(() => keyring.verify(key)));
      // The attacker's key with the planted digest does not work either.
      expect(REFUSED, why).toContain(await outcome(() => keyring.verify(attackers)));
      for (const entityUuid of [OWN, OTHER]) {
        const by = { entityUuid, scopes: 'all' } as const;
        const rotated = await outcome(() => keyring.rotate(keyId, { overlapMs: 0 }, by));
        const refused = [...REFUSED, UNKNOWN_FORMAT, ORPHANED, ...NOT_FOUND];
        expect(refused, `${why}, rotated`).toContain(rotated);
        const listed = await outcome(() => keyring.list({}, { entityUuid }));
        // Without its id, the row cannot be matched to a key.
        const isNamed = field !== 'keyId' && refusals(editable, to).length === 1;
        expect(isNamed ? ['passed'] : ['passed', 'StoreError'], `${why}, listed`).toContain(listed);
      }
      // Every other key still works.
      const other = await issue(keyring);
      expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
      await editable.clear();
    }
  });
}

function testJsonFields(editable: Editable): void {
  const { damages } = editable;

  // A driver that parses JSON columns itself crashes the process over invalid JSON. And one damaged
  // row used to hide all other keys of its entity.
  test.each(Object.keys(damages) as JsonField[])(
    'refuses and shows as damaged a key whose %s are not JSON of their kind, and no other key',
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
        expect(shown, why).toEqual({ state: 'damaged', keyId, entityUuid: OWN });
        expect(await keyring.get(other.info.keyId, AUTHORITY), why).toMatchObject({
          state: 'live',
        });
        await editable.clear();
      }
    },
  );

  test('writes the usage of other keys if used scopes are not a JSON object', async () => {
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
    'refuses a key whose %s is invalid or exceeds the range of a number',
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

  test('keeps a key revoked after its revocation, with who and why, was cleared', async () => {
    const { keyring, key, keyId, write } = await issueVictim(editable);
    await keyring.revoke(keyId, ADMIN);
    for (const field of ['revokedAt', 'endedBy', 'endReason', 'changedAt'] as const) {
      await write(field, noMark);
      // On a revoked key an edit can only be reported. Without the mark, the seal refuses the key.
      expect(await outcome(() => keyring.verify(key)), field).toBe(TAMPERED);
      expect(await listedStates(keyring, OWN), field).toEqual(['damaged']);
    }
    await keyring.revoke(keyId, ADMIN);
    expect(await listedStates(keyring, OWN)).toEqual(['revoked']);
    await editable.clear();
  });

  // In the store's encoding: another text, and another time.
  test.each([
    ['endReason', edits.createdBy[0]],
    ['endReason', noMark],
    ['endedBy', edits.createdBy[0]],
    ['endedBy', noMark],
    ['revokedAt', edits.createdAt[0]],
  ] as const)(
    'keeps a revoked key out and shows it as damaged after its %s was edited',
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

  test('refuses a row from another deployment with the same prefix and pepper', async () => {
    const { key, keyId, store, keyring } = await issueVictim(editable);
    const other = setUp({ store, storeTimeoutMs: 60_000, deployment: 'staging' });
    expect(await outcome(() => other.keyring.verify(key))).toBe(TAMPERED);
    expect(await listedStates(other.keyring, OWN)).toEqual(['damaged']);
    const rotate = () => other.keyring.rotate(keyId, { overlapMs: 0 }, ADMIN);
    expect(await outcome(rotate)).toBe(TAMPERED);
    expect(await outcome(() => keyring.verify(key))).toBe('passed');
    await editable.clear();
  });

  test('refuses a row in a later format as such, shows it, and lets you revoke it', async () => {
    const { keyring, key, keyId, write } = await issueVictim(editable);
    await issue(keyring);
    await write('format', LATER_FORMAT);
    expect(await outcome(() => keyring.verify(key))).toBe(UNKNOWN_FORMAT);
    expect(await listedStates(keyring, OWN)).toEqual(['live', 'unknown_format']);
    const shown = { keyId, entityUuid: OWN };
    expect(await keyring.get(keyId, ADMIN)).toEqual({ ...shown, state: 'unknown_format' });
    await keyring.revoke(keyId, ADMIN);
    expect(await keyring.get(keyId, ADMIN)).toEqual({ ...shown, state: 'revoked' });
    expect(await outcome(() => keyring.verify(key))).toBe(UNKNOWN_FORMAT);
    await editable.clear();
  });

  test.each(Object.keys(damages) as JsonField[])(
    'lets you revoke a key whose %s are damaged, and leaves other keys alone',
    async (field) => {
      for (const to of damages[field].slice(0, 3)) {
        const why = `${field} = ${to}`;
        const { keyring, key, keyId, write } = await issueVictim(editable);
        const other = await issue(keyring);
        await write(field, to);
        await keyring.revoke(keyId, ADMIN);
        expect(await outcome(() => keyring.verify(key)), why).toBe(TAMPERED);
        const shown = { state: 'revoked', keyId, entityUuid: OWN };
        expect(await keyring.get(keyId, ADMIN), why).toEqual(shown);
        expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
        expect(await listedStates(keyring, OWN), why).toEqual(['live', 'revoked']);
        await editable.clear();
      }
    },
  );

  test.each(['scopes', 'metadata', 'withdrawn', 'scopesUsed'] as const)(
    'shows a key to the other entity that it addresses, although its %s are damaged',
    async (field) => {
      const { keyring, keyId, write } = await issueVictim(editable, [OTHER]);
      const input = { ...PLAIN, accessibleEntities: [OTHER] };
      const other = await keyring.issue(input, ADMIN);
      await write(field, damages[field][0] ?? '');
      const { keys } = await keyring.list({ addressing: true }, { entityUuid: OTHER });
      expect(keys).toHaveLength(2);
      expect(keys).toContainEqual({ state: 'damaged', keyId, entityUuid: OWN });
      const intact = { state: 'live', keyId: other.info.keyId, entityUuid: OWN };
      expect(keys).toContainEqual(expect.objectContaining(intact));
      await editable.clear();
    },
  );
}

/** Defines the tests. Call it inside a `describe`; a `beforeAll` may create the store. */
export function editedRows(editable: Editable): void {
  testSealedFields(editable);
  testJsonFields(editable);
  testTimes(editable);
  testRevocations(editable);
  testWholeRows(editable);
}
