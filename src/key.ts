/**
 * The key as text: parse, check, find, redact. Pure; making one needs randomness and is in `secret.ts`.
 *
 *   key      = prefix "_" secret
 *   prefix   = 1*20 lower-case letters, digits and inner "_", starting with a letter, not ending in "_"
 *   secret   = entropy checksum   ; 32 characters of 0-9A-Za-z
 *   entropy  = 26 base62 characters
 *   checksum = 6 base62 characters: CRC-32 (IEEE) of the ASCII bytes of prefix "_" entropy, left-padded with "0"
 *
 * The checksum lets a scanner be certain and lets `verify` refuse garbage before the store is asked. It is no
 * secret and proves nothing. Keys are read from the right: the length is fixed, so a prefix may hold "_".
 */
import { type DenialReason, expect } from './errors.js';

export const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const ENTROPY_LENGTH = 26;
const SECRET_LENGTH = ENTROPY_LENGTH + 6;

/** A key taken apart. `secret` is `entropy` and `checksum`; all three are for nobody to see. */
export type KeyParts = Readonly<Record<'prefix' | 'secret' | 'entropy' | 'checksum', string>>;

// By character code: the value of a base62 digit plus one, 0 for every other character.
const DIGITS = Uint8Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)) + 1);

const shift = (crc: number): number => (crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1);
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) => [1, 2, 3, 4, 5, 6, 7, 8].reduce(shift, byte));

/** One more ASCII character of a CRC-32 (IEEE 802.3, reflected). */
const crc32 = (crc: number, code: number): number => (crc >>> 8) ^ (CRC_TABLE[(crc ^ code) & 255] as number);
const crcOf = (crc: number, text: string): number => [...text].reduce((c, x) => crc32(c, x.charCodeAt(0)), crc);

/**
 * How keys with one prefix are read and written; what depends only on the prefix is computed once. `refuse`: `null`, or
 * why it is no key: its shape (length, prefix, alphabet) or its checksum. `complete`: the whole key around its entropy.
 */
export type KeyFormat = { prefix: string; refuse(it: unknown): DenialReason | null; complete(entropy: string): string };

export function keyFormat(prefix: unknown): KeyFormat {
  const valid = typeof prefix === 'string' && /^[a-z](?:[a-z0-9_]{0,18}[a-z0-9])?$/.test(prefix);
  expect(valid, 'prefix: 1 to 20 lower-case letters, digits and inner _, starting with a letter', prefix);
  const head = `${prefix}_`;
  const [end, length] = [head.length + ENTROPY_LENGTH, head.length + SECRET_LENGTH];
  const seed = crcOf(-1, head);
  function refuse(text: unknown): DenialReason | null {
    if (typeof text !== 'string' || text.length !== length || !text.startsWith(head)) return 'malformed_key';
    let [crc, checksum] = [seed, 0];
    for (let i = head.length; i < length; i++) {
      // Beyond the table is undefined, which is no digit, as 0 is.
      const digit = DIGITS[text.charCodeAt(i)];
      if (!digit) return 'malformed_key';
      if (i < end) crc = crc32(crc, text.charCodeAt(i));
      else checksum = checksum * 62 + digit - 1;
    }
    // Compared as the number it spells: what is beyond 32 bits equals no CRC.
    return checksum === ~crc >>> 0 ? null : 'wrong_checksum';
  }
  function complete(entropy: string): string {
    const crc = ~crcOf(seed, entropy) >>> 0;
    const digits = [5, 4, 3, 2, 1, 0].map((place) => ALPHABET.charAt(Math.floor(crc / 62 ** place) % 62));
    return head + entropy + digits.join('');
  }
  return Object.freeze({ prefix, refuse, complete });
}

/**
 * Takes a key apart. Not checked: whether any store knows it.
 *
 * @param text Anything; what is no string is no key.
 * @param options `prefix`: the prefix that keys of this service carry.
 * @returns The parts, or `null` where length, alphabet, prefix or checksum do not fit.
 * @throws TypeError on a malformed prefix.
 * @example
 * parseKey(text, { prefix: 'acme' })?.prefix; // 'acme'
 */
export function parseKey(text: unknown, options: { readonly prefix: string }): KeyParts | null {
  const { prefix, refuse } = keyFormat(options?.prefix);
  if (typeof text !== 'string' || refuse(text) !== null) return null;
  const secret = text.slice(-SECRET_LENGTH);
  return { prefix, secret, entropy: secret.slice(0, ENTROPY_LENGTH), checksum: secret.slice(ENTROPY_LENGTH) };
}

/**
 * Whether `text` has the shape and checksum of a key. Not checked: whether any store knows it.
 *
 * @throws TypeError on a malformed prefix.
 * @example
 * if (isKey(line, { prefix: 'acme' })) report(line);
 */
export const isKey = (text: unknown, options: { readonly prefix: string }): boolean =>
  keyFormat(options?.prefix).refuse(text) === null;

/**
 * The source of a regular expression that finds keys in larger texts: for secret scanners and hooks.
 * Plain enough for every dialect. Not checked by it: the checksum; ask {@link isKey} about what it found.
 *
 * @throws TypeError on a malformed prefix.
 * @example
 * const found = text.match(new RegExp(keyPattern('acme'), 'g'));
 */
export const keyPattern = (prefix: string): string => `\\b${keyFormat(prefix).prefix}_[0-9A-Za-z]{${SECRET_LENGTH}}\\b`;

/**
 * Replaces every key in `text` by `prefix_[redacted]`: for log lines. Looks for the shape alone, also where
 * other characters touch it; where one begins inside what looks like another, both go. To hide too much is harmless.
 *
 * @throws TypeError on a malformed prefix, or where `text` is no string.
 * @example
 * redactKeys(`sent ${key}`, { prefix: 'acme' }); // 'sent acme_[redacted]'
 */
export function redactKeys(text: string, options: { readonly prefix: string }): string {
  const { prefix } = keyFormat(options?.prefix);
  expect(typeof text === 'string', 'text: pass a string', text);
  const key = `${prefix}_[0-9A-Za-z]{${SECRET_LENGTH}}`;
  // What is before another that begins inside it, or a whole one: of those that overlap the last leaves the mark.
  const found = new RegExp(`(?=${key}).{1,${prefix.length + SECRET_LENGTH}}?(?=${key})|(${key})`, 'g');
  return text.replace(found, (_, whole?: string) => (whole ? `${prefix}_[redacted]` : ''));
}
