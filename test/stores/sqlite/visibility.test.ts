/** The database that a handle leads to, and other tables on it with the same names. */
import { DatabaseSync } from 'node:sqlite';
import Database from 'better-sqlite3';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { migrate, purgeEnded, type SqliteHandle, sqliteStore } from 'keyscope/stores/sqlite';
import { describe, expect, it } from 'vitest';
import { folder } from '../../support/folder.ts';
import { numbered, RECORD } from '../../support/records.ts';

const another = numbered(RECORD);
const REVOKE = { kind: 'revoke', at: 5, by: null, reason: null, seal: null } as const;

describe('a store', () => {
  // SQLite looks for a name among temporary tables first, so every key was unknown.
  it('uses the tables of the file, whatever other tables the handle has', async () => {
    const own = folder();
    const db = new DatabaseSync(own.file('keys.db'));
    const store = sqliteStore(db);
    await store.insert(RECORD);
    for (const name of ['keyscope_keys', 'keyscope_addressing', 'keyscope_schema']) {
      db.exec(`CREATE TEMP TABLE ${name} AS SELECT * FROM main.${name} WHERE false`);
    }
    db.exec("ATTACH ':memory:' AS other; CREATE TABLE other.keyscope_keys (key_id TEXT)");
    for (const each of [store, sqliteStore(db)]) {
      expect(each.findByDigest([RECORD.digest])).toHaveLength(1);
      expect(each.listAll({ after: null, limit: 9 })).toMatchObject({ items: [{}] });
    }
    await store.insert({ ...another(1), expiresAt: 1 });
    expect(await store.mark(RECORD.keyId, REVOKE)).toBe(true);
    await store.touch([{ keyId: RECORD.keyId, lastUsedAt: 7, scopesUsed: {} }]);
    expect(await purgeEnded(db, { endedBefore: new Date(2) })).toEqual([another(1).keyId]);
    db.close();
    const again = new DatabaseSync(own.file('keys.db'));
    expect(sqliteStore(again).findById(RECORD.keyId)).toMatchObject({
      revokedAt: 5,
      lastUsedAt: 7,
    });
    again.close();
    own.remove();
  });

  it('is not created next to temporary tables, which would get its triggers', () => {
    const db = new DatabaseSync(':memory:');
    db.exec('CREATE TEMP TABLE keyscope_keys (key_id TEXT)');
    expect(() => migrate(db)).toThrow('Open a handle only for keyscope');
  });

  it('does not use a view in the place of a table', () => {
    const db = new DatabaseSync(':memory:');
    sqliteStore(db);
    db.exec(`PRAGMA legacy_alter_table = ON; ALTER TABLE keyscope_keys RENAME TO kept;
      CREATE VIEW keyscope_keys AS SELECT * FROM kept WHERE false`);
    expect(() => sqliteStore(db)).toThrow('view');
  });
});

describe('isInProcess', () => {
  const IN_MEMORY: readonly (readonly [string, () => SqliteHandle])[] = [
    ['node:sqlite :memory:', () => new DatabaseSync(':memory:')],
    ['node:sqlite, a temporary file', () => new DatabaseSync('')],
    ['node:sqlite, shared', () => new DatabaseSync('file:sight?mode=memory&cache=shared')],
    ['better-sqlite3 :memory:', () => new Database(':memory:')],
    ['better-sqlite3, a temporary file', () => new Database('')],
  ];

  it.each(IN_MEMORY)('is true for %s', (_name, open) => {
    expect(sqliteStore(open()).isInProcess).toBe(true);
  });

  it.each([
    ['node:sqlite', (path: string): SqliteHandle => new DatabaseSync(path)],
    ['better-sqlite3', (path: string): SqliteHandle => new Database(path)],
  ])('is false for a file, over %s', (_name, open) => {
    const own = folder();
    const db = open(own.file('keys.db'));
    // A temporary table opens a second database, without a file.
    db.exec('CREATE TEMP TABLE mine (id TEXT)');
    expect(sqliteStore(db).isInProcess).toBe(false);
    own.remove();
  });

  it('is true for memoryStore, and passed on by cacheStore', () => {
    const cached = (store: Parameters<typeof cacheStore>[0]) =>
      cacheStore(store, { cache: new Map(), maxStalenessMs: 1_000 });
    expect(memoryStore().isInProcess).toBe(true);
    expect(cached(memoryStore()).isInProcess).toBe(true);
    const own = folder();
    expect(cached(sqliteStore(new DatabaseSync(own.file('k.db')))).isInProcess).toBe(false);
    own.remove();
  });
});
