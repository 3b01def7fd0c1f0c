/**
 * PostgreSQL 12 or newer.
 *
 * - `uuid`: a key's id has half the size of text and a single spelling, and sorts as its text does.
 * - `COLLATE "C"`: entities, digests and prefixes are compared and sorted byte for byte, whatever
 *   the database's own collation is, and an upgrade of the system does not change their order.
 * - `isId`, `areIds`: what `isEntityId` accepts, and also the text of a key, because SQL does not
 *   compute its checksum. Every update evaluates them, so their patterns do not count characters,
 *   which would take ten times as long.
 * - `fillfactor`: leaves room to write usage in place. 92 % of random updates then touch no index,
 *   instead of 55 %.
 * - `keyscope_keys_lineage`: the keys of one root. `keyscope_keys_issued`: the keys that were
 *   issued on the authority of one root. Both are in the order of the listing.
 *   `keyscope_keys_ended`: the keys that a purge deletes, in its order, without reading any other
 *   key.
 * - `update`, `marks`, `with_mark`: these triggers run AFTER and have a condition instead of a list
 *   of columns. So they see what other triggers did to the row, and call a function only if
 *   something is wrong. One update of several columns may do whatever consecutive updates may: end
 *   a key and suspend it, but not suspend it after its revocation.
 * - `keyscope_addressing`: which other entities a key addresses, in the order of the listing. The
 *   store writes it in one statement with the key. If you insert rows by hand, write it, too.
 * - `delete`: keys end and stay, so that the keys in an audit log can still be looked up. The
 *   exception is keys that ended before `keyscope_schema.purge_before`, which is null:
 *   `keyscope_purge` sets it and clears it in one transaction, so that nobody else ever sees it
 *   set, and a crash leaves it null.
 */
import {
  isTime,
  MARKS_STAY,
  NEVER_CHANGES,
  NEVER_DELETED,
  type Versions,
  WITH_A_MARK,
} from '../schema/versions.js';

/** Returns when the key of a row ended or will end; null for never. */
export function endOf(row: string): string {
  return `least(${row}revoked_at, ${row}retire_at, ${row}expires_at)`;
}

/**
 * A condition on a key `old` that ended before a time: it was neither made nor marked since, and if
 * it is the first of its chain, the whole chain has ended, and so has everything that was issued
 * under it. Not EXISTS, for which PostgreSQL may read the whole table.
 *
 * @param endedBefore The time, as SQL.
 * @param now The time of the purge, as SQL.
 */
export function isDue(endedBefore: string, now: string): string {
  return `old.created_at < ${endedBefore} AND coalesce(old.changed_at < ${endedBefore}, true)
      AND (old.key_id <> old.root_key_id OR (
        SELECT 1 FROM keyscope_keys AS rotated
        WHERE rotated.root_key_id = old.key_id
          AND coalesce(${endOf('rotated.')} > ${now}, true) LIMIT 1
      ) IS NULL AND (
        SELECT 1 FROM keyscope_keys AS child
        WHERE child.issued_under = old.key_id
          AND coalesce(${endOf('child.')} > ${now}, true) LIMIT 1
      ) IS NULL)`;
}

/** The characters of an entity's id, in a regular expression. */
const CHARACTERS = 'A-Za-z0-9._~:@|-';

/** A condition: a column is the id of an entity. */
function isId(column: string): string {
  return `${column} !~ '[^${CHARACTERS}]'
    AND length(${column}) <= 64 AND ${column} NOT IN ('', '.', '..')`;
}

/**
 * A condition: a column is a list of such ids. Its joined text, split again and cut to the longest
 * id, is the same list only if no element has a comma, is longer, or is null.
 */
function areIds(column: string): string {
  const joined = `array_to_string(${column}, ',')`;
  return `string_to_array(${joined}, ',')::varchar(64)[]::text[] = ${column}
    AND ${joined} !~ '[^,${CHARACTERS}]' AND NOT ${column} && '{"",.,..}'`;
}

