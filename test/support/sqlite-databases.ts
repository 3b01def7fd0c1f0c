/** What each file of tests of the SQLite store starts from: files, and a database with a record. */
import { DatabaseSync } from 'node:sqlite';
import type { KeyRecord, KeyStore } from 'keyscope';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterAll } from 'vitest';
import { folder } from './folder.ts';
import { numbered, RECORD } from './records.ts';

/** Names of new files in a folder that goes when the tests of a file are over. */
export function freshFiles(): { readonly fresh: () => string; readonly folder: string } {
  const { file, remove } = folder();
  afterAll(remove);
  let made = 0;
  function fresh(): string {
    made += 1;
    return file(`${made}.db`);
  }
  return { fresh, folder: file('') };
}

/** Others like the record of all tests. */
export const another: (n: number) => KeyRecord = numbered(RECORD);

/** A database in memory, and a store on it. */
export interface Stocked {
  readonly db: DatabaseSync;
  readonly store: KeyStore;
}

/** With the record of all tests in it. */
export function stocked(): Stocked {
  const db = new DatabaseSync(':memory:');
  const store = sqliteStore(db);
  store.insert(RECORD);
  return { db, store };
}

/** The first column of the first row. */
export function readValue(db: SqliteHandle, sql: string): unknown {
  const [row] = db.prepare(sql).all();
  return Object.values(row as object)[0];
}
