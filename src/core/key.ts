/**
 * The key as text: parse, check, find, redact. Pure; making a key needs randomness and is in
 * `secret.ts`.
 *
 *   key      = prefix "_" secret
 *   prefix   = 1*20 lower-case letters, digits and inner "_", starting with a letter, not ending in "_"
 *   secret   = entropy checksum   ; 32 characters of 0-9A-Za-z
 *   entropy  = 26 base62 characters
 *   checksum = 6 base62 characters: CRC-32 (IEEE) of the ASCII bytes of prefix "_" entropy, left-padded with "0"
 *
 * The checksum lets a scanner be certain and lets `verify` refuse garbage without asking the store.
 * It is not secret and proves nothing. Keys are read from the right: the secret's length is fixed,
 * so a prefix may contain "_".
 */
import type { DenialReason } from './errors.js';
import { assert } from './input.js';

export const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const [ENTROPY_LENGTH, SECRET_LENGTH] = [26, 32] as const;

/** The parts of a key. `secret` is `entropy` and `checksum`; show none of the three to anybody. */
export type KeyParts = Readonly<Record<'prefix' | 'secret' | 'entropy' | 'checksum', string>>;

// By character code: the value of a base62 digit plus one, 0 for every other character.
const DIGITS = Uint8Array.from(
  { length: 128 },
  (_, code) => ALPHABET.indexOf(String.fromCharCode(code)) + 1,
);

const shift = (crc: number): number => (crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1);
const CRC_TABLE = Int32Array.from({ length: 256 }, (_, byte) =>
  [1, 2, 3, 4, 5, 6, 7, 8].reduce(shift, byte),
);

/** One more ASCII character of a CRC-32 (IEEE 802.3, reflected). */
const crc32 = (crc: number, code: number): number =>
  (crc >>> 8) ^ (CRC_TABLE[(crc ^ code) & 255] as number);
const crcOf = (crc: number, text: string): number =>
  [...text].reduce((c, x) => crc32(c, x.charCodeAt(0)), crc);

/**
 * How keys with one prefix are read and written; what depends only on the prefix is computed once.
 * `refuse`: `null`, or why it is not a key: its shape (length, prefix, alphabet) or its checksum.
 * `complete`: makes the whole key from its entropy.
 */
export function keyFormat(prefix: unknown) {
  const valid = typeof prefix === 'string' && /^[a-z](?:[a-z0-9_]{0,18}[a-z0-9])?$/.test(prefix);
  assert(
    valid,
    'prefix: 1 to 20 lower-case letters, digits and inner _, starting with a letter',
    prefix,
  );
  const head = `${prefix}_`;
  const [end, length] = [head.length + ENTROPY_LENGTH, head.length + SECRET_LENGTH];
  const seed = crcOf(-1, head);
  function refuse(text: unknown): DenialReason | null {
    if (typeof text !== 'string' || text.length !== length || !text.startsWith(head))
      return 'malformed_key';
    let [crc, checksum] = [seed, 0];
    for (let i = head.length; i < length; i++) {
      // Beyond the table, the value is undefined, which is not a digit; neither is 0.
      const digit = DIGITS[text.charCodeAt(i)];
      if (!digit) return 'malformed_key';
      if (i < end) crc = crc32(crc, text.charCodeAt(i));
      else checksum = checksum * 62 + digit - 1;
    }
    // Compared as the number that it spells: one beyond 32 bits equals no CRC.
    return checksum === ~crc >>> 0 ? null : 'wrong_checksum';
  }
  function complete(entropy: string): string {
    const crc = ~crcOf(seed, entropy) >>> 0;
    const digits = [5, 4, 3, 2, 1, 0].map((place) =>
      ALPHABET.charAt(Math.floor(crc / 62 ** place) % 62),
    );
    return head + entropy + digits.join('');
  }
  return Object.freeze({ prefix, refuse, complete });
}

/**
 * Splits a key into its parts. Not checked: whether any store knows it.
 *
 * @param text Anything; a value that is not a string is not a key.
 * @param options `prefix`: the prefix of this service's keys.
 * @returns The parts, or `null` if length, alphabet, prefix or checksum is wrong.
 * @throws TypeError on a malformed prefix.
 * @example
 * parseKey(text, { prefix: 'acme' })?.prefix; // 'acme'
 */
export function parseKey(text: unknown, options: { readonly prefix: string }): KeyParts | null {
  const { prefix, refuse } = keyFormat(options?.prefix);
  if (typeof text !== 'string' || refuse(text) !== null) return null;
  const secret = text.slice(-SECRET_LENGTH);
  return {
    prefix,
    secret,
    entropy: secret.slice(0, ENTROPY_LENGTH),
    checksum: secret.slice(ENTROPY_LENGTH),
  };
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
 * Returns the source of a regular expression that finds keys in larger texts, for secret scanners
 * and hooks. It works in PCRE, RE2 and JavaScript; POSIX has no `\b`. Not checked by it: the
 * checksum; pass each match to {@link isKey}.
 *
 * @throws TypeError on a malformed prefix.
 * @example
 * const found = text.match(new RegExp(keyPattern('acme'), 'g'));
 */
export const keyPattern = (prefix: string): string =>
  `\\b${keyFormat(prefix).prefix}_[0-9A-Za-z]{${SECRET_LENGTH}}\\b`;

/**
 * Replaces every key in `text` by `prefix_[redacted]`, for log lines. Matches by shape, even if
 * other characters touch the key; if a key begins inside what looks like another, both are removed.
 * Hiding too much is harmless.
 *
 * Not checked: the checksum. Keys with another prefix stay.
 *
 * @throws TypeError on a malformed prefix, or if `text` is not a string.
 * @example
 * redactKeys(`sent ${key}`, { prefix: 'acme' }); // 'sent acme_[redacted]'
 */
export function redactKeys(text: string, options: { readonly prefix: string }): string {
  const { prefix } = keyFormat(options?.prefix);
  assert(typeof text === 'string', 'text: pass a string', text);
  const key = `${prefix}_[0-9A-Za-z]{${SECRET_LENGTH}}`;
  // The part before another key that begins inside, or a whole key: of overlapping keys, only the
  // last leaves a mark.
  const found = new RegExp(
    `(?=${key}).{1,${prefix.length + SECRET_LENGTH}}?(?=${key})|(${key})`,
    'g',
  );
  return text.replace(found, (_, whole?: string) => (whole ? `${prefix}_[redacted]` : ''));
}
