/**
 * Finds what looks like a key in bytes. The 32 letters and digits of a key stand behind a `_`, so
 * they are the first 32 of a run of such characters that is no longer to the left. A run of 32 has
 * one at every 32nd byte: where there is none, the 31 before it are not looked at.
 */
import { createKeyFormat, ENTROPY_LENGTH, SECRET_LENGTH } from '../../../core/key.js';

/** A prefix, as it is looked for. */
export interface Sought {
  readonly prefix: string;
  /** The prefix and `_`. */
  readonly head: Buffer;
  /** Of a whole key. */
  readonly length: number;
  readonly isKey: (text: string) => boolean;
}

/** A key whose checksum is right, and where it begins. */
export interface Candidate {
  readonly at: number;
  readonly sought: Sought;
  readonly key: string;
}

/** @throws TypeError on a malformed prefix. */
export function soughtFor(prefix: string): Sought {
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
export function candidatesIn(bytes: Buffer, sought: readonly Sought[]): readonly Candidate[] {
  const found: Candidate[] = [];
  // Up to here, every run has been looked at.
  let seen = -1;
  for (let probe = SECRET_LENGTH - 1; probe < bytes.length; probe += SECRET_LENGTH) {
    if (isInRun(bytes, probe)) {
      let start = probe;
      while (start - 1 > seen && isInRun(bytes, start - 1)) start -= 1;
      // A run that goes on from before has not its beginning here.
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

/** From the right, where prefixes differ from what else has a `_`. */
function startsWith(bytes: Buffer, at: number, head: Buffer): boolean {
  if (at < 0) return false;
  for (let index = head.length - 1; index >= 0; index -= 1) {
    if (bytes[at + index] !== head[index]) return false;
  }
  return true;
}
