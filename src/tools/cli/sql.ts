/** What `doctor` asks a database beyond its store, in SQL, over the client that the config has. */
import { type Dialect, MIGRATIONS } from '../../stores/schema/migrations.js';
import type { CommandSql } from './define-config.js';

/** The version of the schema that this release has. */
export const KNOWN_VERSION: number = MIGRATIONS.postgres.length;

/** A question to each kind of database. Each has one column, `answer`. */
interface Questions {
  /** Whether there is a schema: 1 or more. */
  readonly schema: string;
  /** Milliseconds since the epoch; empty where a database has the clock of this machine. */
  readonly clock: string;
  /** 1 or 0; empty where there is no copy that could be asked by mistake. */
  readonly primary: string;
  /** The names of all triggers. */
  readonly triggers: string;
}

const QUESTIONS: Readonly<Record<Dialect, Questions>> = {
  postgres: {
    schema: "SELECT (to_regclass('keyscope_schema') IS NOT NULL)::int AS answer",
    clock: 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint::text AS answer',
    primary: 'SELECT (NOT pg_is_in_recovery())::int AS answer',
    triggers: `
      SELECT tgname AS answer FROM pg_trigger
      WHERE tgrelid = to_regclass('keyscope_keys') AND tgenabled <> 'D'`,
  },
  mysql: {
    schema: `
      SELECT COUNT(*) AS answer FROM information_schema.TABLES
      WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'keyscope_schema'`,
    clock: 'SELECT CAST(ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS CHAR) AS answer',
    primary: "SELECT CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0 AS answer",
    triggers: `
      SELECT TRIGGER_NAME AS answer FROM information_schema.TRIGGERS
      WHERE EVENT_OBJECT_SCHEMA = DATABASE()`,
  },
  sqlite: {
    schema: "SELECT count(*) AS answer FROM sqlite_master WHERE name = 'keyscope_schema'",
    clock: '',
    primary: '',
    triggers: "SELECT name AS answer FROM sqlite_master WHERE type = 'trigger'",
  },
};

/** The answers of all rows. Drivers return integers as numbers, as bigints or as text. */
async function ask({ query }: CommandSql, sql: string): Promise<readonly unknown[]> {
  const rows = await query(sql);
  return rows.map((row) => (row as { readonly answer?: unknown }).answer);
}

/** The version of the schema and the oldest that reads it; 0 where there is none. */
export async function askVersion(
  sql: CommandSql,
): Promise<{ readonly version: number; readonly minReader: number }> {
  const [exists] = await ask(sql, QUESTIONS[sql.dialect].schema);
  if (Number(exists) === 0) return { version: 0, minReader: 0 };
  const [version] = await ask(sql, 'SELECT version AS answer FROM keyscope_schema');
  const [minReader] = await ask(sql, 'SELECT min_reader AS answer FROM keyscope_schema');
  return { version: Number(version ?? 0), minReader: Number(minReader ?? 0) };
}

/** The database's clock, in milliseconds since the epoch; null where it is this machine's. */
export async function askClock(sql: CommandSql): Promise<number | null> {
  const { clock } = QUESTIONS[sql.dialect];
  return clock === '' ? null : Number((await ask(sql, clock))[0]);
}

/** Whether this is the server that is written to; null for a file, which has no copy. */
export async function askPrimary(sql: CommandSql): Promise<boolean | null> {
  const { primary } = QUESTIONS[sql.dialect];
  return primary === '' ? null : Number((await ask(sql, primary))[0]) === 1;
}

/** The triggers of the schema that are not there. */
export async function askMissingTriggers(sql: CommandSql): Promise<readonly string[]> {
  const found = (await ask(sql, QUESTIONS[sql.dialect].triggers)).map(String);
  const schema = MIGRATIONS[sql.dialect].flat().join('\n');
  const names = [...schema.matchAll(/CREATE TRIGGER (\w+)/g)].map(([, name = '']) => name);
  return names.filter((name) => !found.includes(name));
}
