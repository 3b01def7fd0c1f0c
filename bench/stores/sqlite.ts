import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import BetterSqlite from 'better-sqlite3';
import { purgeEnded, sqliteStore } from 'keyscope/stores/sqlite';
import { digestOf, KINDS } from './records.ts';
import { type Dialect, type Filled, fillSql, insertAll, type Target } from './target.ts';
import { newLog, watch } from './watch.ts';

const DIALECT: Dialect = {
  hex: (number) => `printf('%08x', ${number})`,
  concat: (...texts) => texts.join(' || '),
  asId: (text) => `(${text})`,
  digest: (number) => `digest_of(${number})`,
  replaced: (list, from, to) => `replace(${list}, ${from}, ${to})`,
  numbers: (last) => `(WITH RECURSIVE numbers (ten) AS (
    SELECT 1 UNION ALL SELECT ten + 1 FROM numbers WHERE ten < ${last}
  ) SELECT ten FROM numbers)`,
};

export type Driver = 'node:sqlite' | 'better-sqlite3';

/** Its triggers write the addressing. */
async function fill(file: string, count: number): Promise<void> {
  const database = new DatabaseSync(file);
  await insertAll(sqliteStore(database), 0, KINDS);
  database.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000');
  database.function('digest_of', (number) => digestOf(Number(number)));
  database.exec(fillSql(DIALECT, count)[0] ?? '');
  database.exec('ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)');
  database.close();
}

export async function openSqlite(count: number, driver: Driver): Promise<Filled> {
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-bench-'));
  const file = join(folder, 'keys.db');
  await fill(file, count);
  const database = driver === 'node:sqlite' ? new DatabaseSync(file) : new BetterSqlite(file);
  const log = newLog();
  return {
    store: sqliteStore(database),
    purge: (endedBefore) => purgeEnded(database, { endedBefore }),
    watched: sqliteStore(watch(database, log)),
    log,
    close() {
      database.close();
      rmSync(folder, { recursive: true });
    },
  };
}

export const SQLITE: Target = { name: 'SQLite', open: (count) => openSqlite(count, 'node:sqlite') };
