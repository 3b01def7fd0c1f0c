/** What may be bound in a look-up. */

/**
 * Whether `value` may be bound in a look-up of an id or a digest. Drivers give objects a special
 * meaning, and databases cut text at a NUL or refuse it; no id and no digest has one.
 */
export function isText(value: unknown): value is string {
  return typeof value === 'string' && !value.includes('\0');
}
