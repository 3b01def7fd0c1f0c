/** Records as rows of SQL databases, and rows as records. */
import type { KeyRecord } from '../core/record.js';

/** In the order of the INSERT. By name, so that columns that the service adds are left alone. */
export const COLUMN_LIST: string =
  'key_id, name, digest, seal, entity_uuid, accessible_entities, scopes, justification, metadata, created_at, ' +
  'expires_at, revoked_at, retire_at, rotated_from, last_used_at, scopes_used';

/**
 * What a record's fields look like in a row: lists and tables as JSON, whole numbers as numbers.
 */
export type Value = string | number | null;

/** A record's values in the order of {@link COLUMN_LIST}. */
export const toValues = (record: KeyRecord): Value[] => [
  record.keyId,
  record.name,
  record.digest,
  record.seal,
  record.entityUuid,
  JSON.stringify(record.accessibleEntities),
  JSON.stringify(record.scopes),
  record.justification,
  JSON.stringify(record.metadata),
  record.createdAt,
  record.expiresAt,
  record.revokedAt,
  record.retireAt,
  record.rotatedFrom,
  record.lastUsedAt,
  JSON.stringify(record.scopesUsed),
];

/**
 * A fresh plain record from a row with the columns' names, unchecked: the core checks what comes
 * back. Drivers differ in what they parse: JSON comes as text or parsed, 64-bit integers as number,
 * bigint or text.
 */
export function toRecord(row: unknown): KeyRecord {
  const columns = row as Readonly<Record<string, never>>;
  // Written out: with a table of names, a look-up in SQLite takes half as long again.
  const {
    key_id,
    entity_uuid,
    accessible_entities,
    created_at,
    expires_at,
    revoked_at,
    retire_at,
  } = columns;
  const {
    name,
    digest,
    seal,
    scopes,
    justification,
    metadata,
    rotated_from,
    last_used_at,
    scopes_used,
  } = columns;
  const record: Unread = {
    keyId: key_id,
    name,
    digest,
    seal,
    entityUuid: entity_uuid,
    accessibleEntities: parse(accessible_entities),
    scopes: parse(scopes),
    justification,
    metadata: parse(metadata),
    createdAt: whole(created_at),
    expiresAt: whole(expires_at),
    revokedAt: whole(revoked_at),
    retireAt: whole(retire_at),
    rotatedFrom: rotated_from,
    lastUsedAt: whole(last_used_at),
    scopesUsed: parse(scopes_used),
  };
  return record as unknown as KeyRecord;
}

type Unread = { readonly [F in keyof KeyRecord]: unknown };

function parse(json: unknown): unknown {
  try {
    return typeof json === 'string' ? JSON.parse(json) : json;
  } catch {
    // Neither a list nor a table, so the core refuses this record, and only this one.
    return json;
  }
}

/**
 * A 64-bit integer as a number. Anything else, or beyond 2^53, stays what it is, and the core
 * refuses the record.
 */
export function whole(value: unknown): unknown {
  if (value === null || typeof value === 'number') return value;
  const number =
    typeof value === 'bigint' || (typeof value === 'string' && /^-?\d+$/.test(value))
      ? Number(value)
      : value;
  return Number.isSafeInteger(number) ? number : value;
}
