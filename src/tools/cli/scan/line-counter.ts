/** Counts lines and characters of bytes that come in pieces. */

/** Where in the text one is. */
export interface Place {
  readonly line: number;
  readonly column: number;
  /** Goes on to a place behind, in what was kept and the piece that follows it. */
  advance(text: readonly [kept: Buffer, piece: Buffer], to: number): void;
  /** So many bytes fall away in front. */
  rebase(by: number): void;
}

const LINE_FEED = 10;

/** Makes one, at the beginning. */
export function createPlace(): Place {
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
