/**
 * The text of a key: its shape and checksum. This file is pure; the randomness for new keys is in
 * `secret.ts`.
 *
 *   key      = prefix "_" secret
 *   prefix   = 1*20 lower-case letters, digits and inner "_", starting with a letter,
 *              not ending in "_"
 *   secret   = entropy checksum   ; 32 characters of 0-9A-Za-z
 *   entropy  = 26 base62 characters
 *   checksum = 6 base62 characters: CRC-32 (IEEE) of the ASCII bytes of prefix "_" entropy,
 *              left-padded with "0"
 *
 * The checksum lets a scanner confirm a match, and lets `verify` refuse garbage without asking the
 * store. It is not secret and proves nothing. Keys are read from the right: the secret's length is
 * fixed, so a prefix may contain "_".
 */
import type { DenialReason } from './errors.js';
import { assert } from './input.js';

/** The digits of base62, by value. */
export const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const ENTROPY_LENGTH = 26;
const CHECKSUM_LENGTH = 6;
export const SECRET_LENGTH: number = ENTROPY_LENGTH + CHECKSUM_LENGTH;

// ── The checksum ────────────────────────────────────────────────────────────────────────────────

const DIGIT_VALUES = digitValues();
const CRC_TABLE = crcTable();

/** Maps character codes to the values of base62 digits, and all others to -1. */
function digitValues(): Int8Array {
  const values = new Int8Array(128).fill(-1);
  for (let value = 0; value < ALPHABET.length; value++) values[ALPHABET.charCodeAt(value)] = value;
  return values;
}

/** Computes the CRC-32 (IEEE 802.3, reflected) of every byte. */
function crcTable(): Int32Array {
  const table = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) {
      const isOdd = (crc & 1) === 1;
      crc >>>= 1;
      if (isOdd) crc ^= 0xedb88320;
    }
    table[byte] = crc;
  }
  return table;
}

const CRC_START = -1;

/** Returns the state of a CRC after one more ASCII character. */
function crcStep(crc: number, code: number): number {
  return (crc >>> 8) ^ (CRC_TABLE[(crc ^ code) & 255] as number);
}

/** Returns the state of a CRC after more ASCII text. */
function crcOver(crc: number, text: string): number {
  let state = crc;
  for (let index = 0; index < text.length; index++) {
    state = crcStep(state, text.charCodeAt(index));
  }
  return state;
}

function crcResult(crc: number): number {
  return ~crc >>> 0;
}

function writeChecksum(crc: number): string {
  let text = '';
  let rest = crcResult(crc);
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    text = ALPHABET.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

// ── The format ──────────────────────────────────────────────────────────────────────────────────

/** Reads and writes keys with one prefix. */
export interface KeyFormat {
  readonly prefix: string;
  /** Returns why `text` is not a key: its shape (length, prefix, alphabet) or checksum; or null. */
  readonly faultIn: (text: unknown) => DenialReason | null;
  /** Makes a whole key from its entropy. */
  readonly complete: (entropy: string) => string;
}

const PREFIX = /^[a-z](?:[a-z0-9_]{0,18}[a-z0-9])?$/;

/** Makes the format of a prefix, and computes everything that depends only on it once. */
export function createKeyFormat(prefix: unknown): KeyFormat {
  const isPrefix = typeof prefix === 'string' && PREFIX.test(prefix);
  const instead = 'prefix: 1 to 20 lower-case letters, digits and inner _, starting with a letter';
  assert(isPrefix, instead, prefix);
  const head = `${prefix}_`;
  const crcOfHead = crcOver(CRC_START, head);
  const entropyEnd = head.length + ENTROPY_LENGTH;
  const length = head.length + SECRET_LENGTH;

  function faultIn(text: unknown): DenialReason | null {
    if (typeof text !== 'string' || text.length !== length || !text.startsWith(head)) {
      return 'malformed_key';
    }
    let crc = crcOfHead;
    let checksum = 0;
    for (let index = head.length; index < length; index++) {
      const code = text.charCodeAt(index);
      // Undefined for characters beyond ASCII.
      const digit = DIGIT_VALUES[code] as number;
      if (!(digit >= 0)) return 'malformed_key';
      if (index < entropyEnd) crc = crcStep(crc, code);
      else checksum = checksum * 62 + digit;
    }
    // Compared as numbers. A checksum beyond 32 bits cannot equal a CRC.
    return checksum === crcResult(crc) ? null : 'wrong_checksum';
  }

  function complete(entropy: string): string {
    return head + entropy + writeChecksum(crcOver(crcOfHead, entropy));
  }

  return Object.freeze({ prefix, faultIn, complete });
}

/** Checks whether `text` is a key of any prefix, with its checksum. */
export function isWholeKey(text: string): boolean {
  const prefix = text.slice(0, -SECRET_LENGTH - 1);
  return PREFIX.test(prefix) && createKeyFormat(prefix).faultIn(text) === null;
}
