/**
 * The tables of the SQL stores, version by version. Never edited once released: a change adds an
 * element, and a schema's version is their number. It is kept in its own table, `keyscope_schema`.
 *
 * Only the marks and the usage may change; nearly everything else is under the seal. The triggers
 * guard against a migration or console session that goes wrong; the seal guards against a writer
 * who drops them.
 */

/** The kinds of database that a schema is written for. D1 is SQLite. */
export type Dialect = 'postgres' | 'mysql' | 'sqlite';

type Versions = readonly (readonly string[])[];

// PostgreSQL 12 or newer.
// - `uuid` and `uuid[]`: half the size of text, no second spelling of an id, and the service's own
//   tables join and reference them without a cast. They sort as their text does.
// - `COLLATE "C"`: digests are compared and sorted byte for byte, whatever the database's own
//   collation is.
// - `fillfactor`: room for usage to be written in place. 92 % of random updates then touch no
//   index, instead of 55 %.
// - `update`, `marks`: AFTER and with a condition instead of a list of columns, so that they see
//   what other triggers made of the row, and call no function unless something is wrong.
// - `delete`: keys are ended and never deleted, so that what an audit log names can still be looked
//   up. If the law requires that a row be deleted, disable this trigger in the transaction that
//   deletes it.
const POSTGRES: Versions = [
  [
    `
CREATE TABLE keyscope_schema (
  id smallint PRIMARY KEY CHECK (id = 1),
  version integer NOT NULL CHECK (version > 0)
)`,
    `
CREATE TABLE keyscope_keys (
  key_id uuid PRIMARY KEY,
  name text NOT NULL,
  digest text COLLATE "C" NOT NULL UNIQUE,
  seal text,
  entity_uuid uuid NOT NULL,
  accessible_entities uuid[] NOT NULL,
  scopes text[] NOT NULL,
  justification text,
  metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object'),
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  retire_at bigint,
  rotated_from uuid,
  last_used_at bigint,
  scopes_used jsonb NOT NULL CHECK (jsonb_typeof(scopes_used) = 'object')
) WITH (fillfactor = 80)`,
    `
CREATE INDEX keyscope_keys_listing ON keyscope_keys (entity_uuid, created_at, key_id)`,
    `
CREATE OR REPLACE FUNCTION keyscope_refuse() RETURNS trigger LANGUAGE plpgsql AS $keyscope$
BEGIN
  RAISE EXCEPTION 'keyscope: %', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END
$keyscope$`,
    `
CREATE TRIGGER keyscope_keys_update AFTER UPDATE ON keyscope_keys FOR EACH ROW
WHEN (
  (OLD.key_id, OLD.name, OLD.digest, OLD.seal, OLD.entity_uuid, OLD.accessible_entities, OLD.scopes,
    OLD.justification, OLD.metadata, OLD.created_at, OLD.expires_at, OLD.rotated_from)
  IS DISTINCT FROM
  (NEW.key_id, NEW.name, NEW.digest, NEW.seal, NEW.entity_uuid, NEW.accessible_entities, NEW.scopes,
    NEW.justification, NEW.metadata, NEW.created_at, NEW.expires_at, NEW.rotated_from)
)
EXECUTE FUNCTION keyscope_refuse('only revoked_at, retire_at, last_used_at and scopes_used of a key ever change')`,
    `
CREATE TRIGGER keyscope_keys_marks AFTER UPDATE ON keyscope_keys FOR EACH ROW
WHEN (
  (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
  OR (OLD.retire_at IS NOT NULL AND NEW.retire_at IS DISTINCT FROM OLD.retire_at)
)
EXECUTE FUNCTION keyscope_refuse('revoked_at and retire_at are written once')`,
    `
CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys FOR EACH ROW
EXECUTE FUNCTION keyscope_refuse('keys are revoked and never deleted')`,
    `
CREATE TRIGGER keyscope_keys_truncate BEFORE TRUNCATE ON keyscope_keys
EXECUTE FUNCTION keyscope_refuse('keys are revoked and never deleted')`,
  ],
];

