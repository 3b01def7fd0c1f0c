/**
 * The SQL of the store. Every parameter is a single text, with lists and records as JSON, so that
 * no driver needs to know a type. Every row has one column, `answer`, with a JSON text.
 */
import { COLUMN_LIST } from '../rows.js';
import { TRANSACTION_MARK } from './errors.js';
import { READS, type ReadName } from './read-statements.js';
import { FAILING, IN_TRANSACTION, OR_FAILURE, orFailure, TABLES_MAY_HIDE } from './visibility.js';

/**
 * A condition for writes that is true, or fails. Another user's transaction could undo the write,
 * and if rows may be hidden, none must be added. The text is not a boolean, so the cast fails; it
 * is not a constant, which would fail during planning.
 */
const SETTLED = `
      CASE
        WHEN ${IN_TRANSACTION} THEN ('${TRANSACTION_MARK}' || left(now()::text, 0))::boolean
        ELSE NOT ${FAILING}
      END`;

/**
 * Another condition, always true. It sets `synchronous_commit` for the transaction, so that the
 * commit is on disk before it is acknowledged.
 */
const DURABLY = `
      set_config(
        'synchronous_commit',
        replace(current_setting('synchronous_commit'), 'off', 'on'),
        true
      ) <> '' AND ${SETTLED}`;

/**
 * Another condition. Usage waits neither long for a row that another transaction holds nor for
 * another server. It is evaluated before the first row is locked, because rows are sorted in
 * between, and applies only to this statement's transaction.
 */
const IMPATIENTLY = `set_config('lock_timeout', '500ms', true) <> ''
        AND set_config(
          'synchronous_commit',
          CASE current_setting('synchronous_commit') WHEN 'off' THEN 'off' ELSE 'local' END,
          true
        ) <> '' AND ${SETTLED}`;

/** The later time, because the clocks of processes differ. The time of a mark is in `$2`. */
const CHANGED_AT = 'changed_at = greatest(changed_at, $2::text::bigint)';

/** With the author and the reason of a mark: JSON in `$3`; an absent field is null. */
const BY_AND_REASON = `${CHANGED_AT},
      ended_by = $3::text::json ->> 'by', end_reason = $3::text::json ->> 'reason'`;

/**
 * Writes usage, and answers with the keys that it has not written. Locks the rows in the order of
 * their ids before it writes the first. A scope's time that is not a number does not fail the
 * batch, because any two JSON values can be compared.
 */
function touch(held: 'SKIP LOCKED' | ''): string {
  return `
    WITH used AS MATERIALIZED (
      SELECT stored.key_id, entry."lastUsedAt" AS last_used_at, entry."scopesUsed" AS scopes_used
      FROM json_to_recordset($1::text::json)
        AS entry ("keyId" uuid, "lastUsedAt" bigint, "scopesUsed" jsonb)
      JOIN keyscope_keys AS stored ON stored.key_id = entry."keyId"
      WHERE ${IMPATIENTLY}
      ORDER BY stored.key_id
      FOR NO KEY UPDATE OF stored ${held}
    ), written AS (
      UPDATE keyscope_keys AS stored SET
        last_used_at = greatest(stored.last_used_at, used.last_used_at),
        scopes_used = stored.scopes_used || (
          SELECT
            coalesce(jsonb_object_agg(scope, greatest(stored.scopes_used -> scope, time)), '{}')
          FROM jsonb_each(used.scopes_used) AS entry (scope, time))
      FROM used WHERE stored.key_id = used.key_id
    )
    SELECT coalesce(json_agg(stored.key_id), '[]')::text AS answer
    FROM json_to_recordset($1::text::json) AS entry ("keyId" uuid)
    JOIN keyscope_keys AS stored ON stored.key_id = entry."keyId"
    WHERE stored.key_id NOT IN (SELECT key_id FROM used) ${OR_FAILURE}`;
}

/** The statements of the store. Names of prepared statements have the prefix `keyscope_`. */
export type StatementName =
  | 'start'
  | 'version'
  | 'insert'
  | 'revoke'
  | 'suspend'
  | 'resume'
  | 'retire'
  | 'withdraw'
  | 'touch'
  | 'touchHeld'
  | 'purge'
  | ReadName;

