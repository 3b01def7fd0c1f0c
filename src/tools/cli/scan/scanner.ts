/** The state of one scan: its patterns, counts and progress. */
import { redactKeys } from '../../../management/keys.js';
import type { Output } from '../output.js';
import { createProgress } from '../progress.js';
import { type Find, type Finder, finderFor } from './finder.js';
import type { Ignored } from './ignored.js';

/** A key, and where it is. */
export interface Found {
  readonly find: Find;
  /** The commit of the line or message; null outside a history. */
  readonly commit: string | null;
  /** The path with `/`; `-` for standard input; null for a commit message. */
  readonly path: string | null;
  /** Null for a key in the name of the file. */
  readonly line: number | null;
  readonly column: number | null;
}

/** Counts of a scan. */
export interface Tally {
  texts: number;
  bytes: number;
  found: number;
  unread: number;
}

/** A scan in progress. */
export interface Scan {
  readonly createFinder: () => Finder;
  readonly ignored: Ignored;
  readonly tally: Tally;
  /** Counts bytes and shows progress on a terminal. */
  advance(bytes: number): void;
  /** Removes the progress, before other output. */
  clear(): void;
  /** Writes a line for people. */
  say(line: string): void;
  /** Counts and reports something that could not be read completely, and says why. */
  tellUnread(name: string, why: string): void;
}

/** Starts a scan. */
export function createScan(prefixes: readonly string[], ignored: Ignored, output: Output): Scan {
  const progress = createProgress(output);
  const begun = performance.now();
  const tally: Tally = { texts: 0, bytes: 0, found: 0, unread: 0 };
  const scan: Scan = {
    createFinder: finderFor(prefixes),
    ignored,
    tally,
    advance(bytes) {
      tally.bytes += bytes;
      const rate = tally.bytes / 1e3 / (performance.now() - begun);
      progress.show(`${shownTally(tally)}, ${rate.toFixed(1)} MB/s`);
    },
    clear: progress.clear,
    say(line) {
      scan.clear();
      output.say(line);
    },
    tellUnread(name, why) {
      tally.unread += 1;
      scan.say(`${withoutKeys(name, prefixes)} cannot be read: ${why}.`);
    },
  };
  return scan;
}

/** Formats counts as `2 found in 1204 texts (12.3 MB)`. */
export function shownTally({ found, texts, bytes, unread }: Tally): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const rest = unread === 0 ? '' : `; ${unread} could not be read`;
  return `${found} found in ${texts} ${texts === 1 ? 'text' : 'texts'} (${size})${rest}`;
}

/** Finds keys in a file name or a part of one. */
export function keysInName(
  { createFinder }: Scan,
  name: string,
  { path, commit }: Pick<Found, 'path' | 'commit'>,
): readonly Found[] {
  const finds = createFinder().push(Buffer.from(name));
  return finds.map((find) => ({ find, commit, path, line: null, column: null }));
}

/** Masks keys in a text such as a path. */
export function withoutKeys(text: string, prefixes: readonly string[]): string {
  return prefixes.reduce((masked, prefix) => redactKeys(masked, { prefix }), text);
}
