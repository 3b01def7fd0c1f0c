import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { KeyRecord } from 'keyscope';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { recordOf } from './keys.ts';
import { COLUMN_LIST, COLUMNS, type Filled, LOOK_UP, type Target } from './target.ts';

type FieldValue = KeyRecord[keyof KeyRecord];

function toColumn(value: FieldValue): string | number | null {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}

function insertAll(database: DatabaseSync, count: number): void {
  const places = COLUMNS.map(() => '?').join(', ');
  const insert = database.prepare(`INSERT INTO keyscope_keys (${COLUMN_LIST}) VALUES (${places})`);
  database.exec('BEGIN');
  for (let i = 0; i < count; i++) {
    insert.run(...Object.values({ ...recordOf(i) }).map(toColumn));
  }
  database.exec('COMMIT');
  database.exec('ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)');
}

function open(count: number): Filled {
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-bench-'));
  const file = join(folder, 'keys.db');
  const keys = new DatabaseSync(file);
  const bare = new DatabaseSync(file);
  const store = sqliteStore(keys);
  insertAll(bare, count);
  const look = bare.prepare(`${LOOK_UP}?`);
  const changes = keys.prepare('SELECT total_changes() AS n');
  return {
    bare: (digest) => look.all(digest)[0],
    store: () => store,
    bytes: async () => ({ data: statSync(file).size, indexes: null }),
    async writes() {
      const { n } = changes.get() ?? {};
      return Number(n);
    },
    close() {
      keys.close();
      bare.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export const SQLITE: Target = { name: 'SQLite', open, url: null, batches: false };
