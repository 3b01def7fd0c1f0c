/** The SQL for SQLite and D1. Parameters are positional. */
import { MAX_TIME } from '../../core/input.js';
import type { EndedKey, Position, PurgeTimes } from '../purge.js';
import { COLUMN_LIST, COLUMNS, type Column, toInteger, type Value } from '../rows.js';
import { PART_SIZE } from '../summaries.js';
import { endOf, hasEnd, settledAt } from './schema.js';

// ── Parts of statements ─────────────────────────────────────────────────────────────────────────

const PLACES = COLUMNS.map(() => '?').join(', ');

/** A condition: the value is a time that a `Date` can hold. */
const IN_TIME = `BETWEEN ${-MAX_TIME} AND ${MAX_TIME}`;

/**
 * Selects a column under its own name: with `PRAGMA full_column_names`, its name would otherwise
 * begin with the table's. An integer that is not a time is read as the nearest number: a driver
 * throws on an integer beyond 2^53, which would hide the other rows of a page.
 */
function selected({ name, kind }: Column): string {
  const place = `keyscope_keys.${name}`;
  if (kind !== 'integer') return `${place} AS ${name}`;
  const isBeyond = `${place} NOT ${IN_TIME} AND typeof(${place}) = 'integer'`;
  return `CASE WHEN ${isBeyond} THEN CAST(${place} AS REAL) ELSE ${place} END AS ${name}`;
}

const SELECTED = COLUMNS.map(selected).join(', ');
const SELECT = `SELECT ${SELECTED} FROM keyscope_keys WHERE`;

/** The same, but with the prefix and the creation time under which a key was filed. */
const FILED = COLUMNS.map((column) => {
  const { name } = column;
  const isFiled = name === 'prefix' || name === 'created_at';
  return isFiled ? `place.${name} AS ${name}` : selected(column);
}).join(', ');

/** Selects the next ids of a lineage, from an index alone. */
function lineageBy(column: string): string {
  return `SELECT key_id FROM keyscope_keys WHERE ${column} = ? AND key_id > ?
    ORDER BY key_id LIMIT ?`;
}

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

/** Skips a row whose scopes are not a JSON object: it would fail every batch with its key. */
const TOUCHABLE = "CASE WHEN json_valid(scopes_used) THEN json_type(scopes_used) = 'object' END";

/** A condition: a row has not ended at a time, which is passed twice. */
const IS_LIVE = `revoked_at IS NULL AND (retire_at IS NULL OR retire_at > ?)
  AND (expires_at IS NULL OR expires_at > ?)`;

/** A condition: a row with this id in a column has not ended at a time, which is passed twice. */
function hasLive(column: string): string {
  return `EXISTS (SELECT 1 FROM keyscope_keys WHERE ${column} = ended.key_id AND ${IS_LIVE})`;
}

/**
 * A condition: a row is to be purged. The first row of a chain is not while a key of the chain, or
 * one that was issued under it, has not ended. The parameters are {@link dueAt}.
 */
const IS_DUE = `(${settledAt('ended.')} < ? AND NOT (ended.key_id = ended.root_key_id
    AND (${hasLive('root_key_id')} OR ${hasLive('issued_under')})))`;

/** When a row has ended. */
const END = endOf('ended.');

// ── The statements that read keys ───────────────────────────────────────────────────────────────

/** The statements that read keys. */
interface Queries {
  /** A keyring with one pepper looks up a single digest, which is faster without JSON. */
  readonly findOneDigest: string;
  /** By a JSON list of digests. */
  readonly findDigests: string;
  readonly findById: string;
  /** One entity's records with one prefix, after a creation time and a key id. */
  readonly list: string;
  /** The same for other entities' records that address this one. */
  readonly listAddressing: string;
  /** After a key id, in the order of ids. The parameters come twice, and the limit once more. */
  readonly listLineage: string;
  /** Counts the keys of a part that are live at a time, which is passed twice, after a key id. */
  readonly summarize: string;
  /** Before a time, after an expiry and a key id. */
  readonly listExpiring: string;
  /** After a key id. */
  readonly listAll: string;
  /** After the time of a mark and a key id. */
  readonly listChanged: string;
}

/** The name of such a statement. */
export type QueryName = keyof Queries;