/** The text of each statement. Marks do not check yet whether their row may have been hidden. */
const TEXTS: Readonly<Record<StatementName, string>> = {
  ...READS,

  // Runs before the store knows its schema: it asks where the connection's search path finds the
  // tables.
  start: `
    SELECT json_build_array(
      (
        SELECT relnamespace::regnamespace::text FROM pg_class
        WHERE oid = to_regclass('keyscope_schema')
      ),
      pg_is_in_recovery(),
      ${TABLES_MAY_HIDE}
    )::text AS answer`,

  // The condition is always true. It is volatile, so that no cache between may answer.
  version: `
    SELECT json_build_object('version', max(version), 'minReader', max(min_reader))::text AS answer
    FROM keyscope_schema WHERE pg_is_in_recovery() IS NOT NULL`,

  // The names are the record's, in column order. The key is filed with the other entities that it
  // addresses; a dump that was restored earlier may already contain these pairs.
  insert: `
    WITH made AS (
    INSERT INTO keyscope_keys (${COLUMN_LIST})
    SELECT * FROM json_to_record($1::text::json) AS record (
      format integer, "keyId" uuid, prefix text, hint text, name text, digest text,
      "entityId" text, "accessibleEntities" text[], scopes text[], justification text,
      metadata jsonb, "createdAt" bigint, "createdBy" text, "expiresAt" bigint,
      "rotatedFrom" uuid, "rootKeyId" uuid, "issuedUnder" uuid, trust text, seal text,
      "revokedAt" bigint, "suspendedAt" bigint, "retireAt" bigint, withdrawn text[], "endedBy" text,
      "endReason" text, "changedAt" bigint, "lastUsedAt" bigint, "scopesUsed" jsonb)
    WHERE ${DURABLY}
    RETURNING key_id, prefix, created_at, entity_id, accessible_entities
    )
    INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id)
    SELECT DISTINCT entity, prefix, created_at, key_id
    FROM made CROSS JOIN LATERAL unnest(accessible_entities) AS entity
    WHERE entity <> entity_id
    ON CONFLICT DO NOTHING`,

  // Each mark is `applyMark`: its condition is the WHERE, its changes are the SET.
  revoke: `
    UPDATE keyscope_keys SET
      revoked_at = coalesce(revoked_at, $2::text::bigint), ${BY_AND_REASON},
      seal = $3::text::json ->> 'seal'
    WHERE key_id = $1::text::uuid
      AND CASE WHEN $3::text::json ->> 'replaces' IS NULL THEN revoked_at IS NULL
        ELSE revoked_at IS NOT NULL AND seal = $3::text::json ->> 'replaces' END
      AND ${DURABLY}
    RETURNING 'true' AS answer`,

  suspend: `
    UPDATE keyscope_keys SET suspended_at = $2::text::bigint, ${BY_AND_REASON}
    WHERE key_id = $1::text::uuid AND revoked_at IS NULL AND suspended_at IS NULL AND ${DURABLY}
    RETURNING 'true' AS answer`,

  resume: `
    UPDATE keyscope_keys SET
      suspended_at = NULL, ended_by = NULL, end_reason = NULL, ${CHANGED_AT}
    WHERE key_id = $1::text::uuid AND revoked_at IS NULL AND suspended_at IS NOT NULL
      AND ${DURABLY}
    RETURNING 'true' AS answer`,

  retire: `
    UPDATE keyscope_keys SET retire_at = $4::text::bigint, ${BY_AND_REASON}
    WHERE key_id = $1::text::uuid AND revoked_at IS NULL AND suspended_at IS NULL
      AND retire_at IS NULL AND array_to_string(withdrawn, ',') = $5::text AND ${DURABLY}
    RETURNING 'true' AS answer`,

  withdraw: `
    UPDATE keyscope_keys SET withdrawn = withdrawn || $3::text, ${CHANGED_AT}
    WHERE key_id = $1::text::uuid AND array_position(withdrawn, $3::text) IS NULL
      AND ${DURABLY}
    RETURNING 'true' AS answer`,

  // Skips the rows that other transactions hold, and answers with their ids.
  touch: touch('SKIP LOCKED'),

  // Waits for those rows, in the order of their ids, so that batches cannot deadlock.
  touchHeld: touch(''),

  purge: `
    SELECT to_json(keyscope_purge(
      $1::text::bigint, $2::text::bigint,
      ARRAY(SELECT json_array_elements_text($3::text::json)::uuid)
    ))::text AS answer
    WHERE ${DURABLY}`,
};

const MARKS = ['revoke', 'suspend', 'resume', 'retire', 'withdraw'] as const;

/** The text of each statement. */
export const STATEMENTS: Readonly<Record<StatementName, string>> = {
  ...TEXTS,
  ...Object.fromEntries(MARKS.map((mark) => [mark, orFailure(TEXTS[mark])])),
};
