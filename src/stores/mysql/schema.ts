/**
 * MySQL 8.0.16 or newer, MariaDB 10.6 or newer.
 *
 * - Every statement can be repeated: DDL commits on its own, so an interrupted migration starts
 *   over. MySQL has `CREATE TRIGGER IF NOT EXISTS` only since 8.0.29.
 * - `digest`, `prefix`, `entity_id`: VARBINARY, because every collation that MySQL and MariaDB
 *   share ignores trailing spaces. The id of a key fills its column, so they do not matter there.
 * - LONGTEXT: unless the SQL mode is strict, the server silently truncates a text that is too long
 *   for its column.
 * - The triggers are single statements without an inner semicolon, so that command-line clients and
 *   migration tools need no DELIMITER. They fail by a sum that overflows, which works in every SQL
 *   mode and even with IGNORE, and whose error shows a text. CAST is needed because otherwise
 *   trailing spaces could change.
 * - `keyscope_addressing`: which other entities a key addresses, in the order of the listing. The
 *   store writes it, in one transaction with the key, because servers that speak MySQL's language
 *   may have no triggers. If you insert rows by hand, write it, too.
 * - `ended_at`: when the key ended or will end, null for never. A purge reads keys in this order.
 *   MariaDB cannot index an expression; a virtual column takes room only in the index. Servers that
 *   can hide the column do, so `SELECT *` and an INSERT of its result leave it out.
 * - `delete`: keys end and stay, so that the keys in an audit log can still be looked up.
 *   `purgeEnded` sets `purge_before` during its transaction. SET of a variable is the only
 *   statement that can fail here: DO hides errors, and SIGNAL takes no condition. TRUNCATE fires no
 *   trigger: do not grant DROP.
 */
import {
  isTime,
  MARKS_STAY,
  NEVER_CHANGES,
  NEVER_DELETED,
  type Versions,
} from '../schema/versions.js';

const ID = 'VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin';

/**
 * A condition: `entity_id` is an id of either kind, except that it may be an API key. It looks for
 * what no id contains, because `$` also matches before a line break at the end. Each byte is a
 * character of latin1, so none of them is lost in the conversion.
 */
const IS_ENTITY = `CONVERT(entity_id USING latin1) COLLATE latin1_bin
    NOT REGEXP '[^-A-Za-z0-9._~:@|]|^[.]{0,2}$'`;

/** Returns an expression that fails and shows why, without a semicolon. */
function refusal(why: string): string {
  const said = why.replaceAll(';', ',');
  return `18446744073709551615 + LENGTH('keyscope: ${said}')`;
}

/** A condition: `column` contains JSON of this type. */
function isJson(column: string, type: 'ARRAY' | 'OBJECT'): string {
  return `JSON_VALID(${column}) AND JSON_TYPE(${column}) = '${type}'`;
}

/** The triggers' error if an update changes who ended a key or why, without a mark. */
const ENDINGS_BELONG_TO_MARKS = 'ended_by and end_reason change only together with a mark';

/** A time after every other. */
const NEVER = '9223372036854775807';

/** Returns when a key ends: the earliest of its three ends. */
function endOf(row: '' | 'OLD.'): string {
  const ends = ['revoked_at', 'retire_at', 'expires_at'];
  return `LEAST(${ends.map((end) => `COALESCE(${row}${end}, ${NEVER})`).join(', ')})`;
}

/** Read by MySQL since 8.0.23, and by MariaDB; a comment for others. */
const INVISIBLE = '/*!80023 INVISIBLE */ /*M! INVISIBLE */';