export const QUERIES: Queries = {
  findOneDigest: `${SELECT} digest = ?`,

  findDigests: `${SELECT} digest IN (SELECT value FROM json_each(?))`,

  findById: `${SELECT} key_id = ?`,

  // Without the table's name, an ORDER BY would refer to the selected expression of that name.
  list: `${SELECT} entity_id = ? AND prefix = ? AND (created_at, key_id) < (?, ?)
    ORDER BY keyscope_keys.created_at DESC, keyscope_keys.key_id DESC LIMIT ?`,

  // CROSS JOIN, so that the places are read first, in their order. A row whose owner was edited is
  // in the other listing of this entity.
  listAddressing: `
    SELECT ${FILED} FROM keyscope_addressing AS place CROSS JOIN keyscope_keys
    WHERE place.entity_id = ? AND place.prefix = ?
      AND (place.created_at, place.key_id) < (?, ?)
      AND keyscope_keys.key_id = place.key_id
      AND keyscope_keys.entity_id <> place.entity_id
    ORDER BY place.created_at DESC, place.key_id DESC LIMIT ?`,

  // `IN` keeps ids once and sorted, so that nothing else is sorted.
  listLineage: `${SELECT} key_id IN (
      SELECT key_id FROM (${lineageBy('root_key_id')})
      UNION ALL SELECT key_id FROM (${lineageBy('issued_under')})
    ) ORDER BY keyscope_keys.key_id LIMIT ?`,

  summarize: `
    SELECT
      substr(digest, 1, instr(digest, '$') - 1) AS scheme,
      sum(is_live) AS live,
      max(CASE WHEN is_live AND last_used_at ${IN_TIME} THEN last_used_at END) AS "lastUsedAt",
      count(*) AS "keys",
      max(key_id) AS "lastId"
    FROM (
      SELECT key_id, digest, last_used_at, ${IS_LIVE} AS is_live
      FROM keyscope_keys WHERE key_id > ? ORDER BY key_id LIMIT ${PART_SIZE})
    GROUP BY scheme`,

  // `+` keeps the last condition, which is about damaged rows, out of the choice of an index.
  listExpiring: `${SELECT} revoked_at IS NULL AND expires_at < ?
    AND (expires_at, key_id) > (?, ?) AND +expires_at <= ${MAX_TIME}
    ORDER BY keyscope_keys.expires_at, keyscope_keys.key_id LIMIT ?`,

  listAll: `${SELECT} key_id > ? ORDER BY keyscope_keys.key_id LIMIT ?`,

  listChanged: `
    SELECT key_id AS "keyId", changed_at AS "changedAt" FROM keyscope_keys
    WHERE (changed_at, key_id) > (?, ?) AND changed_at <= ${MAX_TIME}
    ORDER BY changed_at, key_id LIMIT ?`,
};

// ── Other statements ─────────────────────────────────────────────────────────────────────────────

interface Statements {
  /** Returns a row if the table with the schema's version exists. */
  readonly hasVersion: string;
  readonly version: string;
  /** Takes the version, and the oldest one that still works with it. */
  readonly writeVersion: string;

  /** The table's trigger and its UNIQUE columns reject an existing key id or digest. */
  readonly insert: string;

  /** The usage of one key: its time twice, its scopes as JSON, its id. */
  readonly touch: string;
  /** By a JSON list of entries, one per key. */
  readonly touchAll: string;

  /** Rows that have ended, in the order of ends: see `endedAfter`. */
  readonly findEnded: string;
  /** Allows rows that ended before a time to be deleted; null allows none. */
  readonly allowPurge: string;
  /** By a JSON list of key ids. */
  readonly purge: string;
}

export const STATEMENTS: Statements = {
  hasVersion: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'keyscope_schema'",

  version: 'SELECT version AS version, min_reader AS "minReader" FROM keyscope_schema',

  writeVersion: 'INSERT OR REPLACE INTO keyscope_schema (id, version, min_reader) VALUES (1, ?, ?)',

  insert: `INSERT INTO keyscope_keys (${COLUMN_LIST}) VALUES (${PLACES})`,

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

  // SQLite starts reading at the first of the two lower bounds: `+`, because the index has no type.
  // Ends are sent to the driver as text, because it may throw on an integer beyond 2^53.
  findEnded: `
    SELECT key_id AS "keyId", CAST(${END} AS TEXT) AS "endedAt", ${IS_DUE} AS "isDue"
    FROM keyscope_keys AS ended
    WHERE ${hasEnd('ended.')} AND ${END} < ?
      AND ${END} >= +CAST(? AS INTEGER) AND (${END}, key_id) > (+CAST(? AS INTEGER), ?)
    ORDER BY ${END}, key_id LIMIT ?`,

  allowPurge: 'UPDATE keyscope_schema SET purge_before = ?',

  purge: `
    DELETE FROM keyscope_keys AS ended
    WHERE key_id IN (SELECT value FROM json_each(?)) AND ${IS_DUE}
    RETURNING key_id AS "keyId"`,
};

// ── Purges ──────────────────────────────────────────────────────────────────────────────────────

/** How many rows one transaction deletes at most: other writers wait for its end. */
const PURGE_BATCH = 500;

/** Returns the parameters of the condition that rows are to be purged. */
export function dueAt({ endedBefore, now }: PurgeTimes): Value[] {
  return [endedBefore, now, now, now, now];
}

/** Returns the parameters of `findEnded`. */
export function endedAfter({ endedAt, keyId }: Position, times: PurgeTimes): Value[] {
  return [...dueAt(times), times.endedBefore, endedAt, endedAt, keyId, PURGE_BATCH];
}

/** Converts a row of `findEnded`. */
export function toEnded(row: unknown): EndedKey {
  const { keyId, endedAt, isDue } = row as Readonly<Record<keyof EndedKey, unknown>>;
  return { keyId: String(keyId), endedAt: String(endedAt), isDue: toInteger(isDue) === 1 };
}

/** Returns the id in a row of `purge`. */
export function toKeyId(row: unknown): string {
  return (row as { readonly keyId: string }).keyId;
}
