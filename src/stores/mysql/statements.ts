/** The SQL that reads and writes keys. Parameters are positional. */
import type { Mark } from '../../core/store.js';
import { COLUMN_LIST } from '../rows.js';
import { PART_SIZE } from '../summaries.js';
import { FRESHNESS } from './freshness.js';

/**
 * Columns selected as text, because drivers differ in what they make of JSON, of bytes and of
 * integers: one of them can be told to throw over a number that JavaScript cannot hold, and then
 * one damaged row would hide all others.
 */
const AS_TEXT: Readonly<Record<string, string>> = {
  prefix: 'CONVERT(k.prefix USING utf8mb4)',
  digest: 'CONVERT(k.digest USING utf8mb4)',
  accessible_entities: 'CONCAT(k.accessible_entities)',
  scopes: 'CONCAT(k.scopes)',
  metadata: 'CONCAT(k.metadata)',
  created_at: 'CONCAT(k.created_at)',
  expires_at: 'CONCAT(k.expires_at)',
  revoked_at: 'CONCAT(k.revoked_at)',
  suspended_at: 'CONCAT(k.suspended_at)',
  retire_at: 'CONCAT(k.retire_at)',
  withdrawn: 'CONCAT(k.withdrawn)',
  changed_at: 'CONCAT(k.changed_at)',
  last_used_at: 'CONCAT(k.last_used_at)',
  scopes_used: 'CONCAT(k.scopes_used)',
};

/** The columns of a key, some of them as these expressions. */
function selected(expressions: Readonly<Record<string, string>>): string {
  return COLUMN_LIST.replace(/\w+/g, (column) => {
    const expression = expressions[column] ?? `k.${column}`;
    return `${expression} AS ${column}`;
  });
}

const PLACES = COLUMN_LIST.replace(/\w+/g, '?');

const SELECT = `SELECT ${selected(AS_TEXT)}, ${FRESHNESS} FROM keyscope_keys AS k`;

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

/** A place for each of a list. */
export function placesFor(list: readonly unknown[]): string {
  return list.map(() => '?').join(', ');
}

/**
 * One row more, of no key: it says whether the answer is current even if nothing was found. A
 * replica that lags does not know a new key, which is then no bad one.
 */
const NOBODY = `SELECT ${COLUMN_LIST.replace(/\w+/g, 'NULL')}, ${FRESHNESS}`;

/** How many names a look-up has room for. */
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
  const found = `${SELECT} WHERE ${column} IN (${placesFor(values)})`;
  return { sql: `${found} UNION ALL ${NOBODY} ${ALL}`, values };
}

/** Two queries, each with its index: the servers do not always use both for an OR. */
export const LIST_LINEAGE: string = `${SELECT} WHERE root_key_id = ?
  UNION ALL ${SELECT} WHERE issued_under = ? AND root_key_id <> ? ${ALL}`;

// ── Listings of an entity ───────────────────────────────────────────────────────────────────────

/** Written so that both servers begin to read at the position. */
function isAfter(table: string): string {
  const isOlder = `${table}.created_at < ?`;
  const isAsOld = `${table}.created_at = ? AND ${table}.key_id < ?`;
  return `(${isOlder} OR (${isAsOld}))`;
}

function newestFirst(table: string): string {
  return `ORDER BY ${table}.created_at DESC, ${table}.key_id DESC LIMIT ?`;
}

/** By itself, MariaDB sometimes reads all that is newer than the position, too. */
const SELECT_OWN = `${SELECT} FORCE INDEX (keyscope_keys_listing)
  WHERE entity_uuid = ? AND prefix = ?`;

export const LIST: string = `${SELECT_OWN} ${newestFirst('k')}`;

export const LIST_AFTER: string = `${SELECT_OWN} AND ${isAfter('k')} ${newestFirst('k')}`;

/**
 * Where somebody has edited a key or its pair, the position is the pair's, after which the next
 * part begins, and the row has no seal, so that it shows as damaged.
 */
