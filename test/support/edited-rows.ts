/**
 * What somebody can do who writes to the tables of a SQL store behind its back: no edit makes a key
 * pass as another one, and a damaged row is in nobody else's way.
 */
import type { KeyStore } from 'keyscope';
import { digestKey, generateKey } from 'keyscope';
import { expect, test } from 'vitest';
import { FIXED } from './columns.ts';
import { AUTHORITY, HOUR, issue, OTHER, OWN, PEPPER, PLAIN, START, setUp } from './keyring.ts';
import { outcome } from './outcome.ts';

/** A key that whoever edits a row knows. */
const attackers = generateKey({ prefix: 'acme' });

/** As SQL: digests of that key. */
export const ATTACKERS_DIGESTS: readonly string[] = [
  `'${digestKey(attackers, PEPPER)}'`,
  `'${digestKey(attackers)}'`,
];

/** As SQL: both entities of these tests. */
export const BOTH_ENTITIES: string = `'${JSON.stringify([OWN, OTHER])}'`;

/** JSON that is none, or of another kind than its column. */
const BAD_JSON = ['none', '', '[', '{', '5', 'null', '"threats:read"', '["threats:read"', '[],[]'];

const TAMPERED = 'invalid_token record_tampered';
const REFUSED = [TAMPERED, 'invalid_token unknown_key', 'StoreError'];

/** A store whose safeguards are off: no trigger, no CHECK. */
export interface Editable {
  readonly store: () => KeyStore;
  /** Runs a statement, as somebody does who has the password of the database. */
  readonly sql: (text: string) => unknown;
  /** Column → SQL values that widen a key, or that are merely wrong. */
  readonly edits: Readonly<Record<string, readonly string[]>>;
  /** An integer beyond what a number holds, as SQL. */
  readonly huge: string;
  /** Whether the driver throws over such an integer, which makes it a broken store. */
  readonly throwsOverHuge?: boolean;
  /** Other values for a time, as SQL, that are none. */
  readonly badTimes?: readonly string[];
}

/** Edited rows would meet each other. */
async function clear({ sql }: Editable): Promise<void> {
  await sql('DELETE FROM keyscope_keys');
}

/** A key of its own, whose row alone is edited. */
async function issueVictim({ store, sql }: Editable) {
  const ring = setUp({ store: store(), storeTimeoutMs: 60_000 });
  const input = { ...PLAIN, expiresAt: new Date(START + HOUR) };
  const { key, info } = await ring.keyring.issue(input, AUTHORITY);
  expect(await outcome(() => ring.keyring.verify(key))).toBe('passed');
  const { keyId } = info;
  async function edit(column: string, to: string): Promise<void> {
    await sql(`UPDATE keyscope_keys SET ${column} = ${to} WHERE key_id = '${keyId}'`);
  }
  return { ...ring, key, keyId, edit };
}

/**
 * What a verification may say of an edited row that is found by its digest: tampering, not a broken
 * store, wherever the row can be read.
 */
function refusals({ huge, throwsOverHuge = false }: Editable, to: string): readonly string[] {
  return throwsOverHuge && to === huge ? REFUSED : [TAMPERED];
}

function testFixedColumns(editable: Editable): void {
  test('every column that never changes is tried', () => {
    expect(Object.keys(editable.edits)).toEqual(FIXED);
  });

  test.each(FIXED)('a key whose %s was edited never passes', async (column) => {
    for (const to of editable.edits[column] ?? []) {
      const why = `${column} = ${to}`;
      const { keyring, key, keyId, edit } = await issueVictim(editable);
      await edit(column, to);
      const allowed = column === 'digest' ? REFUSED : refusals(editable, to);
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
      await clear(editable);
    }
  });
}

function testJsonColumns(editable: Editable): void {
  // Drivers that read JSON columns themselves end the process over what is none.
  test.each(['scopes', 'accessible_entities', 'metadata', 'scopes_used'])(
    'a key whose %s are not JSON of their kind is refused, and no other key is',
    async (column) => {
      for (const json of BAD_JSON) {
        const why = `${column} = ${json}`;
        const { keyring, key, keyId, edit } = await issueVictim(editable);
        const other = await issue(keyring);
        await edit(column, `'${json}'`);
        expect(await outcome(() => keyring.verify(key)), why).toBe(TAMPERED);
        expect(await outcome(() => keyring.verify(other.key)), why).toBe('passed');
        expect(await outcome(() => keyring.list({}, AUTHORITY)), why).toBe('StoreError');
        expect(await outcome(() => keyring.get(keyId, AUTHORITY)), why).toBe('StoreError');
        const shown = await outcome(() => keyring.get(other.info.keyId, AUTHORITY));
        expect(shown, why).toBe('passed');
        await clear(editable);
      }
    },
  );

  test('used scopes that are no JSON object keep no other key from its usage', async () => {
    for (const json of BAD_JSON) {
      const { keyring, store, keyId, edit } = await issueVictim(editable);
      const other = await issue(keyring);
      await edit('scopes_used', `'${json}'`);
      const use = { lastUsedAt: START + 1, scopesUsed: { 'threats:read': 5 } };
      await store.touch([keyId, other.info.keyId].map((id) => ({ keyId: id, ...use })));
      expect(await store.findById(other.info.keyId), json).toMatchObject(use);
      expect(await outcome(() => keyring.get(keyId, AUTHORITY)), json).toBe('StoreError');
      await clear(editable);
    }
  });
}

function testTimes(editable: Editable): void {
  const { huge, badTimes = [] } = editable;

  test.each(['revoked_at', 'retire_at', 'last_used_at'])(
    'a key whose %s is no time, or beyond what a number holds, never passes',
    async (column) => {
      for (const to of [huge, ...badTimes]) {
        const { keyring, key, edit } = await issueVictim(editable);
        await edit(column, to);
        const said = await outcome(() => keyring.verify(key));
        expect(refusals(editable, to), `${column} = ${to}`).toContain(said);
        await clear(editable);
      }
    },
  );
}

/** The tests. Call it in a `describe`; the store may be made in a `beforeAll`. */
export function editedRows(editable: Editable): void {
  testFixedColumns(editable);
  testJsonColumns(editable);
  testTimes(editable);
}
