/** Which values may be parameters of a look-up. */

/**
 * Whether `value` may be a parameter in a look-up of an id or a digest. Drivers give objects a
 * special meaning, and databases refuse a NUL or truncate text at it; no id or digest contains one.
 */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}