const FILED: Readonly<Record<string, string>> = {
  ...AS_TEXT,
  prefix: 'CONVERT(pair.prefix USING utf8mb4)',
  created_at: 'CONCAT(pair.created_at)',
  seal: 'CASE WHEN k.prefix = pair.prefix AND k.created_at = pair.created_at THEN k.seal END',
};

/** STRAIGHT_JOIN reads the pairs in the order of the listing, and only as many as are wanted. */
const SELECT_ADDRESSING = `SELECT ${selected(FILED)}, ${FRESHNESS}
  FROM keyscope_addressing AS pair FORCE INDEX (PRIMARY)
  STRAIGHT_JOIN keyscope_keys AS k ON k.key_id = pair.key_id
  WHERE pair.entity_uuid = ? AND pair.prefix = ?`;

export const LIST_ADDRESSING: string = `${SELECT_ADDRESSING} ${newestFirst('pair')}`;

export const LIST_ADDRESSING_AFTER: string = `${SELECT_ADDRESSING}
  AND ${isAfter('pair')} ${newestFirst('pair')}`;

// ── Listings of all entities ────────────────────────────────────────────────────────────────────

export const LIST_ALL: string = `${SELECT} ORDER BY k.key_id LIMIT ?`;

export const LIST_ALL_AFTER: string = `${SELECT} WHERE key_id > ? ORDER BY k.key_id LIMIT ?`;

export const LIST_EXPIRING: string = `${SELECT}
  WHERE revoked_at IS NULL AND expires_at < ?
    AND (expires_at > ? OR (expires_at = ? AND key_id > ?))
  ORDER BY k.expires_at, k.key_id LIMIT ?`;

/**
 * One row even if no key was marked: it says whether the answer is current. A replica that lags
 * would say that nothing has changed.
 */
