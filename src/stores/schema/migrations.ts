/**
 * The tables of the SQL stores, version by version, a file for each kind of database. Never edited
 * once released: a change adds an element, and a schema's version is their number. It is kept in
 * its own table, `keyscope_schema`.
 *
 * Only the marks and the usage may change; nearly everything else is under the seal. The triggers
 * guard against a migration or console session that goes wrong; the seal guards against a writer
 * who drops them.
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
  const keepVersion = `INSERT INTO keyscope_schema (id, version) VALUES (1, ${current})`;
  const statements = [...versions.flat(), keepVersion];
  return statements.map((sql) => `${sql.trim()};\n`).join('\n');
}
