/** The SQL that reads and writes keys. Parameters are positional. */
import { COLUMN_LIST } from '../rows.js';
import { FRESHNESS } from './freshness.js';

/** Columns selected as text, because drivers differ in what they make of JSON and bytes. */
const AS_TEXT: Readonly<Record<string, string>> = {
  digest: 'CONVERT(digest USING utf8mb4)',
  accessible_entities: 'CONCAT(accessible_entities)',
  scopes: 'CONCAT(scopes)',
  metadata: 'CONCAT(metadata)',
  scopes_used: 'CONCAT(scopes_used)',
};

function selected(column: string): string {
  const text = AS_TEXT[column];
  return text === undefined ? column : `${text} AS ${column}`;
}

const SELECTED = COLUMN_LIST.replace(/\w+/g, (column) => selected(column));
const PLACES = COLUMN_LIST.replace(/\w+/g, '?');

const SELECT = `SELECT ${SELECTED}, ${FRESHNESS} FROM keyscope_keys`;
const NEWEST_FIRST = 'ORDER BY created_at DESC, key_id DESC LIMIT ?';

/**
 * Needed in every SELECT that may return several rows: without a LIMIT, `sql_select_limit` would
 * silently truncate the result.
 */
const ALL = 'LIMIT 18446744073709551615';

export const INSERT: string = `INSERT INTO keyscope_keys (${COLUMN_LIST}) VALUES (${PLACES})`;

export const FIND_BY_ID: string = `${SELECT} WHERE key_id = ?`;

/** A look-up, with its values. */
export interface LookUp {
  readonly sql: string;
  readonly values: string[];
}

/**
 * Looks up one or more digests. The statement has one of eleven lengths, so that no connection
 * prepares a thousand statements; spare places repeat a digest.
 */
export function findByDigests(digests: readonly string[]): LookUp {
  const [first = ''] = digests;
  const length = 2 ** Math.ceil(Math.log2(digests.length));
  const values = [...digests];
  while (values.length < length) values.push(first);
  const places = values.map(() => '?').join(', ');
  return { sql: `${SELECT} WHERE digest IN (${places}) ${ALL}`, values };
}

export const LIST: string = `${SELECT} WHERE entity_uuid = ? ${NEWEST_FIRST}`;

export const LIST_AFTER: string = `${SELECT}
  WHERE entity_uuid = ? AND created_at <= ? AND (created_at < ? OR key_id < ?) ${NEWEST_FIRST}`;

export const REVOKE: string = `UPDATE keyscope_keys SET revoked_at = ?
  WHERE key_id = ? AND revoked_at IS NULL`;

export const RETIRE: string = `UPDATE keyscope_keys SET retire_at = ?
  WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL`;

/** The time of a scope in the row, as JSON text; null if there is none. */
const KNOWN_TIME =
  "CAST(JSON_EXTRACT(k.scopes_used, CONCAT('$.', JSON_QUOTE(used.scope))) AS CHAR)";

/**
 * A batch, `[[key id, last used, [[scope, time], …]], …]`, as one statement. For each scope in the
 * batch, the subquery picks the later of both times; these are merged over the row's. STRAIGHT_JOIN
 * and FORCE INDEX lock only the rows of the batch, in its order: sorted batches may wait for each
 * other, but cannot deadlock. If a row's scopes are not a JSON object, they would fail every batch
 * that contains the key, so such a row is skipped; so is an invalid time.
 */
export const TOUCH: string = `
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    key_id VARCHAR(36) PATH '$[0]',
    last_used_at BIGINT PATH '$[1]',
    scopes_used JSON PATH '$[2]')) AS entry
  STRAIGHT_JOIN keyscope_keys AS k FORCE INDEX (PRIMARY)
    ON k.key_id = CONVERT(entry.key_id USING ascii) COLLATE ascii_bin
  SET
    k.last_used_at = GREATEST(COALESCE(k.last_used_at, entry.last_used_at), entry.last_used_at),
    k.scopes_used = JSON_MERGE_PATCH(k.scopes_used, COALESCE((
      SELECT JSON_OBJECTAGG(used.scope, GREATEST(used.time, COALESCE(
        CASE WHEN ${KNOWN_TIME} REGEXP '^-?[0-9]{1,16}$'
          THEN CAST(${KNOWN_TIME} AS SIGNED) END,
        used.time)))
      FROM JSON_TABLE(entry.scopes_used, '$[*]' COLUMNS (
        scope VARCHAR(255) PATH '$[0]', time BIGINT PATH '$[1]')) AS used), '{}'))
  WHERE CASE WHEN JSON_VALID(k.scopes_used) THEN JSON_TYPE(k.scopes_used) = 'OBJECT' END`;

export const SUMMARIZE: string = `
  SELECT
    CONVERT(LEFT(digest, LOCATE('$', digest) - 1) USING utf8mb4) AS scheme,
    COUNT(*) AS live,
    MAX(last_used_at) AS last_used_at,
    ${FRESHNESS}
  FROM keyscope_keys
  WHERE revoked_at IS NULL
    AND (retire_at IS NULL OR retire_at > ?)
    AND (expires_at IS NULL OR expires_at > ?)
  GROUP BY scheme ${ALL}`;
