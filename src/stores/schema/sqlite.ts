/**
 * SQLite, and D1, which is SQLite.
 *
 * - `insert`, `rowid`: INSERT or UPDATE with OR REPLACE deletes a row that has the same id, digest
 *   or rowid, and fires no trigger for that row. WITHOUT ROWID would make the second trigger
 *   unnecessary, but a page of a listing then takes 70 % longer and a look-up 10 %. The triggers
 *   use `_rowid_`, because a service may add a column called `rowid`. If an INSERT names no rowid,
 *   it is -1 here, which no row has. Add no UNIQUE index: REPLACE could delete rows through it,
 *   too.
 * - `delete`: keys are ended and never deleted, so that the keys in an audit log can still be
 *   looked up. If the law requires that a row be deleted, drop this trigger in the transaction that
 *   deletes it.
 *
 * A backslash at the end of a line joins it with the next one, because a database stores the text
 * of a trigger as it was sent.
 */
import { ONLY_MARKS_AND_USAGE, type Versions } from './versions.js';

/** A condition: `column` contains JSON of this type. */
function isJson(column: string, type: 'array' | 'object'): string {
  return `json_valid(${column}) AND json_type(${column}) = '${type}'`;
}

/** The statements of each version. */
export const SQLITE: Versions = [
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
  accessible_entities TEXT NOT NULL CHECK (${isJson('accessible_entities', 'array')}),
  scopes TEXT NOT NULL CHECK (${isJson('scopes', 'array')}),
  justification TEXT,
  metadata TEXT NOT NULL CHECK (${isJson('metadata', 'object')}),
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  retire_at INTEGER,
  rotated_from TEXT,
  last_used_at INTEGER,
  scopes_used TEXT NOT NULL CHECK (${isJson('scopes_used', 'object')})
) STRICT`,
    `
CREATE INDEX keyscope_keys_listing ON keyscope_keys (entity_uuid, created_at, key_id)`,
    `
CREATE TRIGGER keyscope_keys_insert BEFORE INSERT ON keyscope_keys
WHEN EXISTS (
  SELECT 1 FROM keyscope_keys WHERE key_id = NEW.key_id OR digest = NEW.digest \
OR _rowid_ = NEW._rowid_
)
BEGIN
  SELECT RAISE(ABORT, 'keyscope: a key with this id or digest exists already');
END`,
    `
CREATE TRIGGER keyscope_keys_update BEFORE UPDATE OF
  key_id, name, digest, seal, entity_uuid, accessible_entities, scopes, justification, metadata, \
created_at,
  expires_at, rotated_from
ON keyscope_keys
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${ONLY_MARKS_AND_USAGE}');
END`,
    `
CREATE TRIGGER keyscope_keys_rowid BEFORE UPDATE ON keyscope_keys
WHEN NEW._rowid_ IS NOT OLD._rowid_
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${ONLY_MARKS_AND_USAGE}');
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
