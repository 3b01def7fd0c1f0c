/**
 * SQLite, and D1, which is SQLite.
 *
 * - `insert`, `rowid`: INSERT or UPDATE with OR REPLACE deletes a row that has the same id, digest
 *   or rowid, and fires no trigger for that row. WITHOUT ROWID would make the second trigger
 *   unnecessary, but a page of a listing then takes 70 % longer and a look-up 10 %. The triggers
 *   use `_rowid_`, because a service may add a column called `rowid`. If an INSERT names no rowid,
 *   it is -1 here, which no row has. Add no UNIQUE index: REPLACE could delete rows through it,
 *   too.
 * - `keyscope_addressing`: for each other entity that a key addresses, the place of the key in that
 *   entity's listing. Triggers write it, so that a key and its places are one write.
 * - `keyscope_keys_ended`: the keys that a purge deletes, in its order, without reading any other
 *   key.
 * - `delete`: keys end and stay, so that those in an audit log can still be looked up. `purgeEnded`
 *   deletes rows that ended, and were not changed since, before a time: `purge_before`, which it
 *   sets and clears in one transaction.
 *
 * A backslash at the end of a line joins it with the next one, because a database stores the text
 * of a trigger as it was sent.
 */
import {
  isTime,
  MARKS_STAY,
  NEVER_CHANGES,
  NEVER_DELETED,
  type Versions,
  WITH_A_MARK,
} from '../schema/versions.js';

/** A condition: `column` contains JSON of this type. */
function isJson(column: string, type: 'array' | 'object'): string {
  return `json_valid(${column}) AND json_type(${column}) = '${type}'`;
}

/**
 * A condition: `entity_id` is an id of either kind, except that it may be an API key. GLOB and
 * `length` read a text only up to a NUL.
 */
const IS_ENTITY = `length(entity_id) BETWEEN 1 AND 64 AND instr(entity_id, char(0)) = 0 \
AND entity_id NOT GLOB '*[^A-Za-z0-9._~:@|-]*' AND entity_id NOT IN ('.', '..')`;

const ENDS = ['revoked_at', 'retire_at', 'expires_at'];

/** Returns when a row ends: the earliest of its three ends. The largest integer if it has none. */
export function endOf(row: string): string {
  return `min(${ENDS.map((end) => `ifnull(${row}${end}, 9223372036854775807)`).join(', ')})`;
}

/** Returns when a row had ended, been created and been changed: a purge deletes it after that. */
export function settledAt(row: string): string {
  return `max(${endOf(row)}, ${row}created_at, ifnull(${row}changed_at, ${row}created_at))`;
}

/** A condition: a row has an end. It tells SQLite that it may use the index of ends. */
export function hasEnd(row: string): string {
  return `(${ENDS.map((end) => `${row}${end} IS NOT NULL`).join(' OR ')})`;
}

