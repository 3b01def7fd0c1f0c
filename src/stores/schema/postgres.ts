/**
 * PostgreSQL 12 or newer.
 *
 * - `uuid` and `uuid[]`: half the size of text, no second spelling of an id, and the service's own
 *   tables join and reference them without a cast. They sort as their text does.
 * - `COLLATE "C"`: digests are compared and sorted byte for byte, whatever the database's own
 *   collation is.
 * - `fillfactor`: leaves room to write usage in place. 92 % of random updates then touch no index,
 *   instead of 55 %.
 * - `update`, `marks`: these triggers run AFTER and have a condition instead of a list of columns,
 *   so that they see what other triggers did to the row, and call a function only if something is
 *   wrong.
 * - `delete`: keys are ended and never deleted, so that the keys in an audit log can still be
 *   looked up. If the law requires that a row be deleted, disable this trigger in the transaction
 *   that deletes it.
 */
import { ONLY_MARKS_AND_USAGE, type Versions } from './versions.js';

/** The statements of each version. */
export const POSTGRES: Versions = [
  [
    `
CREATE TABLE keyscope_schema (
  id smallint PRIMARY KEY CHECK (id = 1),
  version integer NOT NULL CHECK (version > 0)
)`,
    `
CREATE TABLE keyscope_keys (
  key_id uuid PRIMARY KEY,
  name text NOT NULL,
  digest text COLLATE "C" NOT NULL UNIQUE,
  seal text,
  entity_uuid uuid NOT NULL,
  accessible_entities uuid[] NOT NULL,
  scopes text[] NOT NULL,
  justification text,
  metadata jsonb NOT NULL CHECK (jsonb_typeof(metadata) = 'object'),
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  retire_at bigint,
  rotated_from uuid,
  last_used_at bigint,
  scopes_used jsonb NOT NULL CHECK (jsonb_typeof(scopes_used) = 'object')
) WITH (fillfactor = 80)`,
    `
CREATE INDEX keyscope_keys_listing ON keyscope_keys (entity_uuid, created_at, key_id)`,
    `
CREATE OR REPLACE FUNCTION keyscope_refuse() RETURNS trigger LANGUAGE plpgsql AS $keyscope$
BEGIN
  RAISE EXCEPTION 'keyscope: %', TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END
$keyscope$`,
    `
CREATE TRIGGER keyscope_keys_update AFTER UPDATE ON keyscope_keys FOR EACH ROW
WHEN (
  (OLD.key_id, OLD.name, OLD.digest, OLD.seal, OLD.entity_uuid, OLD.accessible_entities, OLD.scopes,
    OLD.justification, OLD.metadata, OLD.created_at, OLD.expires_at, OLD.rotated_from)
  IS DISTINCT FROM
  (NEW.key_id, NEW.name, NEW.digest, NEW.seal, NEW.entity_uuid, NEW.accessible_entities, NEW.scopes,
    NEW.justification, NEW.metadata, NEW.created_at, NEW.expires_at, NEW.rotated_from)
)
EXECUTE FUNCTION keyscope_refuse('${ONLY_MARKS_AND_USAGE}')`,
    `
CREATE TRIGGER keyscope_keys_marks AFTER UPDATE ON keyscope_keys FOR EACH ROW
WHEN (
  (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
  OR (OLD.retire_at IS NOT NULL AND NEW.retire_at IS DISTINCT FROM OLD.retire_at)
)
EXECUTE FUNCTION keyscope_refuse('revoked_at and retire_at are written once')`,
    `
CREATE TRIGGER keyscope_keys_delete BEFORE DELETE ON keyscope_keys FOR EACH ROW
EXECUTE FUNCTION keyscope_refuse('keys are revoked and never deleted')`,
    `
CREATE TRIGGER keyscope_keys_truncate BEFORE TRUNCATE ON keyscope_keys
EXECUTE FUNCTION keyscope_refuse('keys are revoked and never deleted')`,
  ],
];
