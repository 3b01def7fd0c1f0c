/** One scan: what it looks for, what it has counted, and what it tells while it runs. */
import { redactKeys } from '../../../management/keys.js';
import type { Output } from '../output.js';
import { type Find, type Finder, finderFor } from './finder.js';
import type { Ignored } from './ignored.js';

/** A key, and the text that it is in. */
export interface Found {
  readonly find: Find;
  /** The commit that the line or message belongs to; null outside a history. */
  readonly commit: string | null;
  /** As it was given or found, with `/`; `-` for standard input; null for a message of a commit. */
  readonly path: string | null;
  /** Null for a key in the name of the file. */
  readonly line: number | null;
  readonly column: number | null;
}

/** What was done so far. */
export interface Tally {
  texts: number;
  bytes: number;
  found: number;
  unread: number;
}

/** What those who read texts are given. */
export interface Scan {
  readonly createFinder: () => Finder;
  readonly ignored: Ignored;
  readonly tally: Tally;
  /** Counts what was read, and says on a terminal how far the scan is. */
  advance(bytes: number): void;
  /** Takes that line away, before something else is written. */
  clear(): void;
  /** Writes a line for people. */
  say(line: string): void;
  /** Counts and names what could not be read, or not to its end, and says why. */
  tellUnread(name: string, why: string): void;
}

const EVERY_MS = 200;

/** Makes one. */
export function createScan(prefixes: readonly string[], ignored: Ignored, output: Output): Scan {
  const { stderr } = process;
  const tally: Tally = { texts: 0, bytes: 0, found: 0, unread: 0 };
  let isShown = false;
  let last = performance.now();
  const scan: Scan = {
    createFinder: finderFor(prefixes),
    ignored,
    tally,
    advance(bytes) {
      tally.bytes += bytes;
      if (!stderr.isTTY || performance.now() - last < EVERY_MS) return;
      last = performance.now();
      isShown = true;
      output.replaceLine(shownTally(tally));
    },
    clear() {
      if (isShown) output.replaceLine('');
      isShown = false;
    },
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

/** Such as `2 found in 1204 texts (12.3 MB)`. */
export function shownTally({ found, texts, bytes, unread }: Tally): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const rest = unread === 0 ? '' : `; ${unread} could not be read`;
  return `${found} found in ${texts} ${texts === 1 ? 'text' : 'texts'} (${size})${rest}`;
}

/** The keys in a name, which is that of this file or a part of it. */
export function keysInName(
  { createFinder }: Scan,
  name: string,
  { path, commit }: Pick<Found, 'path' | 'commit'>,
): readonly Found[] {
  const finds = createFinder().push(Buffer.from(name));
  return finds.map((find) => ({ find, commit, path, line: null, column: null }));
}

/** A path may have a key in it, as anything may. */
export function withoutKeys(text: string, prefixes: readonly string[]): string {
  return prefixes.reduce((masked, prefix) => redactKeys(masked, { prefix }), text);
}
