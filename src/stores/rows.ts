/** Converts records and marks to values of SQL databases, and rows to records. */
import type { KeyRecord } from '../core/record.js';
import type { Mark } from '../core/store.js';
import { rememberRows } from './remembered-rows.js';

/** How a column holds its field: as a text, a whole number, or the JSON of a list or a table. */
type Kind = 'text' | 'integer' | 'json';

/** The kind of each field's column, in the order of the columns. */
const KINDS: Readonly<Record<keyof KeyRecord, Kind>> = {
  format: 'integer',
  keyId: 'text',
  prefix: 'text',
  hint: 'text',
  name: 'text',
  digest: 'text',
  entityId: 'text',
  accessibleEntities: 'json',
  scopes: 'json',
  justification: 'text',
  metadata: 'json',
  createdAt: 'integer',
  createdBy: 'text',
  expiresAt: 'integer',
  rotatedFrom: 'text',
  rootKeyId: 'text',
  issuedUnder: 'text',
  trust: 'text',
  seal: 'text',
  revokedAt: 'integer',
  suspendedAt: 'integer',
  retireAt: 'integer',
  withdrawn: 'json',
  endedBy: 'text',
  endReason: 'text',
  changedAt: 'integer',
  lastUsedAt: 'integer',
  scopesUsed: 'json',
};

/** The fields of a record, in the order of the columns. */
export const FIELDS = Object.keys(KINDS) as readonly (keyof KeyRecord)[];

/** A column of the table of keys. */
export interface Column {
  readonly field: keyof KeyRecord;
  readonly name: keyof Row;
  readonly kind: Kind;
}

/** The name of a field's column: that of `entityId` is `entity_id`. */
type ColumnName<Field extends string> = Field extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${ColumnName<Rest>}`
  : '';

/** The columns, in the order of the INSERT. */
export const COLUMNS: readonly Column[] = FIELDS.map((field) => {
  const name = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return { field, name: name as Column['name'], kind: KINDS[field] };
});

/** Their names. Statements name them, so that columns added by the service do not matter. */
export const COLUMN_LIST: string = COLUMNS.map(({ name }) => name).join(', ');

/** The value of a field in a row: lists and tables as JSON, whole numbers as numbers. */
export type Value = string | number | null;

/** Returns a record's values in the order of {@link COLUMNS}. */
export function toValues(record: KeyRecord): Value[] {
  const values = COLUMNS.map(({ field, kind }) =>
    kind === 'json' ? JSON.stringify(record[field]) : record[field],
  );
  return values as Value[];
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
type UnreadRecord = { readonly [F in keyof KeyRecord]: unknown };

/** A row by column names, as a driver returns it. */
type Row = { readonly [F in keyof KeyRecord as ColumnName<F>]?: unknown };

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
  return record as KeyRecord;
}

/** Makes a plain record from the values of its columns, in their order. Unchecked, too. */
export function recordOf(values: readonly unknown[]): KeyRecord {
  // A copy of a literal: an object that gets more than a dozen computed names becomes a hash table.
  const record: Record<keyof KeyRecord, unknown> = { ...KINDS };
  for (const [index, field] of FIELDS.entries()) record[field] = values[index];
  return record as KeyRecord;
}

// ── Remembered rows ──────────────────────────────────────────────────────────────────────────────

/**
 * Checks whether {@link toRecord} returns the same for both. False for JSON that a driver has
 * parsed.
 */
function isSameRow(row: unknown, last: unknown): boolean {
  return COLUMNS.every(({ name }) => (row as Row)[name] === (last as Row)[name]);
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
