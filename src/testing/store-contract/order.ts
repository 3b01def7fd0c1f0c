/** The order of listings, and functions to compare unsorted or longer answers. */
import type { KeyRecord } from '../../core/record.js';
import type { ListPosition } from '../../core/store.js';

/**
 * Compares positions as a listing orders them: by `createdAt`, then by `keyId`, both descending.
 */
export function newestFirst(one: ListPosition, other: ListPosition): number {
  if (one.createdAt !== other.createdAt) return other.createdAt - one.createdAt;
  if (one.keyId === other.keyId) return 0;
  return one.keyId < other.keyId ? 1 : -1;
}

/** Whether a listing after the position `after` contains `row`. */
export function isBehind(row: KeyRecord, after: ListPosition | null): boolean {
  return after === null || newestFirst(after, row) < 0;
}

/** Returns a copy sorted by digest, because a look-up may answer in any order. */
export function byDigest(rows: readonly KeyRecord[]): readonly KeyRecord[] {
  return [...rows].sort((one, other) => (one.digest < other.digest ? -1 : 1));
}

/** Returns a copy sorted by key id, as a lineage is listed. */
export function byKeyId(rows: readonly KeyRecord[]): readonly KeyRecord[] {
  return [...rows].sort((one, other) => (one.keyId < other.keyId ? -1 : 1));
}

/** Returns the `rows` that are also in `all`, in the order of `rows`. */
export function among(rows: readonly KeyRecord[], all: readonly KeyRecord[]): readonly KeyRecord[] {
  const known = new Set(all.map(({ keyId }) => keyId));
  return rows.filter(({ keyId }) => known.has(keyId));
}
