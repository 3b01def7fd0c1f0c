/** Memories of a fixed size. */

/** Sets an entry of a map, and drops the one that was set longest ago if there are too many. */
export function setBounded<K, V>(map: Map<K, V>, name: K, value: V, max: number): void {
  // Deleted first, so that it moves to the end.
  map.delete(name);
  map.set(name, value);
  if (map.size > max) map.delete(map.keys().next().value as K);
}
