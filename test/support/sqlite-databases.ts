/** Fixtures of the SQLite store's tests: files, and a database with a record. */
import { DatabaseSync } from 'node:sqlite';
import type { KeyRecord, Mark } from 'keyscope';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterAll } from 'vitest';
import { folder } from './folder.ts';
import { numbered, RECORD } from './records.ts';

/** Makes names of new files in a folder, which is removed after the tests of a file. */
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

/** Makes records like the one of all tests. */
export const another: (n: number) => KeyRecord = numbered(RECORD);

/** Makes a revocation that gives the record another seal. */
export function revokeAt(at: number): Mark {
  return { kind: 'revoke', at, by: null, reason: null, seal: 'end' };
}

/** A database in memory, and a store on it. */
export interface Stocked {
  readonly db: DatabaseSync;
  readonly store: ReturnType<typeof sqliteStore>;
}

/** Makes a database with the record of all tests. */
export function stocked(): Stocked {
  const db = new DatabaseSync(':memory:');
  const store = sqliteStore(db);
  store.insert(RECORD);
  return { db, store };
}

/** Returns the first column of the first row. */
export function readValue(db: SqliteHandle, sql: string): unknown {
  const [row] = db.prepare(sql).all();
  return Object.values(row as object)[0];
}

/** Removes what would stop an edit by hand: CHECKs, and the triggers that refuse edits. */
export function dropSafeguards(db: SqliteHandle): void {
  const refusing = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%RAISE(%'")
    .all() as readonly { readonly name: string }[];
  for (const { name } of refusing) db.exec(`DROP TRIGGER ${name}`);
  db.exec('PRAGMA ignore_check_constraints = ON');
}
