import { DatabaseSync } from 'node:sqlite';
import { migrate, purgeEnded, sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, test } from 'vitest';
import { RECORD } from '../../support/records.ts';
import {
  another,
  freshFiles,
  readValue,
  revokeAt,
  stocked,
} from '../../support/sqlite-databases.ts';

const { fresh } = freshFiles();

describe('migrate', () => {
  test('can be repeated and keeps existing rows', () => {
    const { db, store } = stocked();
    const schema = db.prepare('SELECT sql FROM sqlite_master').all();
    migrate(db);
    sqliteStore(db);
    expect(db.prepare('SELECT sql FROM sqlite_master').all()).toEqual(schema);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('waits for locks when called directly', () => {
    const db = new DatabaseSync(':memory:');
    migrate(db);
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(5000);
    expect(sqliteStore(db).findById(RECORD.keyId)).toBe(null);
  });

  test('takes no lock if the schema is current', async () => {
    const path = fresh();
    const writer = new DatabaseSync(path);
    sqliteStore(writer);
    writer.exec('BEGIN IMMEDIATE');
    const reader = new DatabaseSync(path, { timeout: 1 });
    const store = sqliteStore(reader);
    expect(store.findById(RECORD.keyId)).toBe(null);
    await expect(store.insert(RECORD)).rejects.toThrow(/locked/);
    writer.close();
    reader.close();
  });

  test('writes the version, and the oldest version that works with it', () => {
    const { db } = stocked();
    const [row] = db.prepare('SELECT * FROM keyscope_schema').all();
    expect({ ...row }).toEqual({ id: 1, version: 1, min_reader: 1, purge_before: null });
  });

  // A roll-out locked out every process that still ran the previous release.
  test('works on a file that a newer release has added to, and leaves it unchanged', async () => {
    const { db } = stocked();
    db.exec(`
      ALTER TABLE keyscope_keys ADD COLUMN next_one TEXT;
      CREATE TABLE keyscope_next (a);
      UPDATE keyscope_schema SET version = 2, min_reader = 1`);
    migrate(db);
    const store = sqliteStore(db);
    store.insert(another(1));
    expect(store.mark(RECORD.keyId, revokeAt(5))).toBe(true);
    expect(store.listAll({ after: null, limit: 5 })).toMatchObject({
      items: [another(1), { keyId: RECORD.keyId, revokedAt: 5 }],
    });
    expect(await purgeEnded(db, { endedBefore: new Date(6) })).toEqual([RECORD.keyId]);
    expect(readValue(db, 'SELECT version FROM keyscope_schema')).toBe(2);
  });

  test('rejects a file that a newer release has changed, and leaves it unchanged', async () => {
    const { db } = stocked();
    db.exec('UPDATE keyscope_schema SET version = 3, min_reader = 2');
    const why =
      'keyscope: the file has schema version 3, which needs a release that knows ' +
      'version 2 or later; this release knows 1. Upgrade keyscope';
    const purge = (handle: typeof db) => purgeEnded(handle, { endedBefore: new Date(6) });
    for (const act of [migrate, sqliteStore]) expect(() => act(db)).toThrow(why);
    await expect(purge(db)).rejects.toThrow(why);
    expect(readValue(db, 'SELECT version FROM keyscope_schema')).toBe(3);
    expect(db.isTransaction).toBe(false);
  });

  test('does everything or nothing', () => {
    const db = new DatabaseSync(':memory:');
    // Another index has the name of ours, which comes after the table.
    db.exec('CREATE TABLE mine (a); CREATE INDEX keyscope_keys_listing ON mine (a)');
    expect(() => sqliteStore(db)).toThrow(/keyscope_keys_listing/);
    const names = db.prepare('SELECT name FROM sqlite_master').all();
    expect(names.map(({ name }) => name)).toEqual(['mine', 'keyscope_keys_listing']);
    expect(db.isTransaction).toBe(false);
  });
});