export const LIST_CHANGED: string = `
  SELECT marked.key_id, CONCAT(marked.changed_at) AS changed_at, ${FRESHNESS}
  FROM (SELECT 1 AS one) AS here LEFT JOIN (
    SELECT key_id, changed_at FROM keyscope_keys
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
 * Only MariaDB reads the comment as SQL. It checks every constraint of a row in every update, so
 * that a row that somebody has damaged could not be revoked, and would fail every batch of usage.
 */
const UNCHECKED = '/*M! SET STATEMENT check_constraint_checks = 0 FOR */';

/**
 * One conditional UPDATE for each kind. If its condition holds, the row changes, so it does not
 * matter whether the driver counts matched or changed rows.
 */
export const MARKS: Readonly<Record<Mark['kind'], string>> = {
  revoke: `${UNCHECKED} UPDATE keyscope_keys
  SET revoked_at = ?, changed_at = ?, ended_by = ?, end_reason = ?, seal = ?
  WHERE key_id = ? AND (revoked_at IS NULL OR CAST(seal AS BINARY) = ?)`,

  suspend: `UPDATE keyscope_keys
  SET suspended_at = ?, changed_at = ?, ended_by = ?, end_reason = ?
  WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NULL`,

  resume: `UPDATE keyscope_keys
  SET suspended_at = NULL, changed_at = ?, ended_by = NULL, end_reason = NULL
  WHERE key_id = ? AND revoked_at IS NULL AND suspended_at IS NOT NULL`,

  // The servers put a space after each comma of a list that they append to.
  retire: `UPDATE keyscope_keys
  SET retire_at = ?, changed_at = ?, ended_by = ?, end_reason = ?
  WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL AND suspended_at IS NULL
    AND REPLACE(withdrawn, ' ', '') = ?`,

  // A value that is not a JSON array is left alone.
  withdraw: `UPDATE keyscope_keys
  SET withdrawn = JSON_ARRAY_APPEND(withdrawn, '$', CONVERT(? USING utf8mb4)), changed_at = ?
  WHERE key_id = ? AND CASE WHEN JSON_VALID(withdrawn) AND JSON_TYPE(withdrawn) = 'ARRAY'
    THEN NOT JSON_CONTAINS(withdrawn, JSON_QUOTE(?)) END`,
};

// ── Usage ───────────────────────────────────────────────────────────────────────────────────────

/**
 * {@link UNCHECKED} for usage, which is not worth a longer wait for a row that somebody else holds:
 * half a second. On MySQL the connection's own variable says so.
 */
const IMPATIENTLY = `/*M! SET STATEMENT
  check_constraint_checks = 0, innodb_lock_wait_timeout = 1, max_statement_time = 0.5 FOR */`;

/** Sets the variable, in whole seconds, which is what MySQL has. Every server runs both. */
export const HURRY: string =
  'SET @keyscope_lock_wait = @@innodb_lock_wait_timeout, innodb_lock_wait_timeout = 1';
export const HURRY_NO_MORE: string = 'SET innodb_lock_wait_timeout = @keyscope_lock_wait';

/** What is stored of the use of some keys, and what tells whether it has changed since. */
export function findUsage(keyIds: readonly string[]): string {
  return `SELECT key_id, CONCAT(last_used_at) AS last_used_at, CONCAT(scopes_used) AS scopes_used,
  ${VERSION} AS version
  FROM keyscope_keys WHERE key_id IN (${placesFor(keyIds)}) ${ALL}`;
}

/** Of scopes that were used: a text that is another one as soon as the scopes are. */
const VERSION = 'SHA2(scopes_used, 256)';

/** Before every time. */
const NEVER = '-8640000000000000';

/**
 * Writes the use of some keys where their scopes are as they were read. The index is forced, so
 * that it reads, and so locks, no other row, and these in their order: batches may wait for each
 * other, but cannot deadlock.
 *
 * Its places: for each key its id and time; id and scopes; the ids; id and version.
 */
export function touchStatement(count: number): string {
  const cases = ' WHEN ? THEN ?'.repeat(count);
  const ids = Array.from({ length: count }, () => '?');
  return `${IMPATIENTLY} UPDATE keyscope_keys FORCE INDEX (PRIMARY)
  SET last_used_at = GREATEST(COALESCE(last_used_at, ${NEVER}), CASE key_id${cases} END),
    scopes_used = JSON_MERGE_PATCH(scopes_used, CASE key_id${cases} END)
  WHERE key_id IN (${ids.join(', ')}) AND CAST(${VERSION} AS BINARY) = CASE key_id${cases} END`;
}

/** Of some keys, those whose rows nobody holds. */
export function findFree(keyIds: readonly string[]): string {
  return `SELECT key_id FROM keyscope_keys FORCE INDEX (PRIMARY)
  WHERE key_id IN (${placesFor(keyIds)}) ${ALL} FOR UPDATE SKIP LOCKED`;
}

// ── Purges ──────────────────────────────────────────────────────────────────────────────────────

/** How many keys are deleted in one transaction; each can have a thousand pairs. */
const PURGE_BATCH = 100;

/** How many rows of a table end after a time, or never. */
function liveIn(table: 'successor' | 'child', condition: string): string {
  return `(SELECT COUNT(*) FROM keyscope_keys AS ${table}
    WHERE ${condition} AND (${table}.ended_at IS NULL OR ${table}.ended_at > ?))`;
}

const ROTATED_FROM = 'successor.root_key_id = k.root_key_id AND successor.rotated_from = k.key_id';

/**
 * Some keys that ended before a time, behind a place in the order of ends, and whether each is due:
 * it has no successor that ends after another time, and nothing that was issued on its authority
 * does. COUNT and not EXISTS, for which the servers may read the whole table for each key.
 */
export const FIND_ENDED: string = `SELECT k.key_id, CONCAT(k.ended_at) AS ended_at,
    0 = ${liveIn('successor', ROTATED_FROM)}
    AND 0 = ${liveIn('child', 'child.issued_under = k.root_key_id')} AS is_due,
    ${FRESHNESS}
  FROM keyscope_keys AS k FORCE INDEX (keyscope_keys_ended)
  WHERE k.ended_at < ? AND (k.ended_at > CAST(? AS SIGNED)
    OR (k.ended_at = CAST(? AS SIGNED) AND k.key_id > ?))
  ORDER BY k.ended_at, k.key_id LIMIT ${PURGE_BATCH}`;

export const ALLOW_PURGE: string = 'UPDATE keyscope_schema SET purge_before = ? WHERE id = 1';
