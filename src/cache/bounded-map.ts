/** A `Map` of bounded size. */

/** Adds an entry to a map of at most `limit` entries; drops the oldest entry if it is full. */
export function setBounded<T>(map: Map<string, T>, name: string, entry: T, limit: number): void {
  map.set(name, entry);
  if (map.size <= limit) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
