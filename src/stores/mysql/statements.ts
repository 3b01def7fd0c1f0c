/** The SQL that reads and writes keys. Parameters are positional. */
import type { Mark } from '../../core/store.js';
import { COLUMN_LIST, COLUMNS, type Column } from '../rows.js';
import { PART_SIZE } from '../summaries.js';
import { FRESHNESS } from './freshness.js';

/** Columns of bytes. */
const BYTES: readonly string[] = ['prefix', 'digest', 'entity_id'];

/**
 * Selects a column as text, because drivers read JSON, bytes and integers differently. One of them
 * can be set to throw on a number that JavaScript cannot hold, and then one damaged row would hide
 * all others.
 */
function asText({ name, kind }: Column): string {
  if (BYTES.includes(name)) return `CONVERT(k.${name} USING utf8mb4)`;
  return kind === 'text' ? `k.${name}` : `CONCAT(k.${name})`;
}

/** Returns the columns of a key, some of them as these expressions. */
function selected(expressions: Readonly<Record<string, string>> = {}): string {
  const columns = COLUMNS.map((column) => {
    return `${expressions[column.name] ?? asText(column)} AS ${column.name}`;
  });
  return columns.join(', ');
}

const PLACES = COLUMN_LIST.replace(/\w+/g, '?');

/**
 * Always with FORCE INDEX: a view in the table's place has no index, so that the server throws
 * instead of missing the keys that the view hides.
 */
const SELECT = `SELECT ${selected()}, ${FRESHNESS} FROM keyscope_keys AS k FORCE INDEX`;

/**
 * Needed in every SELECT that may return several rows: without a LIMIT, `sql_select_limit` would
 * silently truncate the result.
 */
const ALL = 'LIMIT 18446744073709551615';

export const INSERT: string = `INSERT INTO keyscope_keys (${COLUMN_LIST}) VALUES (${PLACES})`;

/** A look-up, with its values. */
export interface LookUp {
  readonly sql: string;
  readonly values: string[];
}

/** Returns a placeholder for each item of a list. */
export function placesFor(list: readonly unknown[]): string {
  return list.map(() => '?').join(', ');
}

/**
 * One more row, without a key. It says whether the answer is current even if nothing was found: a
 * replica that lags does not know a new key, which must not be taken for a bad one.
 */
const NOBODY = `SELECT ${COLUMN_LIST.replace(/\w+/g, 'NULL')}, ${FRESHNESS}`;

/** The numbers of names that a look-up has room for. */
const ROOMS: readonly number[] = [1, 10, 100, 1000];

/**
 * Looks up one or more names, at most 1,000; a row without a key id follows. It has one of four
 * lengths, so that few statements are prepared. Spare places repeat a name.
 */
export function findBy(column: 'digest' | 'key_id', names: readonly string[]): LookUp {
  const [first = ''] = names;
  const length = ROOMS.find((room) => room >= names.length) ?? names.length;
  const values = [...names];
  while (values.length < length) values.push(first);
  const found = `${SELECT} (PRIMARY, digest) WHERE ${column} IN (${placesFor(values)})`;
  return { sql: `${found} UNION ALL ${NOBODY} ${ALL}`, values };
}

/** Selects the ids of one part of a lineage from one index, in its order. */
function idsBy(column: 'root_key_id' | 'issued_under', index: string): string {
  return `(SELECT key_id FROM keyscope_keys FORCE INDEX (${index})
    WHERE ${column} = ? AND key_id > ? ORDER BY key_id LIMIT ?)`;
}

/**
 * Two queries, each with its index: the servers do not always use both for an OR. STRAIGHT_JOIN
 * reads the other columns of these keys only.
 */
export const LIST_LINEAGE: string = `SELECT ${selected()}, ${FRESHNESS} FROM (
  ${idsBy('root_key_id', 'keyscope_keys_lineage')} UNION
  ${idsBy('issued_under', 'keyscope_keys_issued')} ORDER BY key_id LIMIT ?) AS part
  STRAIGHT_JOIN keyscope_keys AS k ON k.key_id = part.key_id ORDER BY part.key_id ${ALL}`;

// ── Listings of an entity ───────────────────────────────────────────────────────────────────────

/** Written so that both servers start reading at the position. */
function isAfter(table: string): string {
  const isOlder = `${table}.created_at < ?`;
  const isAsOld = `${table}.created_at = ? AND ${table}.key_id < ?`;
  return `(${isOlder} OR (${isAsOld}))`;
}

