import { DatabaseSync } from 'node:sqlite';
import type { KeyRecord } from 'keyscope';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, test } from 'vitest';
import { OTHER, OWN, THIRD, untyped } from '../../support/keyring.ts';
import { RECORD } from '../../support/records.ts';
import { another, readValue, stocked } from '../../support/sqlite-databases.ts';

const ADDRESSING: KeyRecord = { ...RECORD, accessibleEntities: [OTHER, OWN, THIRD] };

/** The places of keys in the listings of other entities. */
function placesIn(db: DatabaseSync): readonly object[] {
  const rows = db.prepare('SELECT * FROM keyscope_addressing').all();
  return rows.map((row) => ({ ...row }));
}

function placeOf({ prefix, createdAt, keyId }: KeyRecord, entity: string): object {
  return { entity_id: entity, prefix, created_at: createdAt, key_id: keyId };
}

describe('insert', () => {
  test('files a key under each other entity that it addresses', () => {
    const db = new DatabaseSync(':memory:');
    const store = sqliteStore(db);
    store.insert({ ...ADDRESSING, accessibleEntities: [OTHER, OWN, THIRD, OTHER] });
    store.insert({ ...another(1), prefix: 'other', createdAt: -7, accessibleEntities: [OWN] });
    expect(placesIn(db)).toEqual([placeOf(RECORD, OTHER), placeOf(RECORD, THIRD)]);
  });

  test('files nothing under a value that is not text, and keeps the record', () => {
    const db = new DatabaseSync(':memory:');
    const store = sqliteStore(db);
    const odd = untyped<string[]>([OWN, null, 5, 1.5, true, {}, [OTHER], OTHER]);
    store.insert({ ...RECORD, accessibleEntities: odd });
    expect(placesIn(db)).toEqual([placeOf(RECORD, OTHER)]);
    expect(store.findById(RECORD.keyId)).toEqual({ ...RECORD, accessibleEntities: odd });
  });

  // libsql cut the text at the NUL, and the seal of the record would not have matched.
  test('and mark reject a text with a NUL, which a driver may cut off', () => {
    const { store } = stocked();
    const nul = another(1);
    for (const given of [{ name: 'a\0b' }, { endReason: '\0' }]) {
      expect(() => store.insert({ ...nul, ...given })).toThrow('insert: a text contains a NUL');
    }
    const revoke = { kind: 'revoke', at: 5, by: null, reason: 'a\0b', seal: null } as const;
    expect(() => store.mark(RECORD.keyId, revoke)).toThrow('mark: a text contains a NUL');
    expect(store.findById(nul.keyId)).toBe(null);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('writes no place of a rejected key', () => {
    const { db, store } = stocked();
    const refused = [
      ADDRESSING,
      { ...another(1), digest: RECORD.digest, accessibleEntities: [OWN, OTHER] },
      { ...another(2), createdAt: 9e15, accessibleEntities: [OWN, OTHER] },
      { ...another(3), scopes: untyped<string[]>({}), accessibleEntities: [OWN, OTHER] },
    ];
    for (const record of refused) expect(() => store.insert(record)).toThrow();
    expect(placesIn(db)).toEqual([]);
  });

  test.each([
    ['cannot be written', 'DROP TABLE keyscope_addressing'],
    [
      'is rejected',
      `CREATE TRIGGER theirs BEFORE INSERT ON keyscope_addressing
        WHEN NEW.entity_id = '${THIRD}' BEGIN SELECT RAISE(ABORT, 'not this one'); END`,
    ],
  ])('writes no key if one of its places %s', (_what, sql) => {
    const db = new DatabaseSync(':memory:');
    const store = sqliteStore(db);
    db.exec(sql);
    expect(() => store.insert(ADDRESSING)).toThrow(/keyscope_addressing|not this one/);
    expect(store.findById(RECORD.keyId)).toBe(null);
    expect(readValue(db, 'SELECT count(*) FROM keyscope_keys')).toBe(0);
  });
});

test("of a withdrawal leaves the key in the other entities' listings", () => {
  const db = new DatabaseSync(':memory:');
  const store = sqliteStore(db);
  store.insert(ADDRESSING);
  store.mark(RECORD.keyId, { kind: 'withdraw', at: 5, entityId: OTHER });
  const query = { prefix: 'acme', entityId: OTHER, addressing: true, after: null, limit: 5 };
  expect(store.list(query)).toMatchObject([{ keyId: RECORD.keyId, withdrawn: [OTHER] }]);
});
