/** Common set-up of the SQLite store's test files: new files, and a database with a record. */
import { DatabaseSync } from 'node:sqlite';
import type { KeyRecord, Mark } from 'keyscope';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { afterAll } from 'vitest';
import { folder } from './folder.ts';
import { numbered, RECORD } from './records.ts';

/** Names of new files in a folder that is removed after the tests of a file. */
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

/** More records like the one that all tests use. */
export const another: (n: number) => KeyRecord = numbered(RECORD);

/** A revocation that gives the record a new seal. */
export function revokeAt(at: number): Mark {
  return { kind: 'revoke', at, by: null, reason: null, seal: 'end' };
}

/** An in-memory database with a store. */
export interface Stocked {
  readonly db: DatabaseSync;
  readonly store: ReturnType<typeof sqliteStore>;
}

/** Creates one that has the record of all tests. */
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

/** Drops what would reject a direct edit: CHECKs and triggers. */
export function dropSafeguards(db: SqliteHandle): void {
  const refusing = db
    .prepare("SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%RAISE(%'")
    .all() as readonly { readonly name: string }[];
  for (const { name } of refusing) db.exec(`DROP TRIGGER ${name}`);
  db.exec('PRAGMA ignore_check_constraints = ON');
}
