/**
 * MySQL 8.0.16 or newer, MariaDB 10.6 or newer.
 *
 * - Every statement can be repeated: DDL commits by itself, so an interrupted migration starts over
 *   from its beginning. MySQL has `CREATE TRIGGER IF NOT EXISTS` only since 8.0.29.
 * - `digest`: VARBINARY, because every collation that MySQL and MariaDB share ignores trailing
 *   spaces. A UUID fills its column, so the spaces do not matter there.
 * - LONGTEXT: unless the SQL mode is strict, a text that is too long for its column is silently
 *   truncated.
 * - The triggers are single statements without an inner semicolon, so that command-line clients and
 *   migration tools need no DELIMITER. An UPDATE is refused by a sum that overflows: this always
 *   fails, in every SQL mode and even with IGNORE, and its error shows a text. CAST is needed
 *   because otherwise trailing spaces could change.
 * - `delete`: keys are ended and never deleted, so that the keys in an audit log can still be
 *   looked up. If the law requires that a row be deleted, drop this trigger while you delete it.
 *   TRUNCATE fires no trigger: grant nobody DROP.
 */
import { ONLY_MARKS_AND_USAGE, type Versions } from './versions.js';

/** A condition: `column` contains JSON of this type. */
function isJson(column: string, type: 'ARRAY' | 'OBJECT'): string {
  return `JSON_VALID(${column}) AND JSON_TYPE(${column}) = '${type}'`;
}

/** The statements of each version. */
export const MYSQL: Versions = [
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
  accessible_entities LONGTEXT NOT NULL CHECK (${isJson('accessible_entities', 'ARRAY')}),
  scopes LONGTEXT NOT NULL CHECK (${isJson('scopes', 'ARRAY')}),
  justification LONGTEXT,
  metadata LONGTEXT NOT NULL CHECK (${isJson('metadata', 'OBJECT')}),
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT,
  retire_at BIGINT,
  rotated_from VARCHAR(36) CHARACTER SET ascii COLLATE ascii_bin,
  last_used_at BIGINT,
  scopes_used LONGTEXT NOT NULL CHECK (${isJson('scopes_used', 'OBJECT')}),
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
    + LENGTH('keyscope: ${ONLY_MARKS_AND_USAGE}'))`,
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
