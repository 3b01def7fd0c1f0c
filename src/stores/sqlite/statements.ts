/**
 * The SQL for SQLite, which the stores in `stores/sqlite` and `stores/d1` share. Parameters are
 * positional.
 */
import { COLUMN_LIST } from '../rows.js';

// Each column AS itself: with `PRAGMA full_column_names`, its name would otherwise begin with the
// table's.
const SELECTED = COLUMN_LIST.replace(/\w+/g, '$& AS $&');
const PLACES = COLUMN_LIST.replace(/\w+/g, '?');
const SELECT = `SELECT ${SELECTED} FROM keyscope_keys WHERE`;

/** Merges the used scopes of a row with those in the JSON text `more`; the later time wins. */
function mergedScopes(more: string): string {
  return `(
    SELECT json_group_object(scope, time) FROM (
      SELECT key AS scope, max(value) AS time
      FROM (
        SELECT key, value FROM json_each(scopes_used)
        UNION ALL SELECT key, value FROM json_each(${more})
      )
      GROUP BY key
    )
  )`;
}

/** A row whose scopes are not a JSON object would fail every batch with its key: it is skipped. */
const TOUCHABLE = "CASE WHEN json_valid(scopes_used) THEN json_type(scopes_used) = 'object' END";

interface Statements {
  /** Returns a row if the table with the schema's version exists. */
  readonly hasVersion: string;
  readonly version: string;
  /** The table's trigger and its UNIQUE columns refuse an existing key id or digest. */
  readonly insert: string;
  /** A keyring with one pepper looks up a single digest, which is faster without JSON. */
  readonly findOneDigest: string;
  /** By a JSON list of digests. */
  readonly findDigests: string;
  readonly findById: string;
  /** One entity's records after a creation time and a key id. */
  readonly list: string;
  readonly revoke: string;
  readonly retire: string;
  /** The usage of one key: its time twice, its scopes as JSON, its id. */
  readonly touch: string;
  /** By a JSON list of entries, one per key. */
  readonly touchAll: string;
  /** Counts the keys that are live at a time, which is passed twice. */
  readonly summarize: string;
}

export const STATEMENTS: Statements = {
  hasVersion: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'keyscope_schema'",

  version: 'SELECT version AS version FROM keyscope_schema',

  insert: `INSERT INTO keyscope_keys (${COLUMN_LIST}) VALUES (${PLACES})`,

  findOneDigest: `${SELECT} digest = ?`,

  findDigests: `${SELECT} digest IN (SELECT value FROM json_each(?))`,

  findById: `${SELECT} key_id = ?`,

  list: `${SELECT} entity_uuid = ? AND (created_at, key_id) < (?, ?)
    ORDER BY created_at DESC, key_id DESC LIMIT ?`,

  revoke: 'UPDATE keyscope_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL',

  retire: `UPDATE keyscope_keys SET retire_at = ?
    WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL`,

  touch: `
    UPDATE keyscope_keys SET
      last_used_at = max(ifnull(last_used_at, ?), ?),
      scopes_used = ${mergedScopes('?')}
    WHERE key_id = ? AND ${TOUCHABLE}`,

  touchAll: `
    UPDATE keyscope_keys SET
      last_used_at = max(ifnull(last_used_at, used.time), used.time),
      scopes_used = ${mergedScopes('used.scopes')}
    FROM (
      SELECT
        value ->> 'keyId' AS id,
        value ->> 'lastUsedAt' AS time,
        value -> 'scopesUsed' AS scopes
      FROM json_each(?)
    ) AS used
    WHERE key_id = used.id AND ${TOUCHABLE}`,

  summarize: `
    SELECT
      substr(digest, 1, instr(digest, '$') - 1) AS scheme,
      count(*) AS live,
      max(last_used_at) AS lastUsedAt
    FROM keyscope_keys
    WHERE revoked_at IS NULL
      AND (retire_at IS NULL OR retire_at > ?)
      AND (expires_at IS NULL OR expires_at > ?)
    GROUP BY scheme`,
};
