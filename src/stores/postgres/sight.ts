/**
 * Parts of the statements that say whether they see all rows of the tables, as they are now. A
 * store that may see less than is there must not say that there is no such key.
 *
 * Not noticed: rows that somebody has moved elsewhere or has not copied yet, as a subscriber of a
 * logical replication that has only begun.
 */
import { HIDDEN_MARK } from './errors.js';

/**
 * Whether somebody has begun a transaction before, and left it open. The clock of the statement
 * stands while it waits for a lock, and the transaction of a statement alone begins with it.
 */
export const IN_TRANSACTION: string =
  "statement_timestamp() - transaction_timestamp() > interval '1 s'";

/** Why an answer may be out of date, null if it is not: the last value of every row of a read. */
export const OUTDATED: string = `CASE
      WHEN pg_is_in_recovery() THEN 'replica' WHEN ${IN_TRANSACTION} THEN 'transaction'
    END`;

/**
 * Whether the statement may see fewer rows than there are: row-level security, also by a policy
 * that lets every row through, or something else in the place of a table. Read once for each
 * statement.
 */
export function mayHide(...tables: readonly string[]): string {
  const oids = tables.map((table) => `$keyscope$${table}$keyscope$::regclass`);
  return `(
      SELECT bool_or(row_security_active(oid) OR relkind <> 'r') FROM pg_class
      WHERE oid IN (${oids.join(', ')}))`;
}

const KEYS_MAY_HIDE: string = mayHide('keyscope_keys');

/**
 * Follows a read: a row that says why some may not have been found, if there is a reason. A replica
 * may not have a key yet, and a policy may hide it: it would otherwise be taken for a bad one.
 */
export function orReason(hidden: string = KEYS_MAY_HIDE): string {
  return `
    UNION ALL
    SELECT json_build_array(reason)::text
    FROM (SELECT coalesce(${OUTDATED}, CASE WHEN ${hidden} THEN 'hidden' END) AS reason) AS age
    WHERE reason IS NOT NULL`;
}

export const OR_REASON: string = orReason();

/**
 * Whether tables are in a schema of the search path that the role may not use: PostgreSQL passes it
 * over, so that they are not found, or those of a later schema are.
 */
const FIRST_IS_CLOSED = `EXISTS (
        SELECT FROM pg_class JOIN pg_namespace AS place ON place.oid = relnamespace
        WHERE relname = 'keyscope_schema'
          AND NOT has_schema_privilege(place.oid, 'USAGE')
          AND quote_ident(nspname) = ANY (ARRAY(
            SELECT btrim(name) FROM unnest(
              string_to_array(current_setting('search_path'), ',')) AS path (name))))`;

/** The same at the start, for the tables to which the search path of the connection leads. */
export const TABLES_MAY_HIDE: string = `(
        SELECT coalesce(bool_or(
          row_security_active(oid) OR relkind <> 'r' OR relpersistence = 't'
        ), false) FROM pg_class
        WHERE oid IN (
          to_regclass('keyscope_schema'), to_regclass('keyscope_keys'),
          to_regclass('keyscope_addressing')))
      OR ${FIRST_IS_CLOSED}`;

/**
 * A condition that is false, and fails where rows may be hidden. The text is no boolean, and
 * not a constant, which would fail when it is planned.
 */
export const FAILING: string = `CASE
      WHEN ${KEYS_MAY_HIDE} THEN ('${HIDDEN_MARK}' || left(now()::text, 0))::boolean ELSE false
    END`;

/**
 * Follows a write of rows that are there: no row, or a failure. A condition of the write itself is
 * not read where there is no policy, which hides every row.
 */
export const OR_FAILURE: string = `
    UNION ALL SELECT NULL::text WHERE ${FAILING}`;

/** A mark that fails where the row of its key may be hidden. */
export function orFailure(mark: string): string {
  return `WITH marked AS (${mark}) SELECT answer FROM marked ${OR_FAILURE}`;
}

/** A table or the function of the schema, in a statement. */
const NAME = /\bkeyscope_(?:keys|addressing|schema|purge)\b/g;

/**
 * A statement whose names say in which schema they are, so that neither a search path that somebody
 * has changed nor a temporary table of the same name leads it to other rows.
 */
export function inSchema(schema: string, sql: string): string {
  return sql.replace(NAME, (name) => `${schema}.${name}`);
}
