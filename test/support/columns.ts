/** The columns of the SQL stores, by whether they ever change. */

/** Those of a key that never change, in the order of the table. */
export const FIXED: readonly string[] = [
  'key_id',
  'name',
  'digest',
  'seal',
  'entity_uuid',
  'accessible_entities',
  'scopes',
  'justification',
  'metadata',
  'created_at',
  'expires_at',
  'rotated_from',
];

/** Those that an operation writes. */
export const CHANGING: readonly string[] = [
  'revoked_at',
  'retire_at',
  'last_used_at',
  'scopes_used',
];

/** The column of a record's field. */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The record's field of a column. */
export function fieldOf(column: string): string {
  return column.replace(/_[a-z]/g, (joint) => joint.slice(1).toUpperCase());
}
