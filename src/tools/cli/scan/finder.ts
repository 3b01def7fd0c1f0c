/**
 * Finds keys in bytes that arrive in pieces, in constant memory. Pure: it does not read the bytes
 * itself.
 *
 * A key is ASCII, so the encoding of the surrounding text does not matter. Neither do the bytes
 * next to a key: its 32 letters and digits follow a `_`, so they are the first 32 of a run of
 * letters and digits, however long that is.
 */
import { createKeyFormat, ENTROPY_LENGTH, SECRET_LENGTH } from '../../../core/key.js';
import { looksLikeKey } from '../../../core/masking.js';

/** A key, or a text that only looks like one. */
export interface Find {
  readonly prefix: string;
  /** The whole text, for the keyring only. It is never printed. */
  readonly key: string;
  /** Its last four characters, which may be shown. */
  readonly hint: string;
  /** If it is wrong, this is not a key. */
  readonly checksum: 'right' | 'wrong';
  /** From 1. A line ends with a line feed. */
  readonly line: number;
}

/** Searches one text. */
export interface Finder {
  /** Takes the next piece and returns what ends before its last byte, in order. */
  push(piece: Uint8Array): readonly Find[];
  /** Returns what ends with the text. */
  end(): readonly Find[];
}

const HINT_LENGTH = 4;
const LINE_FEED = 0x0a;
const UNDERSCORE = 0x5f;
/** The greatest first digit of a checksum, the `4` of `4gfFC3`. */
const FIRST_OF_CHECKSUM = 0x34;

/**
 * Returns a function that makes a finder for each text.
 *
 * @throws TypeError on a malformed prefix.
 */
export function finderFor(prefixes: readonly string[]): () => Finder {
  const sought = [...new Set(prefixes)].map(soughtFor);
  // The longest first, because `acme_live_` also ends with `live_`.
  sought.sort((a, b) => b.head.length - a.head.length);
  return () => createFinder(sought);
}

function createFinder(sought: readonly Sought[]): Finder {
  const longest = SECRET_LENGTH + (sought[0]?.head.length ?? 0);
  // Begins with the last bytes so far, because a key may start in them and end later.
  let room: Buffer = Buffer.alloc(0);
  let kept = 0;
  let line = 1;
  // The place up to which lines are counted.
  let counted = 0;

  function append(piece: Uint8Array): Buffer {
    const length = kept + piece.length;
    if (length > room.length) room = Buffer.concat([room.subarray(0, kept)], length);
    room.set(piece, kept);
    return room.subarray(0, length);
  }

  function countLines(bytes: Buffer, to: number): void {
    if (to <= counted) return;
    line += lineFeedsIn(bytes.subarray(counted, to));
    counted = to;
  }

  function push(piece: Uint8Array): readonly Find[] {
    const bytes = append(piece);
    const finds: Find[] = [];
    for (const start of runsIn(bytes)) {
      const next = start + SECRET_LENGTH;
      // Wait for the byte after it. If that was there before, the find was returned before.
      if (next < kept || next >= bytes.length) continue;
      const found = findAt(bytes, start, sought);
      if (found === null) continue;
      countLines(bytes, start);
      finds.push({ ...found, line });
    }
    const done = Math.max(0, bytes.length - longest);
    countLines(bytes, done);
    counted -= done;
    kept = bytes.length - done;
    bytes.copyWithin(0, done);
    return finds;
  }

  return { push, end: () => push(Buffer.of(LINE_FEED)) };
}

function lineFeedsIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) {
    count += 1;
  }
  return count;
}

// ── Candidates ───────────────────────────────────────────────────────────────────────────────────

/** A prefix to search for. */
interface Sought {
  readonly prefix: string;
  /** The prefix and `_`. */
  readonly head: Buffer;
  readonly faultIn: (text: string) => string | null;
}

function soughtFor(prefix: string): Sought {
  const { faultIn } = createKeyFormat(prefix);
  return { prefix, head: Buffer.from(`${prefix}_`, 'latin1'), faultIn };
}

/** By byte: 1 for a letter or a digit. */
const IN_RUN = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

function isInRun(bytes: Buffer, at: number): boolean {
  return IN_RUN[bytes[at] ?? 0] === 1;
}

/**
 * Returns where runs of letters and digits start that follow a `_`: all runs of 32 or more, and
 * some shorter ones. A run of 32 covers one of the probed bytes, which are 32 apart. If a probe
 * finds no letter or digit, the 31 bytes before it are skipped.
 */
function runsIn(bytes: Buffer): readonly number[] {
  const starts: number[] = [];
  // Every run up to here has been checked.
  let seen = -1;
  for (let probe = SECRET_LENGTH - 1; probe < bytes.length; probe += SECRET_LENGTH) {
    if (isInRun(bytes, probe)) {
      let start = probe;
      while (start - 1 > seen && isInRun(bytes, start - 1)) start -= 1;
      // A run that started earlier does not start here.
      if (bytes[start - 1] === UNDERSCORE) starts.push(start);
    }
    seen = probe;
  }
  return starts;
}

/** Reads what precedes and follows the start of a run. */
function findAt(
  bytes: Buffer,
  start: number,
  sought: readonly Sought[],
): Omit<Find, 'line'> | null {
  const end = start + SECRET_LENGTH;
  const isLonger = isInRun(bytes, end);
  // A checksum of 32 bits never starts above 4, so skip computing it.
  if (isLonger && (bytes[start + ENTROPY_LENGTH] ?? 0) > FIRST_OF_CHECKSUM) return null;
  let wrong: Omit<Find, 'line'> | null = null;
  for (const { prefix, head, faultIn } of sought) {
    if (!endsWith(bytes, start, head)) continue;
    const key = bytes.toString('latin1', start - head.length, end);
    const find = { prefix, key, hint: key.slice(-HINT_LENGTH) };
    const fault = faultIn(key);
    if (fault === null) return { ...find, checksum: 'right' };
    // A longer run is an identifier, and a hexadecimal one is a hash.
    const isLike = fault === 'wrong_checksum' && !isLonger && looksLikeKey(key);
    if (isLike) wrong ??= { ...find, checksum: 'wrong' };
  }
  return wrong;
}

/** Compares from the right, where prefixes differ from other texts with a `_`. */
function endsWith(bytes: Buffer, end: number, head: Buffer): boolean {
  const start = end - head.length;
  if (start < 0) return false;
  for (let index = head.length - 1; index >= 0; index -= 1) {
    if (bytes[start + index] !== head[index]) return false;
  }
  return true;
}
