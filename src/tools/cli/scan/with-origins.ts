/** Says of keys in objects of git which commit brought them, and at which path. */
import { originsOf } from './history.js';
import type { Ignored } from './ignored.js';
import type { Found } from './scanner.js';

/** So many are kept before git is asked for their commits, which is a walk through the history. */
const MAX_KEPT = 10_000;

/**
 * The same, in groups. What stood at ignored paths alone is left out: git names an object by one
 * path, and a copy elsewhere counts.
 */
export async function* withOrigins(
  folder: string,
  ignored: Ignored,
  found: AsyncIterable<Found>,
): AsyncGenerator<Found> {
  let kept: Found[] = [];
  for await (const each of found) {
    kept.push(each);
    if (kept.length < MAX_KEPT) continue;
    yield* placed(folder, ignored, kept);
    kept = [];
  }
  yield* placed(folder, ignored, kept);
}

async function* placed(
  folder: string,
  ignored: Ignored,
  found: readonly Found[],
): AsyncGenerator<Found> {
  const ids = new Set(found.map(blobOf).filter((id) => id !== null));
  if (ids.size === 0) {
    yield* found;
    return;
  }
  const origins = await originsOf(folder, ids, (path) => !ignored(path));
  for (const each of found) {
    const origin = origins.get(blobOf(each) ?? '');
    if (origin !== null) yield { ...each, ...origin };
  }
}

function blobOf({ object }: Found): string | null {
  return object?.type === 'blob' ? object.id : null;
}
