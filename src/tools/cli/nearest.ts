/** What was meant by a word that there is not. */

/** ` Did you mean …?`, or nothing where nothing is near. */
export function suggest(text: string, known: readonly string[]): string {
  if (text.length > 30) return '';
  const byDistance = known.map((name) => ({ name, distance: distanceOf(text, name) }));
  const [nearest] = byDistance.sort((a, b) => a.distance - b.distance);
  const bound = Math.max(2, Math.floor(text.length / 3));
  if (nearest === undefined || nearest.distance > bound) return '';
  return ` Did you mean ${nearest.name}?`;
}

/** How many letters have to be put in, left out or changed (Levenshtein's distance). */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j += 1) {
      const changed = (row[j] ?? 0) + (letter === b[j] ? 0 : 1);
      next.push(Math.min(changed, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
