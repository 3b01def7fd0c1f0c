/**
 * The SQL of the store. Every parameter is a single text, with lists and records as JSON, so that
 * no driver needs to know a type. Every row has one column, `answer`, with a JSON text.
 */
import { COLUMN_LIST } from '../rows.js';

/**
 * A row as one JSON array, which takes a seventh less time than sixteen columns, four of them JSON.
 * The last element tells whether the server is a replica.
 */
const SELECT = `
    SELECT json_build_array(${COLUMN_LIST}, pg_is_in_recovery())::text AS answer
    FROM keyscope_keys`;

/**
 * A condition for writes that is always true. It sets `synchronous_commit` for their transaction,
 * so that the commit is on disk before it is acknowledged.
 */
const DURABLY = `
      set_config(
        'synchronous_commit',
        replace(current_setting('synchronous_commit'), 'off', 'on'),
        true
      ) <> ''`;

/** The statements of the store. Names of prepared statements have the prefix `keyscope_`. */
export type StatementName =
  | 'start'
  | 'version'
  | 'insert'
  | 'findDigest'
  | 'findDigests'
  | 'findById'
  | 'list'
  | 'revoke'
  | 'retire'
  | 'touch'
  | 'summarize';

/** The text of each. */
export const STATEMENTS: Readonly<Record<StatementName, string>> = {
  start: `
    SELECT json_build_array(
      to_regclass('keyscope_schema') IS NOT NULL,
      pg_is_in_recovery()
    )::text AS answer`,

  version: `
    SELECT to_json(coalesce(max(version), 0))::text AS answer FROM keyscope_schema`,

  // The names are the record's, in column order.
  insert: `
    INSERT INTO keyscope_keys (${COLUMN_LIST})
    SELECT * FROM json_to_record($1::text::json) AS record (
      "keyId" uuid, name text, digest text, seal text, "entityUuid" uuid,
      "accessibleEntities" uuid[], scopes text[], justification text, metadata jsonb,
      "createdAt" bigint, "expiresAt" bigint, "revokedAt" bigint, "retireAt" bigint,
      "rotatedFrom" uuid, "lastUsedAt" bigint, "scopesUsed" jsonb)
    WHERE ${DURABLY}`,

  // A keyring with one pepper looks up a single digest: a tenth less time than as a list.
  findDigest: `${SELECT}
    WHERE digest = $1::text`,

  findDigests: `${SELECT}
    WHERE digest = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)))`,

  findById: `${SELECT}
    WHERE key_id = $1::text::uuid`,

  list: `${SELECT}
    WHERE entity_uuid = $1::text::uuid
      AND (created_at, key_id) < ($2::text::bigint, $3::text::uuid)
    ORDER BY created_at DESC, key_id DESC LIMIT $4::text::bigint`,

  revoke: `
    UPDATE keyscope_keys SET revoked_at = $2::text::bigint
    WHERE key_id = $1::text::uuid AND revoked_at IS NULL AND ${DURABLY}
    RETURNING 'true' AS answer`,

  retire: `
    UPDATE keyscope_keys SET retire_at = $2::text::bigint
    WHERE key_id = $1::text::uuid AND retire_at IS NULL AND revoked_at IS NULL AND ${DURABLY}
    RETURNING 'true' AS answer`,

  // Rows are locked in the order of their ids before the first is written, so batches may wait for
  // each other but cannot deadlock. A scope's time that is not a number fails no batch, because any
  // two JSON values can be compared.
  touch: `
    WITH used AS MATERIALIZED (
      SELECT stored.key_id, entry."lastUsedAt" AS last_used_at, entry."scopesUsed" AS scopes_used
      FROM json_to_recordset($1::text::json)
        AS entry ("keyId" uuid, "lastUsedAt" bigint, "scopesUsed" jsonb)
      JOIN keyscope_keys AS stored ON stored.key_id = entry."keyId"
      ORDER BY stored.key_id
      FOR NO KEY UPDATE OF stored
    )
    UPDATE keyscope_keys AS stored SET
      last_used_at = greatest(stored.last_used_at, used.last_used_at),
      scopes_used = stored.scopes_used || (
        SELECT coalesce(jsonb_object_agg(scope, greatest(stored.scopes_used -> scope, time)), '{}')
        FROM jsonb_each(used.scopes_used) AS entry (scope, time))
    FROM used WHERE stored.key_id = used.key_id`,

  summarize: `
    SELECT json_build_object(
      'scheme', scheme,
      'live', count(*),
      'lastUsedAt', max(last_used_at)
    )::text AS answer
    FROM (
      SELECT substr(digest, 1, greatest(strpos(digest, '$') - 1, 0)) AS scheme, last_used_at
      FROM keyscope_keys
      WHERE revoked_at IS NULL
        AND (retire_at IS NULL OR retire_at > $1::text::bigint)
        AND (expires_at IS NULL OR expires_at > $1::text::bigint)
    ) AS live
    GROUP BY scheme`,
};