function newestFirst(table: string): string {
  return `ORDER BY ${table}.created_at DESC, ${table}.key_id DESC LIMIT ?`;
}

/** Forces the index: otherwise MariaDB sometimes also reads everything newer than the position. */
const SELECT_OWN = `${SELECT} (keyscope_keys_listing)
  WHERE entity_id = ? AND prefix = ?`;

export const LIST: string = `${SELECT_OWN} ${newestFirst('k')}`;

export const LIST_AFTER: string = `${SELECT_OWN} AND ${isAfter('k')} ${newestFirst('k')}`;

/**
 * If a key or its pair was edited by hand, the row shows the pair's position, where the next part
 * begins. It has no seal, so that it counts as damaged.
 */
const FILED: Readonly<Record<string, string>> = {
  prefix: 'CONVERT(pair.prefix USING utf8mb4)',
  created_at: 'CONCAT(pair.created_at)',
  seal: 'CASE WHEN k.prefix = pair.prefix AND k.created_at = pair.created_at THEN k.seal END',
};

/** STRAIGHT_JOIN reads the pairs in the order of the listing, and only as many as needed. */
const SELECT_ADDRESSING = `SELECT ${selected(FILED)}, ${FRESHNESS}
  FROM keyscope_addressing AS pair FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN keyscope_keys AS k FORCE INDEX (PRIMARY) ON k.key_id = pair.key_id
  WHERE pair.entity_id = ? AND pair.prefix = ?`;

export const LIST_ADDRESSING: string = `${SELECT_ADDRESSING} ${newestFirst('pair')}`;

export const LIST_ADDRESSING_AFTER: string = `${SELECT_ADDRESSING}
  AND ${isAfter('pair')} ${newestFirst('pair')}`;

// ── Listings of all entities ────────────────────────────────────────────────────────────────────

export const LIST_ALL: string = `${SELECT} (PRIMARY) ORDER BY k.key_id LIMIT ?`;

export const LIST_ALL_AFTER: string = `${SELECT} (PRIMARY)
  WHERE key_id > ? ORDER BY k.key_id LIMIT ?`;

export const LIST_EXPIRING: string = `${SELECT} (keyscope_keys_expiring)
  WHERE revoked_at IS NULL AND expires_at < ?
    AND (expires_at > ? OR (expires_at = ? AND key_id > ?))
  ORDER BY k.expires_at, k.key_id LIMIT ?`;

/**
 * Returns one row even if no key was marked, which says whether the answer is current. A replica
 * that lags would otherwise seem to have no changes.
 */
export const LIST_CHANGED: string = `
  SELECT marked.key_id, CONCAT(marked.changed_at) AS changed_at, ${FRESHNESS}
  FROM (SELECT 1 AS one) AS here LEFT JOIN (
    SELECT key_id, changed_at FROM keyscope_keys FORCE INDEX (keyscope_keys_changed)
    WHERE changed_at > ? OR (changed_at = ? AND key_id > ?)
    ORDER BY changed_at, key_id LIMIT ?) AS marked ON here.one = 1
  ORDER BY marked.changed_at, marked.key_id ${ALL}`;

export const SUMMARIZE: string = `
  SELECT
    CONVERT(LEFT(digest, LOCATE('$', digest) - 1) USING utf8mb4) AS scheme,
    COUNT(CASE WHEN is_live THEN 1 END) AS live,
    CONCAT(MAX(CASE WHEN is_live THEN last_used_at END)) AS last_used_at,
    COUNT(*) AS row_count,
    MAX(key_id) AS last_id,
    ${FRESHNESS}
  FROM (
    SELECT key_id, digest, last_used_at,
      revoked_at IS NULL
        AND (retire_at IS NULL OR retire_at > ?)
        AND (expires_at IS NULL OR expires_at > ?) AS is_live
    FROM keyscope_keys FORCE INDEX (PRIMARY)
    WHERE key_id > ? ORDER BY key_id LIMIT ${PART_SIZE}) AS part
  GROUP BY scheme ${ALL}`;

// ── Marks ───────────────────────────────────────────────────────────────────────────────────────

/**
 * Only MariaDB reads the comment as SQL. It checks every constraint of a row in every update, so a
 * damaged row could not be revoked, and would fail every batch of usage.
 */
const UNCHECKED = '/*M! SET STATEMENT check_constraint_checks = 0 FOR */';

/** A time before every other. */
const NEVER = '-8640000000000000';

/** Every mark moves this only forward, because the clocks of processes differ. */
const CHANGED = `changed_at = GREATEST(COALESCE(changed_at, ${NEVER}), ?)`;

