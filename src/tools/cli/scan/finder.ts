/**
 * Finds keys in bytes that come in pieces, in memory that does not grow with them. Pure: where the
 * bytes come from is not its concern.
 *
 * A key is ASCII, so bytes are looked at as they are, whatever the encoding of the text around it.
 * What touches a key does not matter, not even a candidate that overlaps it. The checksum proves a
 * find.
 */
import { createKeyFormat, ENTROPY_LENGTH, SECRET_LENGTH } from '../../../core/key.js';

/** A key, and where it is. */
export interface Find {
  readonly prefix: string;
  /** The whole key: for the keyring alone. It is printed nowhere. */
  readonly key: string;
  /** Its last four characters, which may be shown. */
  readonly hint: string;
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
        return { prefix, key, hint, line: place.line, column: place.column };
      });
      const whole = kept.length + bytes.length;
      const end = Math.max(0, whole - longest + 1);
      place.advance(text, end);
      place.rebase(end);
      // A copy: the reader may use the piece again.
      const last = bytes.length < longest ? seam : bytes;
      kept = Buffer.from(last.subarray(Math.max(0, last.length - longest + 1)));
      return finds;
    },
  };
}

/** The same bytes, with the methods of a Buffer. */
function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function movedBy(distance: number, { at, sought, key }: Candidate): Candidate {
  return { at: at + distance, sought, key };
}

// ── Candidates ───────────────────────────────────────────────────────────────────────────────────
// The 32 letters and digits of a key come after a `_`, so they are the first 32 of a run of such
// characters. A run of 32 has one at every 32nd byte: where a probe finds none, the 31 bytes before
// it are not looked at.

/** A prefix, as it is looked for. */
interface Sought {
  readonly prefix: string;
  /** The prefix and `_`. */
  readonly head: Buffer;
  /** Of a whole key. */
  readonly length: number;
  readonly isKey: (text: string) => boolean;
}

/** A key whose checksum is right, and where it begins. */
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
/** The greatest digit that a checksum begins with, `4` of `4gfFC3`. */
const FIRST_OF_CHECKSUM = 0x34;
const LAST = 0xff;

/** By byte: 1 for a letter or a digit. */
const IN_RUN = Uint8Array.from({ length: 256 }, (_, byte) =>
  /[0-9A-Za-z]/.test(String.fromCharCode(byte)) ? 1 : 0,
);

/** All that are whole in these bytes, in their order. */
function candidatesIn(bytes: Buffer, sought: readonly Sought[]): readonly Candidate[] {
  const found: Candidate[] = [];
  // Up to here, every run has been looked at.
  let seen = -1;
  for (let probe = SECRET_LENGTH - 1; probe < bytes.length; probe += SECRET_LENGTH) {
    if (isInRun(bytes, probe)) {
      let start = probe;
      while (start - 1 > seen && isInRun(bytes, start - 1)) start -= 1;
      // A run that continues from before does not begin here.
      if (bytes[start - 1] === UNDERSCORE) found.push(...candidatesAt(bytes, start, sought));
    }
    seen = probe;
  }
  return found;
}

function isInRun(bytes: Buffer, at: number): boolean {
  return IN_RUN[bytes[at] ?? 0] === 1;
}

/** Of one prefix at most, unless one ends like another. */
function candidatesAt(
  bytes: Buffer,
  secretAt: number,
  sought: readonly Sought[],
): readonly Candidate[] {
  const found: Candidate[] = [];
  // Beyond a 4 there is no checksum of 32 bits, and no need to compute one.
  if ((bytes[secretAt + ENTROPY_LENGTH] ?? LAST) > FIRST_OF_CHECKSUM) return found;
  for (const each of sought) {
    const at = secretAt - each.head.length;
    if (!startsWith(bytes, at, each.head)) continue;
    const key = bytes.toString('latin1', at, at + each.length);
    if (each.isKey(key)) found.push({ at, sought: each, key });
  }
  return found;
}

/** From the right, where prefixes differ from other texts with a `_`. */
function startsWith(bytes: Buffer, at: number, head: Buffer): boolean {
  if (at < 0) return false;
  for (let index = head.length - 1; index >= 0; index -= 1) {
    if (bytes[at + index] !== head[index]) return false;
  }
  return true;
}

// ── Lines and columns ────────────────────────────────────────────────────────────────────────────

/** Where in the text the finder is. */
interface Place {
  readonly line: number;
  readonly column: number;
  /** Moves to a later place in what was kept and the piece that follows it. */
  advance(text: readonly [kept: Buffer, piece: Buffer], to: number): void;
  /** So many bytes fall away in front. */
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
      // Of UTF-8, the second and later bytes of a character begin with the bits 10.
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
