/**
 * The SQL that only reads. Each row of an answer is a JSON array; its last element says whether it
 * may be out of date.
 */
import { COLUMN_LIST } from '../rows.js';
import { PART_SIZE } from '../summaries.js';
import { endOf, isDue } from './schema.js';
import { OR_REASON, OUTDATED, orReason, PAIRS_MAY_HIDE } from './visibility.js';

/** A row as one JSON array, which takes a seventh less time than a column for each field. */
const SELECT = `
    SELECT json_build_array(${COLUMN_LIST}, ${OUTDATED})::text AS answer
    FROM keyscope_keys`;

/**
 * Reads the ids of at most one page of keys that name a root in a column, from its index. The inner
 * condition is a range, because the planner may take the keys of one root for few, and sort all of
 * them. NOT NULL is the condition of the partial index.
 */
function pageOf(column: 'root_key_id' | 'issued_under'): string {
  return `(
        SELECT key_id FROM (
          SELECT ${column} AS root, key_id FROM keyscope_keys
          WHERE ${column} IS NOT NULL
            AND (${column}, key_id) > ($1::text::uuid, $2::text::uuid)
          ORDER BY ${column}, key_id LIMIT $3::text::bigint
        ) AS page WHERE root = $1::text::uuid)`;
}

/** How many keys a purge reads, and deletes in one transaction. */
const PURGE_BATCH = 1000;

/** The statements that only read. */
export type ReadName =
  | 'findDigest'
  | 'findDigests'
  | 'findId'
  | 'findIds'
  | 'list'
  | 'listAddressing'
  | 'listLineage'
  | 'summarize'
  | 'listExpiring'
  | 'listAll'
  | 'listChanged'
  | 'listEnded';

export const READS: Readonly<Record<ReadName, string>> = {
  // A keyring with one pepper looks up a single digest, which takes less time than a list.
  findDigest: `${SELECT}
    WHERE digest = $1::text ${OR_REASON}`,

  findDigests: `${SELECT}
    WHERE digest = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)))
    ${OR_REASON}`,

  findId: `${SELECT}
    WHERE key_id = $1::text::uuid ${OR_REASON}`,

  findIds: `${SELECT}
    WHERE key_id = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)::uuid))
    ${OR_REASON}`,

  list: `(${SELECT}
    WHERE entity_id = $1::text AND prefix = $2::text
      AND (created_at, key_id) < ($3::text::bigint, $4::text::uuid)
    ORDER BY created_at DESC, key_id DESC LIMIT $5::text::bigint) ${OR_REASON}`,

  // Not a join: the planner does not know how few keys a page has, and might read all keys.
  listAddressing: `(${SELECT}
    WHERE key_id = ANY (ARRAY(
      SELECT key_id FROM keyscope_addressing
      WHERE entity_id = $1::text AND prefix = $2::text
        AND (created_at, key_id) < ($3::text::bigint, $4::text::uuid)
      ORDER BY created_at DESC, key_id DESC LIMIT $5::text::bigint))
    ORDER BY created_at DESC, key_id DESC)
    ${orReason(PAIRS_MAY_HIDE)}`,

  listLineage: `(${SELECT}
    WHERE key_id = ANY (ARRAY(
      ${pageOf('root_key_id')} UNION ${pageOf('issued_under')}
      ORDER BY key_id LIMIT $3::text::bigint))
    ORDER BY key_id) ${OR_REASON}`,

  summarize: `
    SELECT json_build_array(
      scheme,
      count(*) FILTER (WHERE is_live),
      max(last_used_at) FILTER (WHERE is_live),
      count(*),
      max(key_id::text),
      ${OUTDATED}
    )::text AS answer
    FROM (
      SELECT key_id, last_used_at,
        substr(digest, 1, greatest(strpos(digest, '$') - 1, 0)) AS scheme,
        revoked_at IS NULL
          AND (retire_at IS NULL OR retire_at > $1::text::bigint)
          AND (expires_at IS NULL OR expires_at > $1::text::bigint) AS is_live
      FROM keyscope_keys
      WHERE key_id > $2::text::uuid ORDER BY key_id LIMIT ${PART_SIZE}
    ) AS part
    GROUP BY scheme ${OR_REASON}`,

  listExpiring: `(${SELECT}
    WHERE revoked_at IS NULL AND expires_at < $1::text::bigint
      AND (expires_at, key_id) >= ($2::text::bigint, $3::text::uuid)
    ORDER BY expires_at, key_id LIMIT $4::text::bigint) ${OR_REASON}`,

  listAll: `(${SELECT}
    WHERE key_id >= $1::text::uuid
    ORDER BY key_id LIMIT $2::text::bigint) ${OR_REASON}`,

  // Returns a row even if nothing has changed, because a replica that lags would look the same. The
  // first condition is part of the second; without it, the partial index would not be used.
  listChanged: `
    SELECT json_build_array(
      (
        SELECT coalesce(json_agg(changed), '[]') FROM (
          SELECT key_id AS "keyId", changed_at AS "changedAt" FROM keyscope_keys
          WHERE changed_at >= $1::text::bigint
            AND (changed_at, key_id) > ($1::text::bigint, $2::text::uuid)
          ORDER BY changed_at, key_id LIMIT $3::text::bigint
        ) AS changed
      ),
      ${OUTDATED}
    )::text AS answer ${OR_REASON}`,

  // Finds the keys that a purge checks next, in the order of its index. The end is text, because
  // JavaScript cannot hold every integer.
  listEnded: `(
    SELECT json_build_array(
      old.key_id, ${endOf('old.')}::text,
      ${isDue('$1::text::bigint', '$2::text::bigint')}, ${OUTDATED}
    )::text AS answer
    FROM keyscope_keys AS old
    WHERE ${endOf('old.')} < $1::text::bigint
      AND (${endOf('old.')}, old.key_id) > ($3::text::bigint, $4::text::uuid)
    ORDER BY ${endOf('old.')}, old.key_id LIMIT ${PURGE_BATCH}) ${OR_REASON}`,
};
