/** How what is sealed becomes text. */

/** The format of the records that this release writes and reads. */
export const RECORD_FORMAT = 1;

/**
 * Prefix-free, so that no two contents share an encoding: each value begins with its type, texts
 * and lists with their length. A table is encoded as its sorted pairs, because databases may
 * reorder it.
 */
export function encode(value: unknown): string {
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (typeof value === 'number') return `i${value};`;
  if (typeof value !== 'object' || value === null) return 'n';
  const items: readonly unknown[] = Array.isArray(value) ? value : sortedPairs(value);
  return `l${items.length}:${items.map(encode).join('')}`;
}

function sortedPairs(table: object): readonly (readonly [string, unknown])[] {
  return Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1));
}