/** The tables and indexes. */
const TABLES: readonly string[] = [
  `
CREATE TABLE keyscope_schema (
  id smallint PRIMARY KEY CHECK (id = 1),
  version integer NOT NULL CHECK (version > 0),
  min_reader integer NOT NULL CHECK (min_reader > 0),
  purge_before bigint
)`,
  `
CREATE TABLE keyscope_keys (
  format integer NOT NULL,
  key_id uuid PRIMARY KEY,
  prefix text COLLATE "C" NOT NULL,
  hint text NOT NULL,
  name text NOT NULL,
  digest text COLLATE "C" NOT NULL UNIQUE,
  entity_id text COLLATE "C" NOT NULL CHECK (${isId('entity_id')}),
  accessible_entities text[] COLLATE "C" NOT NULL CHECK (${areIds('accessible_entities')}),
  scopes text[] NOT NULL,
  justification text,
  metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object'),
  created_at bigint NOT NULL CHECK (${isTime('created_at')}),
  created_by text,
  expires_at bigint CHECK (${isTime('expires_at')}),
  rotated_from uuid,
  root_key_id uuid NOT NULL,
  issued_under uuid,
  trust text,
  seal text,
  revoked_at bigint CHECK (${isTime('revoked_at')}),
  suspended_at bigint CHECK (${isTime('suspended_at')}),
  retire_at bigint CHECK (${isTime('retire_at')}),
  withdrawn text[] COLLATE "C" NOT NULL CHECK (${areIds('withdrawn')}),
  ended_by text,
  end_reason text,
  changed_at bigint CHECK (${isTime('changed_at')}),
  last_used_at bigint CHECK (${isTime('last_used_at')}),
  scopes_used jsonb NOT NULL CHECK (jsonb_typeof(scopes_used) = 'object'),
  CONSTRAINT keyscope_keys_own_entity CHECK (entity_id <> ALL (withdrawn))
) WITH (fillfactor = 80)`,
  `
CREATE INDEX keyscope_keys_listing ON keyscope_keys (entity_id, prefix, created_at, key_id)`,
  `
CREATE INDEX keyscope_keys_lineage ON keyscope_keys (root_key_id, key_id)`,
  `
CREATE INDEX keyscope_keys_issued ON keyscope_keys (issued_under, key_id)
WHERE issued_under IS NOT NULL`,
  `
CREATE INDEX keyscope_keys_ended ON keyscope_keys ((${endOf('')}), key_id)
WHERE ${endOf('')} IS NOT NULL`,
  `
CREATE INDEX keyscope_keys_expiring ON keyscope_keys (expires_at, key_id)
WHERE expires_at IS NOT NULL AND revoked_at IS NULL`,
  `
CREATE INDEX keyscope_keys_changed ON keyscope_keys (changed_at, key_id)
WHERE changed_at IS NOT NULL`,
  `
CREATE TABLE keyscope_addressing (
  entity_id text COLLATE "C" NOT NULL CHECK (${isId('entity_id')}),
  prefix text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  key_id uuid NOT NULL,
  PRIMARY KEY (entity_id, prefix, created_at, key_id)
)`,
];

/** A condition of a trigger: one of these columns changes. */
function changes(...columns: readonly string[]): string {
  return columns.map((column) => `old.${column} IS DISTINCT FROM new.${column}`).join(' OR ');
}

/**
 * The triggers that limit what may change in a key. Written as `pg_get_triggerdef` prints them,
 * with no parenthesis too many, because `doctor` compares the two.
 */
