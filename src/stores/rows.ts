/** Converts records and marks to values of SQL databases, and rows to records. */
import type { KeyRecord } from '../core/record.js';
import type { Mark } from '../core/store.js';
import { rememberRows } from './remembered-rows.js';

/**
 * The columns, in the order of the INSERT. Named, so that columns added by the service do not
 * matter.
 */
export const COLUMN_LIST: string =
  'format, key_id, prefix, hint, name, digest, entity_id, accessible_entities, scopes, ' +
  'justification, metadata, created_at, created_by, expires_at, rotated_from, root_key_id, ' +
  'issued_under, trust, seal, revoked_at, suspended_at, retire_at, withdrawn, ended_by, ' +
  'end_reason, changed_at, last_used_at, scopes_used';

/** The value of a field in a row: lists and tables as JSON, whole numbers as numbers. */
export type Value = string | number | null;

/** Returns a record's values in the order of {@link COLUMN_LIST}. */
export function toValues(record: KeyRecord): Value[] {
  return [
    record.format,
    record.keyId,
    record.prefix,
    record.hint,
    record.name,
    record.digest,
    record.entityId,
    JSON.stringify(record.accessibleEntities),
    JSON.stringify(record.scopes),
    record.justification,
    JSON.stringify(record.metadata),
    record.createdAt,
    record.createdBy,
    record.expiresAt,
    record.rotatedFrom,
    record.rootKeyId,
    record.issuedUnder,
    record.trust,
    record.seal,
    record.revokedAt,
    record.suspendedAt,
    record.retireAt,
    JSON.stringify(record.withdrawn),
    record.endedBy,
    record.endReason,
    record.changedAt,
    record.lastUsedAt,
    JSON.stringify(record.scopesUsed),
  ];
}

/**
 * Returns the values of the UPDATE that writes a mark, in the order that dialects with unnumbered
 * placeholders share. A caller without types may leave out values that are null or empty.
 */
export function markValues(keyId: string, mark: Mark): Value[] {
  const { at } = mark;
  switch (mark.kind) {
    case 'revoke': {
      const { by = null, reason = null, seal = null, replaces = null } = mark;
      return [at, at, by, reason, seal, keyId, replaces, replaces];
    }
    case 'suspend': {
      const { by = null, reason = null } = mark;
      return [at, at, by, reason, keyId];
    }
    case 'resume':
      return [at, keyId];
    case 'retire': {
      const { retireAt, by = null, reason = null, withdrawn = [] } = mark;
      return [retireAt, at, by, reason, keyId, JSON.stringify(withdrawn)];
    }
    case 'withdraw':
      return [mark.entityId, at, keyId, mark.entityId];
    default:
      throw new TypeError('mark: kind: pass revoke, suspend, resume, retire or withdraw');
  }
}

/** A record with unchecked fields; the core checks them. */
export type UnreadRecord = { readonly [F in keyof KeyRecord]: unknown };

/** A row by column names, as a driver returns it. */
interface Row {
  readonly format?: unknown;
  readonly key_id?: unknown;
  readonly prefix?: unknown;
  readonly hint?: unknown;
  readonly name?: unknown;
  readonly digest?: unknown;
  readonly entity_id?: unknown;
  readonly accessible_entities?: unknown;
  readonly scopes?: unknown;
  readonly justification?: unknown;
  readonly metadata?: unknown;
  readonly created_at?: unknown;
  readonly created_by?: unknown;
  readonly expires_at?: unknown;
  readonly rotated_from?: unknown;
  readonly root_key_id?: unknown;
  readonly issued_under?: unknown;
  readonly trust?: unknown;
  readonly seal?: unknown;
  readonly revoked_at?: unknown;
  readonly suspended_at?: unknown;
  readonly retire_at?: unknown;
  readonly withdrawn?: unknown;
  readonly ended_by?: unknown;
  readonly end_reason?: unknown;
  readonly changed_at?: unknown;
  readonly last_used_at?: unknown;
  readonly scopes_used?: unknown;
}

/**
 * Makes a plain record from a row. Unchecked: the core checks the answers of a store. Drivers
 * differ in what they parse: JSON may be text or parsed, and a 64-bit integer may be number, bigint
 * or text.
 */
export function toRecord(row: unknown): KeyRecord {
  const columns = row as Row;
  // Written out, because a loop over names is slow.
  const record: UnreadRecord = {
    format: toInteger(columns.format),
    keyId: columns.key_id,
    prefix: columns.prefix,
    hint: columns.hint,
    name: columns.name,
    digest: columns.digest,
    entityId: columns.entity_id,
    accessibleEntities: parse(columns.accessible_entities),
    scopes: parse(columns.scopes),
    justification: columns.justification,
    metadata: parse(columns.metadata),
    createdAt: toInteger(columns.created_at),
    createdBy: columns.created_by,
    expiresAt: toInteger(columns.expires_at),
    rotatedFrom: columns.rotated_from,
    rootKeyId: columns.root_key_id,
    issuedUnder: columns.issued_under,
    trust: columns.trust,
    seal: columns.seal,
    revokedAt: toInteger(columns.revoked_at),
    suspendedAt: toInteger(columns.suspended_at),
    retireAt: toInteger(columns.retire_at),
    withdrawn: parse(columns.withdrawn),
    endedBy: columns.ended_by,
    endReason: columns.end_reason,
    changedAt: toInteger(columns.changed_at),
    lastUsedAt: toInteger(columns.last_used_at),
    scopesUsed: parse(columns.scopes_used),
  };
  return record as unknown as KeyRecord;
}

// ── Remembered rows ──────────────────────────────────────────────────────────────────────────────

const COLUMNS = COLUMN_LIST.split(', ') as readonly (keyof Row)[];

/**
 * Checks whether {@link toRecord} returns the same for both. False for JSON that a driver has
 * parsed.
 */
function isSameRow(row: unknown, last: unknown): boolean {
  return COLUMNS.every((name) => (row as Row)[name] === (last as Row)[name]);
}

/** Makes a {@link toRecord} that reads a row again only when it has changed. */
export function createRowReader(): (row: unknown) => KeyRecord {
  const read = rememberRows(toRecord, isSameRow);
  return (row) => read((row as Row).digest, row);
}

// ── Drivers' values ──────────────────────────────────────────────────────────────────────────────

function parse(json: unknown): unknown {
  if (typeof json !== 'string') return json;
  try {
    return JSON.parse(json);
  } catch {
    // A text is neither a list nor a table, so the core rejects this record only.
    return json;
  }
}

/**
 * Converts a 64-bit integer to a number. Returns anything else, including an integer beyond 2^53,
 * unchanged; the core then rejects the record.
 */
export function toInteger(value: unknown): unknown {
  if (value === null || typeof value === 'number') return value;
  const isInteger =
    typeof value === 'bigint' || (typeof value === 'string' && /^-?\d+$/.test(value));
  if (!isInteger) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
