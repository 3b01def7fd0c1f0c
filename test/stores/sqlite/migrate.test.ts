import { DatabaseSync } from 'node:sqlite';
import { migrate, sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, test } from 'vitest';
import { RECORD } from '../../support/records.ts';
import { freshFiles, readValue, stocked } from '../../support/sqlite-databases.ts';

const { fresh } = freshFiles();

describe('migrate', () => {
  test('can be repeated and keeps what is there', () => {
    const { db, store } = stocked();
    const schema = db.prepare('SELECT sql FROM sqlite_master').all();
    migrate(db);
    sqliteStore(db);
    expect(db.prepare('SELECT sql FROM sqlite_master').all()).toEqual(schema);
    expect(store.findById(RECORD.keyId)).toEqual(RECORD);
  });

  test('waits for locks when it is called by itself', () => {
    const db = new DatabaseSync(':memory:');
    migrate(db);
    expect(readValue(db, 'PRAGMA busy_timeout')).toBe(5000);
    expect(sqliteStore(db).findById(RECORD.keyId)).toBe(null);
  });

  test('takes no lock if the schema is current', () => {
    const path = fresh();
    const writer = new DatabaseSync(path);
    sqliteStore(writer);
    writer.exec('BEGIN IMMEDIATE');
    const reader = new DatabaseSync(path, { timeout: 1 });
    const store = sqliteStore(reader);
    expect(store.findById(RECORD.keyId)).toBe(null);
    expect(() => store.insert(RECORD)).toThrow(/locked/);
    writer.close();
    reader.close();
  });

  test('refuses a file that a newer release has migrated, and leaves it', () => {
    const { db } = stocked();
    db.exec('UPDATE keyscope_schema SET version = 2');
    const why = 'keyscope: the file has schema 2 and this release knows 1; upgrade it';
    for (const act of [migrate, sqliteStore]) expect(() => act(db)).toThrow(why);
    expect(readValue(db, 'SELECT version FROM keyscope_schema')).toBe(2);
    expect(db.isTransaction).toBe(false);
  });

  test('does all of it or nothing', () => {
    const db = new DatabaseSync(':memory:');
    // Somebody has the name of the index, which comes after the table.
    db.exec('CREATE TABLE mine (a); CREATE INDEX keyscope_keys_listing ON mine (a)');
    expect(() => sqliteStore(db)).toThrow(/keyscope_keys_listing/);
    const names = db.prepare('SELECT name FROM sqlite_master').all();
    expect(names.map(({ name }) => name)).toEqual(['mine', 'keyscope_keys_listing']);
    expect(db.isTransaction).toBe(false);
  });
});
