/**
 * The tables of the SQL stores, version by version, from the `schema.ts` of each store. Released
 * versions are never edited. A change adds an element; the number of elements is the version of the
 * schema, which the database stores in its table `keyscope_schema`.
 *
 * Only the marks and the usage may change; the seal covers nearly everything else. The triggers
 * guard against mistakes in a migration or a console session. The seal guards against an attacker
 * who drops the triggers.
 */
import { assert } from '../../core/input.js';
import { MYSQL, MYSQL_WITHOUT_TRIGGERS } from '../mysql/schema.js';
import { POSTGRES } from '../postgres/schema.js';
import { SQLITE } from '../sqlite/schema.js';
import { minReaderOf, readTriggers, type SchemaOptions, type Versions } from './versions.js';

/** The kinds of database with a schema. D1 is SQLite. */
export type Dialect = 'postgres' | 'mysql' | 'sqlite';

/** For each dialect, the statements that migrate version `n` to version `n + 1`. */
export const MIGRATIONS: Readonly<Record<Dialect, Versions>> = {
  postgres: POSTGRES,
  mysql: MYSQL,
  sqlite: SQLITE,
};

/**
 * Returns the whole schema as plain SQL, for teams with their own migration tool. It is what
 * `migrate` runs on an empty database. Once you have run it, `migrate` and the stores find the
 * current version and change nothing.
 *
 * Not checked: which version a database has. For a later release, take the difference from the
 * changelog.
 *
 * @param options Only for `mysql`: `{ triggers: false }` leaves out the triggers.
 * @throws TypeError on an unknown dialect, or an unknown or wrong option.
 * @example
 * writeFileSync('migrations/001_keyscope.sql', schemaSql('postgres'));
 */
export function schemaSql(dialect: 'mysql', options?: SchemaOptions): string;
export function schemaSql(dialect: Dialect): string;
export function schemaSql(dialect: Dialect, options: SchemaOptions = {}): string {
  if (!Object.hasOwn(MIGRATIONS, dialect)) {
    throw new TypeError("schemaSql: pass 'postgres', 'mysql' or 'sqlite'");
  }
  const hasTriggers = readTriggers(options, 'schemaSql');
  const instead = `only 'mysql' has this option, and ${dialect} always has triggers; leave it out`;
  assert(hasTriggers || dialect === 'mysql', `schemaSql: triggers: ${instead}`);
  const versions = hasTriggers ? MIGRATIONS[dialect] : MYSQL_WITHOUT_TRIGGERS;
  const current = versions.length;
  const values = `(1, ${current}, ${minReaderOf(current)})`;
  const writeVersion = `INSERT INTO keyscope_schema (id, version, min_reader) VALUES ${values}`;
  const statements = [...versions.flat(), writeVersion];
  return statements.map((sql) => `${sql.trim()};\n`).join('\n');
}
