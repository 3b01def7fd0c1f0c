import type { DatabaseSync } from 'node:sqlite';
import type { KeyRecord } from 'keyscope';
import { type PurgeOptions, purgeEnded, sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { OTHER, OWN, untyped } from '../../support/keyring.ts';
import { type PurgePlace, purgeRaces, purgeSuite } from '../../support/purge-suite.ts';
import { RECORD } from '../../support/records.ts';
import { DRIVERS, open } from '../../support/sqlite.ts';
import {
  another,
  dropSafeguards,
  freshFiles,
  readValue,
  revokeAt,
  stocked,
} from '../../support/sqlite-databases.ts';
import { countTurns } from '../../support/turns.ts';

const { fresh } = freshFiles();

/** The time of the purges: they delete everything that ended before it. */
const BEFORE = new Date(1000);

/** A database with records like the fixture, which has no end. */
function stockedWith(records: readonly KeyRecord[]): DatabaseSync {
  const { db, store } = stocked();
  for (const record of records) store.insert(record);
  return db;
}

function like(n: number, given: Partial<KeyRecord>): KeyRecord {
  return { ...another(n), ...given };
}

function idsLeft(db: DatabaseSync): readonly unknown[] {
  const rows = db.prepare('SELECT key_id FROM keyscope_keys ORDER BY key_id').all();
  return rows.map(({ key_id }) => key_id);
}

const ids = (...numbers: readonly number[]) => numbers.map((n) => another(n).keyId);

describe.each(DRIVERS)('purgeEnded with %s', (driver) => {
  function make(): PurgePlace {
    const db = open(driver, ':memory:');
    onTestFinished(() => db.close());
    const store = sqliteStore(db);
    function damage(keyId: string): void {
      const triggers = db.prepare("SELECT sql FROM sqlite_master WHERE type = 'trigger'").all();
      dropSafeguards(db);
      const lists = "accessible_entities = 'none', scopes = '{', withdrawn = ''";
      db.exec(`UPDATE keyscope_keys SET ${lists} WHERE key_id = '${keyId}'`);
      for (const { sql } of triggers as readonly { readonly sql: string }[]) {
        if (sql.includes('RAISE(')) db.exec(sql);
      }
    }
    return { store, purge: (endedBefore) => purgeEnded(db, { endedBefore }), damage };
  }

  purgeSuite(make);
  purgeRaces(make);
});

test("deletes a key's places in other listings, and no others", async () => {
  const accessibleEntities = [OWN, OTHER];
  const db = stockedWith([
    like(1, { accessibleEntities, revokedAt: 5 }),
    like(2, { accessibleEntities }),
  ]);
  await purgeEnded(db, { endedBefore: BEFORE });
  const places = db.prepare('SELECT entity_id, key_id FROM keyscope_addressing').all();
  expect(places.map((place) => ({ ...place }))).toEqual([
    { entity_id: OTHER, key_id: another(2).keyId },
  ]);
});

test('keeps a young key whose retirement was dated back by an UPDATE', async () => {
  const createdAt = BEFORE.getTime();
  const db = stockedWith([like(1, { createdAt }), like(2, { createdAt: createdAt - 1 })]);
  db.exec(`UPDATE keyscope_keys SET retire_at = 1 WHERE key_id <> '${RECORD.keyId}'`);
  expect(await purgeEnded(db, { endedBefore: BEFORE })).toEqual(ids(2));
});

test.each(['rootKeyId', 'issuedUnder'] as const)(
  'keeps a first row if a key with its id as %s is inserted before the deletion',
  async (field) => {
    const db = stockedWith([like(1, { revokedAt: 5 }), like(2, { revokedAt: 6 })]);
    const store = sqliteStore(db);
    const insertOnce = () => store.insert(like(3, { [field]: another(1).keyId }));
    let isFound = false;
    const deleted = await purgeEnded(
      {
        prepare: (sql) => db.prepare(sql),
        exec(sql) {
          // The rows have been found, and the transaction that deletes them has not begun.
          if (sql === 'BEGIN IMMEDIATE' && !isFound) {
            isFound = true;
            insertOnce();
          }
          db.exec(sql);
        },
      },
      { endedBefore: BEFORE },
    );
    expect(isFound).toBe(true);
    expect(deleted).toEqual(ids(2));
  },
);

test('passes any number of keys that it keeps, and lets other work run', async () => {
  const pairs = Array.from({ length: 600 }, (_, i): readonly KeyRecord[] => {
    const root = { rootKeyId: another(i).keyId };
    const successor = { ...root, rotatedFrom: another(i).keyId };
    return [like(i, { ...root, retireAt: 5 }), like(1000 + i, successor)];
  });
  const db = stockedWith([...pairs.flat(), like(5000, { revokedAt: 6 })]);
  const { result, turns } = await countTurns(() => purgeEnded(db, { endedBefore: BEFORE }));
  expect(result).toEqual(ids(5000));
  expect(turns).toBeGreaterThanOrEqual(2);
});

test('deletes 500 rows in a transaction, and lets another process write in between', async () => {
  const path = fresh();
  const db = open('node:sqlite', path);
  const other = open('node:sqlite', path);
  const store = sqliteStore(db);
  const others = sqliteStore(other);
  const numbers = Array.from({ length: 1_201 }, (_, n) => n);
  db.exec('PRAGMA synchronous = OFF');
  for (const n of numbers) store.insert(like(n, { revokedAt: n % 2 === 0 ? 5 : null }));
  const transactions: string[] = [];
  const deleted = await purgeEnded(
    {
      prepare: (sql) => db.prepare(sql),
      exec(sql) {
        db.exec(sql);
        transactions.push(sql);
        if (sql === 'COMMIT' && readValue(db, 'SELECT count(*) FROM keyscope_keys') === 701) {
          others.mark(another(1).keyId, revokeAt(5));
        }
      },
    },
    { endedBefore: BEFORE },
  );
  // It was marked at a position that the purge had already passed.
  expect(deleted).toEqual(ids(...numbers.filter((n) => n % 2 === 0)));
  expect(transactions.filter((sql) => sql === 'BEGIN IMMEDIATE')).toHaveLength(2);
  expect(readValue(other, 'SELECT count(*) FROM keyscope_keys')).toBe(600);
  expect(readValue(db, 'SELECT purge_before FROM keyscope_schema')).toBe(null);
  db.close();
  other.close();
});

test('deletes nothing of a batch that fails, and leaves no row deletable', async () => {
  const db = stockedWith([like(1, { revokedAt: 5 }), like(2, { revokedAt: 5 })]);
  db.exec(`CREATE TRIGGER theirs BEFORE DELETE ON keyscope_keys
    WHEN OLD.key_id = '${another(2).keyId}' BEGIN SELECT RAISE(ABORT, 'still needed'); END`);
  await expect(purgeEnded(db, { endedBefore: BEFORE })).rejects.toThrow('still needed');
  expect(idsLeft(db)).toEqual([...ids(1, 2), RECORD.keyId]);
  expect(readValue(db, 'SELECT purge_before FROM keyscope_schema')).toBe(null);
  expect(db.isTransaction).toBe(false);
  expect(() => db.exec('DELETE FROM keyscope_keys')).toThrow('never deleted');
});

test('creates missing tables', async () => {
  const db = open('node:sqlite', ':memory:');
  expect(await purgeEnded(db, { endedBefore: BEFORE })).toEqual([]);
  expect(sqliteStore(db).findById(RECORD.keyId)).toBe(null);
});

test('accepts only a valid date that is not in the future', async () => {
  const db = stockedWith([like(1, { revokedAt: 5 })]);
  const odd = [new Date(Number.NaN), new Date(8.64e15), 1000, '1970', null, undefined, {}];
  for (const endedBefore of odd) {
    const purge = () => purgeEnded(db, untyped<PurgeOptions>({ endedBefore }));
    await expect(purge(), String(endedBefore)).rejects.toThrow(
      new TypeError('purgeEnded: endedBefore: pass a valid Date that is not in the future'),
    );
  }
  const unknown = () => purgeEnded(db, untyped<PurgeOptions>({ endedBefore: BEFORE, all: true }));
  await expect(unknown()).rejects.toThrow('all');
  for (const options of [undefined, null, BEFORE]) {
    const purge = () => purgeEnded(db, untyped<PurgeOptions>(options));
    await expect(purge()).rejects.toThrow('pass an object with endedBefore');
  }
  expect(idsLeft(db)).toHaveLength(2);
  expect(await purgeEnded(db, { endedBefore: new Date() })).toEqual(ids(1));
});
