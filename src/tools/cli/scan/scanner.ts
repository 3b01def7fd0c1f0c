/** The state of one scan: its finder, counts and progress. */
import { redactKeys } from '../../../notation/keys.js';
import type { Output } from '../output.js';
import { createProgress } from '../progress.js';
import { type Finder, finderFor } from './finder.js';

/** Counts of a scan. */
export interface Tally {
  texts: number;
  bytes: number;
  /** Only those with a right checksum. */
  keys: number;
  unread: number;
}

/** A scan in progress. */
export interface Scan {
  readonly createFinder: () => Finder;
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
export function createScan(prefixes: readonly string[], output: Output): Scan {
  const progress = createProgress(output);
  const begun = performance.now();
  const tally: Tally = { texts: 0, bytes: 0, keys: 0, unread: 0 };
  const scan: Scan = {
    createFinder: finderFor(prefixes),
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

/** Formats counts as `2 keys in 1204 texts (12.3 MB)`. */
export function shownTally({ keys, texts, bytes, unread }: Tally): string {
  const size = `${(bytes / 1e6).toFixed(1)} MB`;
  const rest = unread === 0 ? '' : `; ${unread} could not be read`;
  return `${counted(keys, 'key')} in ${counted(texts, 'text')} (${size})${rest}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Masks keys in a text such as a path. */
export function withoutKeys(text: string, prefixes: readonly string[]): string {
  return prefixes.reduce((masked, prefix) => redactKeys(masked, { prefix }), text);
}
