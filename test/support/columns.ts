/** The columns of the SQL stores, split by whether they ever change. */

/** The columns of a key that never change, in table order. */
export const FIXED: readonly string[] = [
  'format',
  'key_id',
  'prefix',
  'hint',
  'name',
  'digest',
  'entity_uuid',
  'accessible_entities',
  'scopes',
  'justification',
  'metadata',
  'created_at',
  'created_by',
  'expires_at',
  'rotated_from',
  'root_key_id',
  'issued_under',
  'trust',
];

/** The columns that an operation writes, in table order. */
export const CHANGING: readonly string[] = [
  'seal',
  'revoked_at',
  'suspended_at',
  'retire_at',
  'withdrawn',
  'ended_by',
  'end_reason',
  'changed_at',
  'last_used_at',
  'scopes_used',
];

/** Returns the column for a field of the record. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the record's field for a column. */
export function fieldOf(column: string): string {
  return column.replace(/_[a-z]/g, (joint) => joint.slice(1).toUpperCase());
}
