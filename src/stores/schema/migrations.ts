/**
 * The tables of the SQL stores, version by version, with a file for each kind of database. Released
 * versions are never edited: a change adds an element, and the number of elements is the version of
 * the schema. The database keeps it in its own table, `keyscope_schema`.
 *
 * Only the marks and the usage may change; the seal covers nearly everything else. The triggers
 * guard against mistakes in a migration or a console session; the seal guards against somebody who
 * drops the triggers.
 */
import { MYSQL } from './mysql.js';
import { POSTGRES } from './postgres.js';
import { SQLITE } from './sqlite.js';
import type { Versions } from './versions.js';

/** The kinds of database that a schema is written for. D1 is SQLite. */
export type Dialect = 'postgres' | 'mysql' | 'sqlite';

/** For each dialect, the statements that migrate version `n` to version `n + 1`. */
export const MIGRATIONS: Readonly<Record<Dialect, Versions>> = {
  postgres: POSTGRES,
  mysql: MYSQL,
  sqlite: SQLITE,
};

/**
 * Returns the whole schema as plain SQL, for teams with their own migration tool: what `migrate`
 * would run on an empty database. Once it has been run, `migrate` and the stores find the current
 * version and change nothing.
 *
 * Not checked: which version a database has; for a later release, take the difference from the
 * changelog.
 *
 * @throws TypeError on an unknown dialect.
 * @example
 * writeFileSync('migrations/001_keyscope.sql', schemaSql('postgres'));
 */
export function schemaSql(dialect: Dialect): string {
  if (!Object.hasOwn(MIGRATIONS, dialect)) {
    throw new TypeError("schemaSql: pass 'postgres', 'mysql' or 'sqlite'");
  }
  const versions = MIGRATIONS[dialect];
  const current = versions.length;
  const writeVersion = `INSERT INTO keyscope_schema (id, version) VALUES (1, ${current})`;
  const statements = [...versions.flat(), writeVersion];
  return statements.map((sql) => `${sql.trim()};\n`).join('\n');
}
