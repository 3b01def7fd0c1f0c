/** The canonical text over which seals are computed. */

/** The format of the records that this release writes and reads. */
export const RECORD_FORMAT = 1;

/**
 * Encodes a value so that no two contents share an encoding. The code is prefix-free: each value
 * begins with its type, and texts and lists with their length. A table becomes its sorted pairs,
 * because databases may reorder it.
 */
export function encode(value: unknown): string {
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (typeof value === 'number') return `i${value};`;
  if (typeof value !== 'object' || value === null) return 'n';
  const items: readonly unknown[] = Array.isArray(value) ? value : sortedPairs(value);
  return `l${items.length}:${items.map(encode).join('')}`;
}

/** Returns the own members of a table, by name. */
export function sortedPairs(table: object): readonly (readonly [string, unknown])[] {
  return Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1));
}
