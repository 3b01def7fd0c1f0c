/**
 * Finds keys in bytes that come in pieces, in memory that does not grow with them. Pure: where the
 * bytes come from is not its concern.
 *
 * A key is ASCII, so bytes are looked at as they are, whatever the encoding of the text around it.
 * What stands before and behind it does not matter; neither does a candidate that overlaps another.
 * A find is proved by its checksum.
 */
import { type Candidate, candidatesIn, type Sought, soughtFor } from './candidates.js';
import { createPlace } from './line-counter.js';

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

function createFinder(sought: readonly Sought[], longest: number): Finder {
  const place = createPlace();
  // What a key that is not yet whole may begin with.
  let kept: Buffer = Buffer.alloc(0);
  let offset = 0;
  /** It begins in what was kept, and does not end there: those have been returned before. */
  function isNew({ at, key }: Candidate): boolean {
    return at < kept.length && at + key.length > kept.length;
  }
  return {
    push(piece) {
      const bytes = bufferOf(piece);
      const seam = Buffer.concat([kept, bytes.subarray(0, longest - 1)]);
      const here = candidatesIn(bytes, sought).map((each) => movedBy(kept.length, each));
      const candidates = [...candidatesIn(seam, sought).filter(isNew), ...here];
      const text = [kept, bytes] as const;
      const finds = candidates.map(({ at, sought: { prefix }, key }): Find => {
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

function movedBy(distance: number, { at, sought, key }: Candidate): Candidate {
  return { at: at + distance, sought, key };
}