/**
 * One conditional UPDATE for each kind. If its condition holds, the row changes, so it does not
 * matter whether the driver counts matched or changed rows.
 */
export const MARKS: Readonly<Record<Mark['kind'], string>> = {
  // The second and third place of the condition are both the seal that is replaced.
  revoke: `${UNCHECKED} UPDATE keyscope_keys
  SET revoked_at = COALESCE(revoked_at, ?), ${CHANGED}, ended_by = ?, end_reason = ?, seal = ?
  WHERE key_id = ? AND IF(revoked_at IS NULL, ? IS NULL, CAST(seal AS BINARY) = ?)`,

  suspend: `UPDATE keyscope_keys
  SET suspended_at = ?, ${CHANGED}, ended_by = ?, end_reason = ?
  WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NULL`,

  resume: `UPDATE keyscope_keys
  SET suspended_at = NULL, ${CHANGED}, ended_by = NULL, end_reason = NULL
  WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NOT NULL`,

  // The servers put a space after each comma of a list that they append to. X'' is empty even with
  // the SQL mode EMPTY_STRING_IS_NULL.
  retire: `UPDATE keyscope_keys
  SET retire_at = ?, ${CHANGED}, ended_by = ?, end_reason = ?
  WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL AND suspended_at IS NULL
    AND REPLACE(withdrawn, ' ', X'') = ?`,

  // Leaves a value alone that is not a JSON array.
  withdraw: `UPDATE keyscope_keys
  SET withdrawn = JSON_ARRAY_APPEND(withdrawn, '$', CONVERT(? USING utf8mb4)), ${CHANGED}
  WHERE key_id = ? AND CASE WHEN JSON_VALID(withdrawn) AND JSON_TYPE(withdrawn) = 'ARRAY'
    THEN NOT JSON_CONTAINS(withdrawn, JSON_QUOTE(?)) END`,
};

// ── Usage ───────────────────────────────────────────────────────────────────────────────────────

/**
 * {@link UNCHECKED} for usage, which waits at most half a second for a row that another transaction
 * holds. On MySQL, a variable of the connection sets that limit.
 */
const IMPATIENTLY = `/*M! SET STATEMENT
  check_constraint_checks = 0, innodb_lock_wait_timeout = 1, max_statement_time = 0.5 FOR */`;

/** Sets the variable, in whole seconds, the only unit that MySQL has. Every server runs both. */
export const HURRY: string =
  'SET @keyscope_lock_wait = @@innodb_lock_wait_timeout, innodb_lock_wait_timeout = 1';
export const HURRY_NO_MORE: string = 'SET innodb_lock_wait_timeout = @keyscope_lock_wait';

/**
 * Returns the stored usage of some keys, and the version that shows whether it has changed since.
 */
export function findUsage(keyIds: readonly string[]): string {
  return `SELECT key_id, CONCAT(last_used_at) AS last_used_at, CONCAT(scopes_used) AS scopes_used,
  ${VERSION} AS version
  FROM keyscope_keys WHERE key_id IN (${placesFor(keyIds)}) ${ALL}`;
}

/** A text that differs whenever the used scopes do. */
const VERSION = 'SHA2(scopes_used, 256)';

/**
 * Writes the usage of some keys, if their scopes are still as they were read. The forced index
 * makes it read, and so lock, only these rows in their order: batches may wait for each other, but
 * cannot deadlock.
 *
 * Its placeholders: each key's id and time; id and scopes; the ids; id and version.
 */
export function touchStatement(count: number): string {
  const cases = ' WHEN ? THEN ?'.repeat(count);
  const ids = Array.from({ length: count }, () => '?');
  return `${IMPATIENTLY} UPDATE keyscope_keys FORCE INDEX (PRIMARY)
  SET last_used_at = GREATEST(COALESCE(last_used_at, ${NEVER}), CASE key_id${cases} END),
    scopes_used = JSON_MERGE_PATCH(scopes_used, CASE key_id${cases} END)
  WHERE key_id IN (${ids.join(', ')}) AND CAST(${VERSION} AS BINARY) = CASE key_id${cases} END`;
}

/** Selects those of some keys whose rows nobody holds. */
export function findFree(keyIds: readonly string[]): string {
  return `SELECT key_id FROM keyscope_keys FORCE INDEX (PRIMARY)
  WHERE key_id IN (${placesFor(keyIds)}) ${ALL} FOR UPDATE SKIP LOCKED`;
}