/** The tables and indexes. */
const TABLES: readonly string[] = [
  `
CREATE TABLE IF NOT EXISTS keyscope_schema (
  id INT NOT NULL PRIMARY KEY CHECK (id = 1),
  version INT NOT NULL CHECK (version > 0),
  min_reader INT NOT NULL CHECK (min_reader > 0),
  purge_before BIGINT CHECK (${isTime('purge_before')})
) ENGINE = InnoDB`,
  `
CREATE TABLE IF NOT EXISTS keyscope_keys (
  format INT NOT NULL,
  key_id ${ID} NOT NULL PRIMARY KEY,
  prefix VARBINARY(20) NOT NULL,
  hint VARCHAR(20) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name LONGTEXT NOT NULL,
  digest VARBINARY(255) NOT NULL UNIQUE,
  entity_id VARBINARY(64) NOT NULL,
  accessible_entities LONGTEXT NOT NULL CHECK (${isJson('accessible_entities', 'ARRAY')}),
  scopes LONGTEXT NOT NULL CHECK (${isJson('scopes', 'ARRAY')}),
  justification LONGTEXT,
  metadata LONGTEXT NOT NULL CHECK (${isJson('metadata', 'OBJECT')}),
  created_at BIGINT NOT NULL CHECK (${isTime('created_at')}),
  created_by LONGTEXT,
  expires_at BIGINT CHECK (${isTime('expires_at')}),
  rotated_from ${ID},
  root_key_id ${ID} NOT NULL,
  issued_under ${ID},
  trust LONGTEXT,
  seal VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin,
  revoked_at BIGINT CHECK (${isTime('revoked_at')}),
  suspended_at BIGINT CHECK (${isTime('suspended_at')}),
  retire_at BIGINT CHECK (${isTime('retire_at')}),
  withdrawn LONGTEXT NOT NULL CHECK (${isJson('withdrawn', 'ARRAY')}),
  ended_by LONGTEXT,
  end_reason LONGTEXT,
  changed_at BIGINT CHECK (${isTime('changed_at')}),
  last_used_at BIGINT CHECK (${isTime('last_used_at')}),
  scopes_used LONGTEXT NOT NULL CHECK (${isJson('scopes_used', 'OBJECT')}),
  ended_at BIGINT AS (NULLIF(${endOf('')}, ${NEVER})) VIRTUAL ${INVISIBLE},
  INDEX keyscope_keys_listing (entity_id, prefix, created_at, key_id),
  INDEX keyscope_keys_lineage (root_key_id, key_id),
  INDEX keyscope_keys_issued (issued_under, key_id),
  INDEX keyscope_keys_ended (ended_at, key_id),
  INDEX keyscope_keys_expiring (expires_at, key_id),
  INDEX keyscope_keys_changed (changed_at, key_id),
  CONSTRAINT keyscope_keys_entity CHECK (${IS_ENTITY})
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
  `
CREATE TABLE IF NOT EXISTS keyscope_addressing (
  entity_id VARBINARY(64) NOT NULL,
  prefix VARBINARY(20) NOT NULL,
  created_at BIGINT NOT NULL,
  key_id ${ID} NOT NULL,
  PRIMARY KEY (entity_id, prefix, created_at, key_id),
  INDEX keyscope_addressing_key (key_id),
  CONSTRAINT keyscope_addressing_entity CHECK (${IS_ENTITY})
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`,
];

/** The triggers that limit what may change in a key, and which rows may be deleted. */
const TRIGGERS: readonly string[] = [
  `
DROP TRIGGER IF EXISTS keyscope_keys_update`,
  `
CREATE TRIGGER keyscope_keys_update BEFORE UPDATE ON keyscope_keys FOR EACH ROW
SET NEW.key_id = IF(
  NEW.key_id <=> OLD.key_id
  AND NEW.format <=> OLD.format
  AND NEW.prefix <=> OLD.prefix
  AND CAST(NEW.hint AS BINARY) <=> CAST(OLD.hint AS BINARY)
  AND CAST(NEW.name AS BINARY) <=> CAST(OLD.name AS BINARY)
  AND NEW.digest <=> OLD.digest
  AND NEW.entity_id <=> OLD.entity_id
  AND CAST(NEW.accessible_entities AS BINARY) <=> CAST(OLD.accessible_entities AS BINARY)
  AND CAST(NEW.scopes AS BINARY) <=> CAST(OLD.scopes AS BINARY)
  AND CAST(NEW.justification AS BINARY) <=> CAST(OLD.justification AS BINARY)
  AND CAST(NEW.metadata AS BINARY) <=> CAST(OLD.metadata AS BINARY)
  AND NEW.created_at <=> OLD.created_at
  AND CAST(NEW.created_by AS BINARY) <=> CAST(OLD.created_by AS BINARY)
  AND NEW.expires_at <=> OLD.expires_at
  AND NEW.rotated_from <=> OLD.rotated_from
  AND NEW.root_key_id <=> OLD.root_key_id
  AND NEW.issued_under <=> OLD.issued_under
  AND CAST(NEW.trust AS BINARY) <=> CAST(OLD.trust AS BINARY)
  AND (CAST(NEW.seal AS BINARY) <=> CAST(OLD.seal AS BINARY)
    OR (OLD.seal IS NOT NULL AND NEW.revoked_at IS NOT NULL)),
  NEW.key_id,
  ${refusal(NEVER_CHANGES)})`,
  `
DROP TRIGGER IF EXISTS keyscope_keys_marks`,
  `
CREATE TRIGGER keyscope_keys_marks BEFORE UPDATE ON keyscope_keys FOR EACH ROW
SET NEW.key_id = IF(
  (OLD.retire_at IS NULL OR NEW.retire_at <=> OLD.retire_at)
  AND (NEW.withdrawn <=> OLD.withdrawn OR JSON_CONTAINS(NEW.withdrawn, OLD.withdrawn))
  AND (OLD.revoked_at IS NULL OR (
    NEW.revoked_at <=> OLD.revoked_at
    AND NEW.suspended_at <=> OLD.suspended_at
    AND NEW.retire_at <=> OLD.retire_at
    AND (NEW.changed_at <=> OLD.changed_at
      OR NOT (NEW.withdrawn <=> OLD.withdrawn)
      OR NOT (CAST(NEW.seal AS BINARY) <=> CAST(OLD.seal AS BINARY))))),
  NEW.key_id,
  ${refusal(MARKS_STAY)})`,
  `
DROP TRIGGER IF EXISTS keyscope_keys_endings`,
  `
CREATE TRIGGER keyscope_keys_endings BEFORE UPDATE ON keyscope_keys FOR EACH ROW
SET NEW.key_id = IF(
  (CAST(NEW.ended_by AS BINARY) <=> CAST(OLD.ended_by AS BINARY)
    AND CAST(NEW.end_reason AS BINARY) <=> CAST(OLD.end_reason AS BINARY))
  OR NOT (CAST(NEW.seal AS BINARY) <=> CAST(OLD.seal AS BINARY))
  OR NOT (NEW.revoked_at <=> OLD.revoked_at)
  OR NOT (NEW.suspended_at <=> OLD.suspended_at)
  OR NOT (NEW.retire_at <=> OLD.retire_at),
  NEW.key_id,
  ${refusal(ENDINGS_BELONG_TO_MARKS)})`,
  `
DROP TRIGGER IF EXISTS keyscope_keys_delete`,
  `
CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys FOR EACH ROW
SET @keyscope_deleted = IF(
  ${endOf('OLD.')}
  < (SELECT purge_before FROM keyscope_schema WHERE id = 1),
  OLD.key_id,
  ${refusal(NEVER_DELETED)})`,
];

/** The statements of each version. */
export const MYSQL: Versions = [[...TABLES, ...TRIGGERS]];

/** The same without triggers, for servers that have none. */
export const MYSQL_WITHOUT_TRIGGERS: Versions = [TABLES];
