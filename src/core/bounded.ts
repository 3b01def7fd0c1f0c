/** Memories of a fixed size. */

/** Sets an entry of a map, and drops the one that was set longest ago if there are too many. */
export function setBounded<K, V>(map: Map<K, V>, name: K, value: V, max: number): void {
  // Deleted first, so that it moves to the end.
  map.delete(name);
  map.set(name, value);
  const [oldest] = map.size > max ? map.keys() : [];
  if (oldest !== undefined) map.delete(oldest);
}
