/** The columns of the SQL stores, by whether they ever change. */

/** The columns of a key that never change, in the order of the table. */
export const FIXED: readonly string[] = [
  'format',
  'key_id',
  'prefix',
  'hint',
  'name',
  'digest',
  'entity_id',
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

/** The columns that an operation writes, in the order of the table. */
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

/** Returns the column of a record's field. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the record's field of a column. */
export function fieldOf(column: string): string {
  return column.replace(/_[a-z]/g, (joint) => joint.slice(1).toUpperCase());
}
