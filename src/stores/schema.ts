/**
 * The tables of the SQL stores, version by version. Never edited once released: a change is one more element, and a
 * schema's version is their number. It is kept in a table of its own, `keyscope_schema`.
 *
 * Column by column: what is under the seal, then the marks and the usage, which alone may change. The triggers are for
 * the migration or console session that goes wrong; against a writer who drops them there is the seal.
 */

/** The kinds of database that a schema is written for. D1 is SQLite. */
export type Dialect = 'postgres' | 'mysql' | 'sqlite';

type Versions = readonly (readonly string[])[];

const POSTGRES: Versions = [];

const MYSQL: Versions = [];

// - `insert`: `INSERT OR REPLACE` deletes rows without asking any other trigger.
// - `delete`: keys are ended and never deleted, so that what an audit log names can still be looked up. Where
//   the law wants a row gone, drop this trigger in the transaction that deletes.
const SQLITE: Versions = [
  [
    `
CREATE TABLE keyscope_schema (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL CHECK (version > 0)
) STRICT`,
    `
CREATE TABLE keyscope_keys (
  key_id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  seal TEXT,
  entity_uuid TEXT NOT NULL,
  accessible_entities TEXT NOT NULL CHECK (json_valid(accessible_entities) AND json_type(accessible_entities) = 'array'),
  scopes TEXT NOT NULL CHECK (json_valid(scopes) AND json_type(scopes) = 'array'),
  justification TEXT,
  metadata TEXT NOT NULL CHECK (json_valid(metadata) AND json_type(metadata) = 'object'),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  retire_at INTEGER,
  rotated_from TEXT,
  last_used_at INTEGER,
  scopes_used TEXT NOT NULL CHECK (json_valid(scopes_used) AND json_type(scopes_used) = 'object')
) STRICT`,
    `
CREATE INDEX keyscope_keys_listing ON keyscope_keys (entity_uuid, created_at, key_id)`,
    `
CREATE TRIGGER keyscope_keys_insert BEFORE INSERT ON keyscope_keys
WHEN EXISTS (SELECT 1 FROM keyscope_keys WHERE key_id = NEW.key_id OR digest = NEW.digest)
BEGIN
  SELECT RAISE(ABORT, 'keyscope: a key with this id or digest exists already');
END`,
    `
CREATE TRIGGER keyscope_keys_update BEFORE UPDATE OF
  key_id, name, digest, seal, entity_uuid, accessible_entities, scopes, justification, metadata, created_at,
  expires_at, rotated_from
ON keyscope_keys
BEGIN
  SELECT RAISE(ABORT, 'keyscope: only revoked_at, retire_at, last_used_at and scopes_used of a key ever change');
END`,
    `
CREATE TRIGGER keyscope_keys_marks BEFORE UPDATE OF revoked_at, retire_at ON keyscope_keys
WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at)
  OR (OLD.retire_at IS NOT NULL AND NEW.retire_at IS NOT OLD.retire_at)
BEGIN
  SELECT RAISE(ABORT, 'keyscope: revoked_at and retire_at are written once');
END`,
    `
CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys
BEGIN
  SELECT RAISE(ABORT, 'keyscope: keys are revoked and never deleted');
END`,
  ],
];

/** Of each dialect: the statements that bring version `n` to version `n + 1`. */
export const MIGRATIONS: Readonly<Record<Dialect, Versions>> = { postgres: POSTGRES, mysql: MYSQL, sqlite: SQLITE };

/**
 * The whole schema as plain SQL, for teams with a migration tool of their own: what `migrate` would run on an empty
 * database. Where it was run, `migrate` and the stores find the current version and change nothing.
 *
 * Not checked: which version a database has; on a later release take the difference from the changelog.
 *
 * @throws TypeError on an unknown dialect.
 * @example
 * writeFileSync('migrations/001_keyscope.sql', schemaSql('postgres'));
 */
export function schemaSql(dialect: Dialect): string {
  if (!Object.hasOwn(MIGRATIONS, dialect)) throw new TypeError("schemaSql: pass 'postgres', 'mysql' or 'sqlite'");
  const version = `INSERT INTO keyscope_schema (id, version) VALUES (1, ${MIGRATIONS[dialect].length})`;
  return [...MIGRATIONS[dialect].flat(), version].map((sql) => `${sql.trim()};\n`).join('\n');
}
