/** A second implementation of UUIDs, looser than the package's. */
export function isUuid(it: unknown): boolean {
  return typeof it === 'string' && /^[0-9a-f-]{36}$/.test(it) && it.split('-').length === 5;
}
