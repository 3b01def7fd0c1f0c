/** The encoding of a record that its seal covers: every field that never changes. */
import type { KeyRecord } from './record.js';

/** In the order of the encoding. */
const SEALED = [
  'keyId',
  'name',
  'digest',
  'entityUuid',
  'accessibleEntities',
  'scopes',
  'justification',
  'metadata',
  'createdAt',
  'expiresAt',
  'rotatedFrom',
] as const satisfies readonly (keyof KeyRecord)[];

/** The encoding of every field that never changes. */
export function sealedText(record: KeyRecord): string {
  return encode(['keyscope record v1', ...SEALED.map((name) => record[name])]);
}

/**
 * Prefix-free, so that no two contents share an encoding: each value begins with its type, texts
 * and lists with their length; null, empty and absent differ. A table is encoded as its sorted
 * pairs, because databases may reorder it.
 */
function encode(value: unknown): string {
  if (typeof value === 'string') return `s${value.length}:${value}`;
  if (typeof value === 'number') return `i${value};`;
  if (typeof value !== 'object' || value === null) return 'n';
  const items: readonly unknown[] = Array.isArray(value) ? value : sortedPairs(value);
  return `l${items.length}:${items.map(encode).join('')}`;
}

function sortedPairs(table: object): readonly (readonly [string, unknown])[] {
  return Object.entries(table).sort(([a], [b]) => (a < b ? -1 : 1));
}
