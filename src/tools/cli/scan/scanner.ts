/** Looks through one text after the other, and counts. */
import type { Find, Finder } from './finder.js';
import type { GitObject, Text } from './text.js';

/** A key, and the text that it stands in. */
export interface Found {
  readonly find: Find;
  readonly path: string | null;
  readonly object: GitObject | null;
  /** The commit that brought it; null outside a history. */
  readonly commit: string | null;
}

/** What was done so far. */
export interface Tally {
  texts: number;
  bytes: number;
  found: number;
  unread: number;
}

/** What a scan needs. */
export interface Scan {
  readonly createFinder: () => Finder;
  readonly tally: Tally;
  /** Called after each piece. */
  readonly tick: () => void;
  /** Hears of a text that could not be read to its end. */
  readonly tellUnread: (path: string, error: unknown) => void;
}

/**
 * The keys in these texts. A file that cannot be read, or not to its end, is told and passed over.
 * An object of git that cannot be read ends the scan: those behind it cannot be read either.
 */
export async function* keysIn(scan: Scan, texts: AsyncIterable<Text>): AsyncGenerator<Found> {
  const { createFinder, tally, tick, tellUnread } = scan;
  for await (const { path, object, pieces } of texts) {
    const finder = createFinder();
    tally.texts += 1;
    try {
      for await (const piece of pieces) {
        const finds = finder.push(piece);
        tally.bytes += piece.length;
        tick();
        for (const find of finds) yield { find, path, object, commit: null };
      }
    } catch (error) {
      if (object !== null || path === null) throw error;
      tellUnread(path, error);
    }
  }
}