const UPDATES: readonly string[] = [
  `
CREATE OR REPLACE FUNCTION keyscope_refuse() RETURNS trigger LANGUAGE plpgsql AS $keyscope$
BEGIN
  RAISE EXCEPTION 'keyscope: %', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END
$keyscope$`,
  `
CREATE TRIGGER keyscope_keys_update AFTER UPDATE ON keyscope_keys FOR EACH ROW
WHEN (${changes('format', 'key_id', 'prefix', 'hint', 'name', 'digest', 'entity_id')}
  OR ${changes('accessible_entities', 'scopes', 'justification', 'metadata', 'created_at')}
  OR ${changes('created_by', 'expires_at', 'rotated_from', 'root_key_id', 'issued_under', 'trust')}
  OR ${changes('seal')} AND (new.revoked_at IS NULL OR old.seal IS NULL))
EXECUTE FUNCTION keyscope_refuse('${NEVER_CHANGES}')`,
  `
CREATE TRIGGER keyscope_keys_marks AFTER UPDATE ON keyscope_keys FOR EACH ROW
WHEN (old.revoked_at IS NOT NULL AND (${changes('revoked_at', 'suspended_at', 'retire_at')})
  OR old.retire_at IS NOT NULL AND ${changes('retire_at')}
  OR old.withdrawn IS DISTINCT FROM new.withdrawn[:cardinality(old.withdrawn)])
EXECUTE FUNCTION keyscope_refuse('${MARKS_STAY}')`,
  `
CREATE TRIGGER keyscope_keys_with_mark AFTER UPDATE ON keyscope_keys FOR EACH ROW
WHEN (NOT (${changes('revoked_at', 'suspended_at', 'retire_at', 'seal')})
  AND (${changes('ended_by', 'end_reason')}
    OR ${changes('changed_at')} AND NOT ${changes('withdrawn')}))
EXECUTE FUNCTION keyscope_refuse('${WITH_A_MARK}')`,
];

/**
 * The triggers that limit which rows may be deleted, and the function that deletes those that are
 * due. It leaves a row that another transaction has locked for the next purge.
 */
const DELETES: readonly string[] = [
  `
CREATE OR REPLACE FUNCTION keyscope_keep() RETURNS trigger LANGUAGE plpgsql AS $keyscope$
BEGIN
  IF ${endOf('OLD.')} < (SELECT purge_before FROM keyscope_schema) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'keyscope: ${NEVER_DELETED}' USING ERRCODE = 'integrity_constraint_violation';
END
$keyscope$`,
  `
CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys FOR EACH ROW
EXECUTE FUNCTION keyscope_keep()`,
  `
CREATE TRIGGER keyscope_keys_truncate BEFORE TRUNCATE ON keyscope_keys FOR EACH STATEMENT
EXECUTE FUNCTION keyscope_refuse('${NEVER_DELETED}')`,
  // The update locks its row until the transaction ends, so purges wait for each other.
  `
CREATE OR REPLACE FUNCTION keyscope_purge(ended_before bigint, now bigint, key_ids uuid[])
RETURNS uuid[] LANGUAGE plpgsql AS $keyscope$
DECLARE
  purged uuid[];
BEGIN
  UPDATE keyscope_schema SET purge_before = ended_before;
  WITH ended AS (
    SELECT key_id FROM keyscope_keys AS old
    WHERE key_id = ANY (key_ids)
      AND ${endOf('old.')} < ended_before
      AND ${isDue('ended_before', 'now')}
    ORDER BY key_id
    FOR UPDATE SKIP LOCKED
  ), deleted AS (
    DELETE FROM keyscope_keys WHERE key_id IN (SELECT key_id FROM ended)
    RETURNING key_id, prefix, created_at, accessible_entities
  ), unaddressed AS (
    DELETE FROM keyscope_addressing AS pair USING deleted
    WHERE pair.entity_id = ANY (deleted.accessible_entities)
      AND pair.prefix = deleted.prefix AND pair.created_at = deleted.created_at
      AND pair.key_id = deleted.key_id
  )
  SELECT coalesce(array_agg(key_id ORDER BY key_id), '{}') INTO purged FROM deleted;
  UPDATE keyscope_schema SET purge_before = NULL;
  RETURN purged;
END
$keyscope$`,
];

/** The statements of each version. */
export const POSTGRES: Versions = [[...TABLES, ...UPDATES, ...DELETES]];
