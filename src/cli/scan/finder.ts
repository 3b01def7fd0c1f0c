/**
 * Finds keys in bytes that come in pieces, in memory that does not grow with them. Pure: where the
 * bytes come from is not its concern.
 *
 * A key is ASCII, so bytes are looked at as they are, whatever the encoding of the text around it.
 * What stands before and behind it does not matter; neither does a candidate that overlaps another.
 * A find is proved by its checksum.
 */
import { createKeyFormat, SECRET_LENGTH } from '../../core/key.js';

/** A key, and where it stands. */
export interface Find {
  readonly prefix: string;
  /** The whole key: for the keyring alone. It is printed nowhere. */
  readonly key: string;
  /** Its last four characters, which may be shown. */
  readonly hint: string;
  /** In bytes from the beginning. */
  readonly offset: number;
  /** From 1. A line ends with a line feed. */
  readonly line: number;
  /** From 1, in characters of UTF-8. */
  readonly column: number;
}

/** Looks through one text. */
export interface Finder {
  /** Takes the next piece, and returns the keys that end in it, in their order. */
  push(piece: Uint8Array): readonly Find[];
}

const HINT_LENGTH = 4;

/** What is looked for: one for each prefix. */
interface Sought {
  readonly prefix: string;
  readonly head: Buffer;
  readonly length: number;
  readonly isKey: (text: string) => boolean;
}

/**
 * Returns what makes a finder for one text after the other.
 *
 * @throws TypeError on a malformed prefix.
 */
export function finderFor(prefixes: readonly string[]): () => Finder {
  const sought = [...new Set(prefixes)].map(soughtFor);
  const longest = Math.max(0, ...sought.map(({ length }) => length));
  return () => createFinder(sought, longest);
}

function soughtFor(prefix: string): Sought {
  const { faultIn } = createKeyFormat(prefix);
  const head = Buffer.from(`${prefix}_`, 'latin1');
  const length = head.length + SECRET_LENGTH;
  return { prefix, head, length, isKey: (text) => faultIn(text) === null };
}

function createFinder(sought: readonly Sought[], longest: number): Finder {
  const place = createPlace();
  // What a key that is not yet whole may begin with.
  let kept: Buffer = Buffer.alloc(0);
  let offset = 0;
  return {
    push(piece) {
      const bytes = bufferOf(piece);
      const seam = Buffer.concat([kept, bytes.subarray(0, longest - 1)]);
      const candidates = sought.flatMap((each) => [
        // Those that end in what was kept have been returned before.
        ...candidatesIn(seam, each, kept.length - each.length + 1, kept.length),
        ...candidatesIn(bytes, each, 0, bytes.length).map((one) => movedBy(kept.length, one)),
      ]);
      candidates.sort((one, other) => one.at - other.at);
      const text = [kept, bytes] as const;
      const finds = candidates.map(({ at, prefix, key }): Find => {
        place.advance(text, at);
        const hint = key.slice(-HINT_LENGTH);
        return { prefix, key, hint, offset: offset + at, line: place.line, column: place.column };
      });
      const whole = kept.length + bytes.length;
      const end = Math.max(0, whole - longest + 1);
      place.advance(text, end);
      place.rebase(end);
      offset += end;
      // A copy: whoever reads may use the piece again.
      const last = bytes.length < longest ? seam : bytes;
      kept = Buffer.from(last.subarray(Math.max(0, last.length - longest + 1)));
      return finds;
    },
  };
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

interface Candidate {
  readonly at: number;
  readonly prefix: string;
  readonly key: string;
}

function movedBy(distance: number, { at, prefix, key }: Candidate): Candidate {
  return { at: at + distance, prefix, key };
}

/** Those that begin from one place to another, without it. */
function candidatesIn(bytes: Buffer, sought: Sought, from: number, to: number): Candidate[] {
  const { prefix, head, length, isKey } = sought;
  const found: Candidate[] = [];
  const end = Math.min(to, bytes.length - length + 1);
  let at = bytes.indexOf(head, Math.max(0, from));
  while (at !== -1 && at < end) {
    const key = bytes.toString('latin1', at, at + length);
    if (isKey(key)) found.push({ at, prefix, key });
    at = bytes.indexOf(head, at + 1);
  }
  return found;
}

// ── Lines and columns ───────────────────────────────────────────────────────────────────────────

/** Where in the text one is. */
interface Place {
  readonly line: number;
  readonly column: number;
  /** Goes on to a place behind, in what was kept and the piece that follows it. */
  advance(text: readonly [kept: Buffer, piece: Buffer], to: number): void;
  /** So many bytes fall away in front. */
  rebase(by: number): void;
}

const LINE_FEED = 10;

function createPlace(): Place {
  let at = 0;
  let line = 1;
  let column = 1;
  function count(bytes: Buffer, from: number, to: number): void {
    if (from >= to) return;
    const last = bytes.subarray(from, to).lastIndexOf(LINE_FEED);
    const start = from + last + 1;
    if (last !== -1) {
      line += countBytes(bytes, from, start, lineFeedsIn);
      column = 1;
    }
    column += to - start - countBytes(bytes, start, to, continuationsIn);
  }
  return {
    get line() {
      return line;
    },
    get column() {
      return column;
    },
    advance([kept, piece], to) {
      count(kept, at, Math.min(to, kept.length));
      count(piece, Math.max(0, at - kept.length), to - kept.length);
      at = Math.max(at, to);
    },
    rebase(by) {
      at -= by;
    },
  };
}

// ── Four bytes at once ──────────────────────────────────────────────────────────────────────────

/** How many bytes in words are of a kind. Each has a loop of its own, which the engine compiles. */
type CountInWords = (words: Int32Array) => number;

/** The sum of four bytes that are 0 or 1. */
const sumOf = (word: number): number => Math.imul(word, 0x01010101) >>> 24;

/** A byte is zero where adding to its lower seven bits carries nothing into the highest. */
function lineFeedsIn(words: Int32Array): number {
  let count = 0;
  for (let index = 0; index < words.length; index += 1) {
    const zero = (words[index] ?? 0) ^ 0x0a0a0a0a;
    const other = ((zero & 0x7f7f7f7f) + 0x7f7f7f7f) | zero | 0x7f7f7f7f;
    count += sumOf(~other >>> 7);
  }
  return count;
}

/** Of UTF-8, the second and later bytes of a character, which begin with 10. */
function continuationsIn(words: Int32Array): number {
  let count = 0;
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? 0;
    count += sumOf((word >>> 7) & ~(word >>> 6) & 0x01010101);
  }
  return count;
}

/** Words begin at every fourth byte of the memory; what is before and behind goes by itself. */
function countBytes(bytes: Buffer, from: number, to: number, inWords: CountInWords): number {
  const { buffer, byteOffset } = bytes;
  const start = Math.min(to, from + ((4 - ((byteOffset + from) % 4)) % 4));
  const length = (to - start) >> 2;
  const end = start + length * 4;
  const edges = Int32Array.from([...bytes.subarray(from, start), ...bytes.subarray(end, to)]);
  const inEdges = inWords(edges);
  return length === 0
    ? inEdges
    : inEdges + inWords(new Int32Array(buffer, byteOffset + start, length));
}
