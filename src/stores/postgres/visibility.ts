/**
 * Parts of statements that check whether they see all current rows of the tables. A store that may
 * see fewer rows must not report that a key does not exist.
 *
 * Not noticed: rows that were moved elsewhere or not copied yet, for example on a subscriber whose
 * logical replication has only begun.
 */
import { HIDDEN_MARK } from './errors.js';

/**
 * Whether the statement runs in a transaction that was left open. The statement's clock does not
 * advance while it waits for a lock, and a single statement's transaction begins with it.
 */
export const IN_TRANSACTION: string =
  "statement_timestamp() - transaction_timestamp() > interval '1 s'";

/**
 * Why an answer may be out of date, or null if it is not: the last value of every row of a read.
 */
export const OUTDATED: string = `CASE
      WHEN pg_is_in_recovery() THEN 'replica' WHEN ${IN_TRANSACTION} THEN 'transaction'
    END`;

/**
 * Returns whether some of these tables, given as oids, may show fewer rows than were written:
 * because of row-level security, even with a policy that lets every row through; because something
 * else is in a table's place; or because the table is temporary or UNLOGGED, so that a crash
 * empties it. Evaluated once for each statement. Null if there are no such tables.
 */
function mayHide(...oids: readonly string[]): string {
  return `(
      SELECT bool_or(row_security_active(oid) OR relkind <> 'r' OR relpersistence <> 'p')
      FROM pg_class WHERE oid IN (${oids.join(', ')}))`;
}

const KEYS = '$keyscope$keyscope_keys$keyscope$::regclass';
const ADDRESSING = '$keyscope$keyscope_addressing$keyscope$::regclass';
const KEYS_MAY_HIDE: string = mayHide(KEYS);

/** The same of the keys and the entities that they address. */
export const PAIRS_MAY_HIDE: string = mayHide(KEYS, ADDRESSING);

/**
 * Follows a read. Adds a row with the reason why some rows may be missing, if there is one. A
 * replica may not have a key yet, and a policy may hide it: it would otherwise be taken for a bad
 * key.
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
 * Whether tables are in a schema of the search path that the role may not use. PostgreSQL skips
 * that schema, so it finds no tables, or those of a later schema.
 */
const FIRST_IS_CLOSED = `EXISTS (
        SELECT FROM pg_class JOIN pg_namespace AS place ON place.oid = relnamespace
        WHERE relname = 'keyscope_schema'
          AND NOT has_schema_privilege(place.oid, 'USAGE')
          AND quote_ident(nspname) = ANY (ARRAY(
            SELECT btrim(name) FROM unnest(
              string_to_array(current_setting('search_path'), ',')) AS path (name))))`;

/** The same at the start, for the tables that the connection's search path finds. */
export const TABLES_MAY_HIDE: string = `${mayHide(
  "to_regclass('keyscope_schema')",
  "to_regclass('keyscope_keys')",
  "to_regclass('keyscope_addressing')",
)} OR ${FIRST_IS_CLOSED}`;

/**
 * A condition that is false, and fails if rows may be hidden. The text is not a boolean, so the
 * cast fails; it is not a constant, which would fail during planning.
 */
export const FAILING: string = `CASE
      WHEN ${KEYS_MAY_HIDE} THEN ('${HIDDEN_MARK}' || left(now()::text, 0))::boolean ELSE false
    END`;

/**
 * Follows a write to existing rows. Adds no row, or fails. A condition in the write itself would
 * not be evaluated without a policy, because then every row is hidden.
 */
export const OR_FAILURE: string = `
    UNION ALL SELECT NULL::text WHERE ${FAILING}`;

/** Makes a mark fail if the row of its key may be hidden. */
export function orFailure(mark: string): string {
  return `WITH marked AS (${mark}) SELECT answer FROM marked ${OR_FAILURE}`;
}

/** A table or the function of the schema, in a statement. */
const NAME = /\bkeyscope_(?:keys|addressing|schema|purge)\b/g;

/**
 * Adds the schema to the names in a statement, so that neither a changed search path nor a
 * temporary table with the same name leads it to other rows.
 */
export function inSchema(schema: string, sql: string): string {
  return sql.replace(NAME, (name) => `${schema}.${name}`);
}
