/**
 * Finds keys in bytes that arrive in pieces, in constant memory. Pure: it does not read the bytes
 * itself.
 *
 * A key is ASCII, so the encoding of the surrounding text does not matter. Neither do the bytes
 * next to a key, not even an overlapping candidate. The checksum proves a find.
 */
import { createKeyFormat, ENTROPY_LENGTH, SECRET_LENGTH } from '../../../core/key.js';

/** A key, and where it is. */
export interface Find {
  readonly prefix: string;
  /** The whole key, for the keyring only. It is never printed. */
  readonly key: string;
  /** Its last four characters, which may be shown. */
  readonly hint: string;
  /** From 1. A line ends with a line feed. */
  readonly line: number;
  /** From 1, in characters of UTF-8. */
  readonly column: number;
}

/** Searches one text. */
export interface Finder {
  /** Takes the next piece and returns the keys that end in it, in order. */
  push(piece: Uint8Array): readonly Find[];
}

const HINT_LENGTH = 4;

/**
 * Returns a function that makes a finder for each text.
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
  // The bytes that may start an incomplete key.
  let kept: Buffer = Buffer.alloc(0);
  /** Whether it starts in the kept bytes and ends later. Those that end there were returned. */
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
        return { prefix, key, hint, line: place.line, column: place.column };
      });
      const whole = kept.length + bytes.length;
      const end = Math.max(0, whole - longest + 1);
      place.advance(text, end);
      place.rebase(end);
      // A copy, because the reader may reuse the piece.
      const last = bytes.length < longest ? seam : bytes;
      kept = Buffer.from(last.subarray(Math.max(0, last.length - longest + 1)));
      return finds;
    },
  };
}

/** Wraps the same bytes in a Buffer. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function movedBy(distance: number, { at, sought, key }: Candidate): Candidate {
  return { at: at + distance, sought, key };
}

// ── Candidates ───────────────────────────────────────────────────────────────────────────────────
// The 32 letters and digits of a key follow a `_`, so they are the first 32 of a run of letters and
// digits. Every run of 32 covers one of the probed bytes, which are 32 apart. If a probe finds no
// letter or digit, the 31 bytes before it are skipped.

/** A prefix to search for. */
interface Sought {
  readonly prefix: string;
  /** The prefix and `_`. */
  readonly head: Buffer;
  /** The length of a whole key. */
  readonly length: number;
  readonly isKey: (text: string) => boolean;
}

/** A key with a valid checksum, and where it starts. */
interface Candidate {
  readonly at: number;
  readonly sought: Sought;
  readonly key: string;
}

function soughtFor(prefix: string): Sought {
  const { faultIn } = createKeyFormat(prefix);
  const head = Buffer.from(`${prefix}_`, 'latin1');
  const length = head.length + SECRET_LENGTH;
  return { prefix, head, length, isKey: (text) => faultIn(text) === null };
}

const UNDERSCORE = 0x5f;
/** The greatest first digit of a checksum, the `4` of `4gfFC3`. */
const FIRST_OF_CHECKSUM = 0x34;
const LAST = 0xff;

/** By byte: 1 for a letter or a digit. */
const IN_RUN = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** Returns the complete keys in these bytes, in order. */
function candidatesIn(bytes: Buffer, sought: readonly Sought[]): readonly Candidate[] {
  const found: Candidate[] = [];
  // Every run up to here has been checked.
  let seen = -1;
  for (let probe = SECRET_LENGTH - 1; probe < bytes.length; probe += SECRET_LENGTH) {
    if (isInRun(bytes, probe)) {
      let start = probe;
      while (start - 1 > seen && isInRun(bytes, start - 1)) start -= 1;
      // A run that started earlier does not start here.
      if (bytes[start - 1] === UNDERSCORE) found.push(...candidatesAt(bytes, start, sought));
    }
    seen = probe;
  }
  return found;
}

function isInRun(bytes: Buffer, at: number): boolean {
  return IN_RUN[bytes[at] ?? 0] === 1;
}

/** Finds at most one, unless a prefix ends like another. */
function candidatesAt(
  bytes: Buffer,
  secretAt: number,
  sought: readonly Sought[],
): readonly Candidate[] {
  const found: Candidate[] = [];
  // A checksum of 32 bits never starts above 4, so skip computing it.
  if ((bytes[secretAt + ENTROPY_LENGTH] ?? LAST) > FIRST_OF_CHECKSUM) return found;
  for (const each of sought) {
    const at = secretAt - each.head.length;
    if (!startsWith(bytes, at, each.head)) continue;
    const key = bytes.toString('latin1', at, at + each.length);
    if (each.isKey(key)) found.push({ at, sought: each, key });
  }
  return found;
}

/** Compares from the right, where prefixes differ from other texts with a `_`. */
function startsWith(bytes: Buffer, at: number, head: Buffer): boolean {
  if (at < 0) return false;
  for (let index = head.length - 1; index >= 0; index -= 1) {
    if (bytes[at + index] !== head[index]) return false;
  }
  return true;
}

// ── Lines and columns ────────────────────────────────────────────────────────────────────────────

/** The position of the finder in the text. */
interface Place {
  readonly line: number;
  readonly column: number;
  /** Moves to a later place in the kept bytes and the piece that follows them. */
  advance(text: readonly [kept: Buffer, piece: Buffer], to: number): void;
  /** Accounts for bytes dropped from the start. */
  rebase(by: number): void;
}

const LINE_FEED = 0x0a;

function createPlace(): Place {
  let at = 0;
  let line = 1;
  let column = 1;
  function count(bytes: Buffer, from: number, to: number): void {
    if (from >= to) return;
    const part = bytes.subarray(from, to);
    let start = 0;
    for (let end = part.indexOf(LINE_FEED); end !== -1; end = part.indexOf(LINE_FEED, start)) {
      line += 1;
      column = 1;
      start = end + 1;
    }
    for (let index = start; index < part.length; index += 1) {
      // In UTF-8, all bytes of a character except its first start with the bits 10.
      if (((part[index] ?? 0) & 0xc0) !== 0x80) column += 1;
    }
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