/** The statements of each version. */
export const SQLITE: Versions = [
  [
    `
CREATE TABLE keyscope_schema (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  version INTEGER NOT NULL CHECK (version > 0),
  min_reader INTEGER NOT NULL CHECK (min_reader > 0),
  purge_before INTEGER
) STRICT`,
    `
CREATE TABLE keyscope_keys (
  format INTEGER NOT NULL,
  key_id TEXT NOT NULL PRIMARY KEY,
  prefix TEXT NOT NULL,
  hint TEXT NOT NULL,
  name TEXT NOT NULL,
  digest TEXT NOT NULL UNIQUE,
  entity_id TEXT NOT NULL CHECK (${IS_ENTITY}),
  accessible_entities TEXT NOT NULL CHECK (${isJson('accessible_entities', 'array')}),
  scopes TEXT NOT NULL CHECK (${isJson('scopes', 'array')}),
  justification TEXT,
  metadata TEXT NOT NULL CHECK (${isJson('metadata', 'object')}),
  created_at INTEGER NOT NULL CHECK (${isTime('created_at')}),
  created_by TEXT,
  expires_at INTEGER CHECK (${isTime('expires_at')}),
  rotated_from TEXT,
  root_key_id TEXT NOT NULL,
  issued_under TEXT,
  trust TEXT,
  seal TEXT,
  revoked_at INTEGER CHECK (${isTime('revoked_at')}),
  suspended_at INTEGER CHECK (${isTime('suspended_at')}),
  retire_at INTEGER CHECK (${isTime('retire_at')}),
  withdrawn TEXT NOT NULL CHECK (${isJson('withdrawn', 'array')}),
  ended_by TEXT,
  end_reason TEXT,
  changed_at INTEGER CHECK (${isTime('changed_at')}),
  last_used_at INTEGER CHECK (${isTime('last_used_at')}),
  scopes_used TEXT NOT NULL CHECK (${isJson('scopes_used', 'object')})
) STRICT`,
    `
CREATE INDEX keyscope_keys_listing ON keyscope_keys (entity_id, prefix, created_at, key_id)`,
    `
CREATE INDEX keyscope_keys_lineage ON keyscope_keys (root_key_id, key_id)`,
    `
CREATE INDEX keyscope_keys_issued ON keyscope_keys (issued_under, key_id) \
WHERE issued_under IS NOT NULL`,
    `
CREATE INDEX keyscope_keys_ended ON keyscope_keys (${endOf('')}, key_id) \
WHERE ${hasEnd('')}`,
    `
CREATE INDEX keyscope_keys_expiring ON keyscope_keys (expires_at, key_id) \
WHERE expires_at IS NOT NULL`,
    `
CREATE INDEX keyscope_keys_changed ON keyscope_keys (changed_at, key_id) \
WHERE changed_at IS NOT NULL`,
    `
CREATE TABLE keyscope_addressing (
  entity_id TEXT NOT NULL CHECK (${IS_ENTITY}),
  prefix TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  key_id TEXT NOT NULL,
  PRIMARY KEY (entity_id, prefix, created_at, key_id)
) STRICT, WITHOUT ROWID`,
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
CREATE TRIGGER keyscope_keys_address AFTER INSERT ON keyscope_keys
BEGIN
  INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id) \
SELECT DISTINCT value, NEW.prefix, NEW.created_at, NEW.key_id \
FROM json_each(NEW.accessible_entities) \
WHERE type = 'text' AND value <> NEW.entity_id;
END`,
    `
CREATE TRIGGER keyscope_keys_update BEFORE UPDATE OF
  format, key_id, prefix, hint, name, digest, entity_id, accessible_entities, scopes, \
justification, metadata, created_at, created_by,
  expires_at, rotated_from, root_key_id, issued_under, trust
ON keyscope_keys
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${NEVER_CHANGES}');
END`,
    `
CREATE TRIGGER keyscope_keys_rowid BEFORE UPDATE ON keyscope_keys
WHEN NEW._rowid_ IS NOT OLD._rowid_
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${NEVER_CHANGES}');
END`,
    `
CREATE TRIGGER keyscope_keys_seal BEFORE UPDATE OF seal ON keyscope_keys
WHEN NEW.seal IS NOT OLD.seal AND (OLD.seal IS NULL OR NEW.revoked_at IS NULL)
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${NEVER_CHANGES}');
END`,
    `
CREATE TRIGGER keyscope_keys_once BEFORE UPDATE OF revoked_at, retire_at ON keyscope_keys
WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at)
  OR (OLD.retire_at IS NOT NULL AND NEW.retire_at IS NOT OLD.retire_at)
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${MARKS_STAY}');
END`,
    `
CREATE TRIGGER keyscope_keys_revoked BEFORE UPDATE OF suspended_at, retire_at ON keyscope_keys
WHEN OLD.revoked_at IS NOT NULL
  AND (NEW.suspended_at, NEW.retire_at) IS NOT (OLD.suspended_at, OLD.retire_at)
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${MARKS_STAY}');
END`,
    `
CREATE TRIGGER keyscope_keys_withdrawn BEFORE UPDATE OF withdrawn ON keyscope_keys
WHEN EXISTS (
  SELECT 1 FROM json_each(OLD.withdrawn)
  WHERE value NOT IN (SELECT value FROM json_each(NEW.withdrawn) WHERE type = 'text')
)
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${MARKS_STAY}');
END`,
    `
CREATE TRIGGER keyscope_keys_accounts BEFORE UPDATE OF
  ended_by, end_reason, changed_at
ON keyscope_keys
WHEN (NEW.revoked_at, NEW.suspended_at, NEW.retire_at, NEW.seal)
    IS (OLD.revoked_at, OLD.suspended_at, OLD.retire_at, OLD.seal)
  AND (
    (NEW.ended_by, NEW.end_reason) IS NOT (OLD.ended_by, OLD.end_reason)
    OR (NEW.changed_at IS NOT OLD.changed_at AND NEW.withdrawn IS OLD.withdrawn)
  )
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${WITH_A_MARK}');
END`,
    `
CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys
WHEN NOT EXISTS (SELECT 1 FROM keyscope_schema WHERE purge_before > ${settledAt('OLD.')})
BEGIN
  SELECT RAISE(ABORT, 'keyscope: ${NEVER_DELETED}');
END`,
    `
CREATE TRIGGER keyscope_keys_unaddress AFTER DELETE ON keyscope_keys
BEGIN
  DELETE FROM keyscope_addressing \
WHERE prefix = OLD.prefix AND created_at = OLD.created_at AND key_id = OLD.key_id \
AND entity_id IN (
    SELECT value FROM json_each(iif(json_valid(OLD.accessible_entities), \
OLD.accessible_entities, '[]'))
  );
END`,
  ],
];
