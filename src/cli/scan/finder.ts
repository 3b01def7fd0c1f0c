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
      const bytes = kept.length === 0 ? bufferOf(piece) : Buffer.concat([kept, piece]);
      const candidates = sought.flatMap((each) => candidatesIn(bytes, each, kept.length));
      candidates.sort((one, other) => one.at - other.at);
      const finds = candidates.map(({ at, prefix, key }): Find => {
        place.advance(bytes, at);
        const hint = key.slice(-HINT_LENGTH);
        return { prefix, key, hint, offset: offset + at, line: place.line, column: place.column };
      });
      const end = Math.max(0, bytes.length - longest + 1);
      place.advance(bytes, end);
      place.rebase(end);
      offset += end;
      // A copy: whoever reads may use the piece again.
      kept = Buffer.from(bytes.subarray(end));
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

/** Those that were whole in what was kept have been returned before. */
function candidatesIn(bytes: Buffer, sought: Sought, keptLength: number): Candidate[] {
  const { prefix, head, length, isKey } = sought;
  const found: Candidate[] = [];
  const last = bytes.length - length;
  let at = bytes.indexOf(head, Math.max(0, keptLength - length + 1));
  while (at !== -1 && at <= last) {
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
  /** Goes on to a place of these bytes that lies behind. */
  advance(bytes: Uint8Array, to: number): void;
  /** So many bytes fall away in front. */
  rebase(by: number): void;
}

const LINE_FEED = 10;

/** Of UTF-8, the second and later bytes of a character, which begin with 10. */
const isContinuation = (byte: number): boolean => (byte & 0xc0) === 0x80;

function createPlace(): Place {
  let at = 0;
  let line = 1;
  let column = 1;
  return {
    get line() {
      return line;
    },
    get column() {
      return column;
    },
    advance(bytes, to) {
      const start = countLines(bytes, to);
      for (let index = start; index < to; index += 1) {
        if (!isContinuation(bytes[index] as number)) column += 1;
      }
      at = Math.max(at, to);
    },
    rebase(by) {
      at -= by;
    },
  };

  /** Returns where the characters of the last line begin that are not yet counted. */
  function countLines(bytes: Uint8Array, to: number): number {
    let start = at;
    for (let index = at; index < to; index += 1) {
      if (bytes[index] !== LINE_FEED) continue;
      line += 1;
      column = 1;
      start = index + 1;
    }
    return start;
  }
}
