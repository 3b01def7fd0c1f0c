/** Converts records to rows of SQL databases, and back. */
import type { KeyRecord } from '../core/record.js';

/** In the order of the INSERT. Named, so that columns added by the service do not matter. */
export const COLUMN_LIST: string =
  'key_id, name, digest, seal, entity_uuid, accessible_entities, scopes, justification, ' +
  'metadata, created_at, expires_at, revoked_at, retire_at, rotated_from, last_used_at, ' +
  'scopes_used';

/**
 * The value of a field in a row: lists and tables as JSON, whole numbers as numbers.
 */
export type Value = string | number | null;

/** A record's values in the order of {@link COLUMN_LIST}. */
export function toValues(record: KeyRecord): Value[] {
  return [
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
}

/** A record whose fields are not checked yet; the core checks them. */
export type UnreadRecord = { readonly [F in keyof KeyRecord]: unknown };

/** A row by column names, as a driver returns it. */
interface Row {
  readonly key_id?: unknown;
  readonly name?: unknown;
  readonly digest?: unknown;
  readonly seal?: unknown;
  readonly entity_uuid?: unknown;
  readonly accessible_entities?: unknown;
  readonly scopes?: unknown;
  readonly justification?: unknown;
  readonly metadata?: unknown;
  readonly created_at?: unknown;
  readonly expires_at?: unknown;
  readonly revoked_at?: unknown;
  readonly retire_at?: unknown;
  readonly rotated_from?: unknown;
  readonly last_used_at?: unknown;
  readonly scopes_used?: unknown;
}

/**
 * Makes a plain record from a row. Unchecked: the core checks what a store returns. Drivers differ
 * in what they parse: JSON may be text or parsed, and 64-bit integers number, bigint or text.
 */
export function toRecord(row: unknown): KeyRecord {
  const columns = row as Row;
  // Written out: with a loop over names, a look-up in SQLite takes half as long again.
  const record: UnreadRecord = {
    keyId: columns.key_id,
    name: columns.name,
    digest: columns.digest,
    seal: columns.seal,
    entityUuid: columns.entity_uuid,
    accessibleEntities: parse(columns.accessible_entities),
    scopes: parse(columns.scopes),
    justification: columns.justification,
    metadata: parse(columns.metadata),
    createdAt: toInteger(columns.created_at),
    expiresAt: toInteger(columns.expires_at),
    revokedAt: toInteger(columns.revoked_at),
    retireAt: toInteger(columns.retire_at),
    rotatedFrom: columns.rotated_from,
    lastUsedAt: toInteger(columns.last_used_at),
    scopesUsed: parse(columns.scopes_used),
  };
  return record as unknown as KeyRecord;
}

function parse(json: unknown): unknown {
  if (typeof json !== 'string') return json;
  try {
    return JSON.parse(json);
  } catch {
    // A text is neither a list nor a table, so the core refuses this record and no other.
    return json;
  }
}

/**
 * Converts a 64-bit integer to a number. Anything else, and an integer beyond 2^53, is returned
 * unchanged; the core refuses the record.
 */
export function toInteger(value: unknown): unknown {
  if (value === null || typeof value === 'number') return value;
  const isInteger =
    typeof value === 'bigint' || (typeof value === 'string' && /^-?\d+$/.test(value));
  if (!isInteger) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