// MySQL 8.0.16 or newer, MariaDB 10.6 or newer.
// - Every statement can be repeated: DDL commits by itself, so an interrupted migration starts over
//   from its beginning. MySQL has `CREATE TRIGGER IF NOT EXISTS` only since 8.0.29.
// - `digest`: VARBINARY, because text is compared without trailing spaces in every collation that
//   MySQL and MariaDB share. A UUID fills its column, so there the spaces do not matter.
// - LONGTEXT: unless the SQL mode is strict, a text that is too long for its column is silently
//   truncated.
// - The triggers are single statements without an inner semicolon, for which command-line clients
//   and migration tools need no DELIMITER. An UPDATE is refused by a sum that overflows: of the
//   expressions that always fail, in every SQL mode and even with IGNORE, it is the one whose error
//   shows a text. CAST: otherwise trailing spaces could change.
// - `delete`: keys are ended and never deleted, so that what an audit log names can still be looked
//   up. If the law requires that a row be deleted, drop this trigger while you delete it. TRUNCATE
//   fires no trigger: grant nobody DROP.
const MYSQL: Versions = [
  [
    `
CREATE TABLE IF NOT EXISTS keyscope_schema (
  id INT NOT NULL PRIMARY KEY CHECK (id = 1),
  version INT NOT NULL CHECK (version > 0)
) ENGINE = InnoDB`,
    `
CREATE TABLE IF NOT EXISTS keyscope_keys (
  key_id VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  name LONGTEXT NOT NULL,
  digest VARBINARY(255) NOT NULL UNIQUE,
  seal VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin,
  entity_uuid VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  accessible_entities LONGTEXT NOT NULL CHECK (JSON_VALID(accessible_entities) AND JSON_TYPE(accessible_entities) = 'ARRAY'),
  scopes LONGTEXT NOT NULL CHECK (JSON_VALID(scopes) AND JSON_TYPE(scopes) = 'ARRAY'),
  justification LONGTEXT,
  metadata LONGTEXT NOT NULL CHECK (JSON_VALID(metadata) AND JSON_TYPE(metadata) = 'OBJECT'),
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  retire_at BIGINT,
  rotated_from VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
  last_used_at BIGINT,
  scopes_used LONGTEXT NOT NULL CHECK (JSON_VALID(scopes_used) AND JSON_TYPE(scopes_used) = 'OBJECT'),
  INDEX keyscope_keys_listing (entity_uuid, created_at, key_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
    `
DROP TRIGGER IF EXISTS keyscope_keys_update`,
    `
CREATE TRIGGER keyscope_keys_update BEFORE UPDATE ON keyscope_keys FOR EACH ROW
SET NEW.key_id = IF(
  NEW.key_id <=> OLD.key_id
  AND CAST(NEW.name AS BINARY) <=> CAST(OLD.name AS BINARY)
  AND NEW.digest <=> OLD.digest
  AND CAST(NEW.seal AS BINARY) <=> CAST(OLD.seal AS BINARY)
  AND NEW.entity_uuid <=> OLD.entity_uuid
  AND CAST(NEW.accessible_entities AS BINARY) <=> CAST(OLD.accessible_entities AS BINARY)
  AND CAST(NEW.scopes AS BINARY) <=> CAST(OLD.scopes AS BINARY)
  AND CAST(NEW.justification AS BINARY) <=> CAST(OLD.justification AS BINARY)
  AND CAST(NEW.metadata AS BINARY) <=> CAST(OLD.metadata AS BINARY)
  AND NEW.created_at <=> OLD.created_at
  AND NEW.expires_at <=> OLD.expires_at
  AND NEW.rotated_from <=> OLD.rotated_from,
  NEW.key_id,
  18446744073709551615
    + LENGTH('keyscope: only revoked_at, retire_at, last_used_at and scopes_used of a key ever change'))`,
    `
DROP TRIGGER IF EXISTS keyscope_keys_marks`,
    `
CREATE TRIGGER keyscope_keys_marks BEFORE UPDATE ON keyscope_keys FOR EACH ROW
SET NEW.key_id = IF(
  (OLD.revoked_at IS NULL OR NEW.revoked_at <=> OLD.revoked_at)
  AND (OLD.retire_at IS NULL OR NEW.retire_at <=> OLD.retire_at),
  NEW.key_id,
  18446744073709551615 + LENGTH('keyscope: revoked_at and retire_at are written once'))`,
    `
DROP TRIGGER IF EXISTS keyscope_keys_delete`,
    `
CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys FOR EACH ROW
SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'keyscope: keys are revoked and never deleted'`,
  ],
];

// - `insert`, `rowid`: REPLACE, of an INSERT as of an UPDATE, deletes the row whose id, digest or
//   rowid it takes, and fires no trigger of that row. WITHOUT ROWID would make the second
//   unnecessary, but a page of a listing then takes 70 % longer and a look-up 10 %. They use
//   `_rowid_`, because a column that a service adds may be called `rowid`. If an INSERT names no
//   rowid, it is -1 here, which no row has. A UNIQUE index of a service's own would give REPLACE
//   one more way to delete: make none.
// - `delete`: keys are ended and never deleted, so that what an audit log names can still be looked
//   up. If the law requires that a row be deleted, drop this trigger in the transaction that
//   deletes it.
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
WHEN EXISTS (
  SELECT 1 FROM keyscope_keys WHERE key_id = NEW.key_id OR digest = NEW.digest OR _rowid_ = NEW._rowid_
)
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
CREATE TRIGGER keyscope_keys_rowid BEFORE UPDATE ON keyscope_keys
WHEN NEW._rowid_ IS NOT OLD._rowid_
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
  if (!Object.hasOwn(MIGRATIONS, dialect))
    throw new TypeError("schemaSql: pass 'postgres', 'mysql' or 'sqlite'");
  const version = `INSERT INTO keyscope_schema (id, version) VALUES (1, ${MIGRATIONS[dialect].length})`;
  return [...MIGRATIONS[dialect].flat(), version].map((sql) => `${sql.trim()};\n`).join('\n');
}
