/** Tools for the text of keys: make, parse, check, find, redact, digest. No decision uses them. */
import { assert, assertFunction, readFields } from '../core/input.js';
import { createKeyFormat, ENTROPY_LENGTH, SECRET_LENGTH } from '../core/key.js';
import type { Pepper, RandomBytes } from '../core/secret.js';
import { drawEntropy, platformRandom, readPeppers } from '../core/secret.js';

/** The parts of a key. Never show any of them except the prefix. */
export interface KeyParts {
  readonly prefix: string;
  /** The entropy and the checksum. */
  readonly secret: string;
  readonly entropy: string;
  readonly checksum: string;
}

/**
 * Splits a key into its parts. Not checked: whether the key is in any store.
 *
 * @param text Any value. Only a string can be a key.
 * @param options `prefix`: the prefix of this service's keys.
 * @returns The parts, or `null` if length, alphabet, prefix or checksum is wrong.
 * @throws TypeError on a malformed prefix.
 * @example
 * parseKey(text, { prefix: 'acme' })?.prefix; // 'acme'
 */
export function parseKey(text: unknown, options: { readonly prefix: string }): KeyParts | null {
  const { prefix, faultIn } = createKeyFormat(options?.prefix);
  if (typeof text !== 'string' || faultIn(text) !== null) return null;
  const secret = text.slice(-SECRET_LENGTH);
  const entropy = secret.slice(0, ENTROPY_LENGTH);
  const checksum = secret.slice(ENTROPY_LENGTH);
  return { prefix, secret, entropy, checksum };
}

/**
 * Checks whether `text` has the shape and checksum of a key. Not checked: whether the key is in any
 * store.
 *
 * @throws TypeError on a malformed prefix.
 * @example
 * if (isKey(line, { prefix: 'acme' })) report(line);
 */
export function isKey(text: unknown, options: { readonly prefix: string }): boolean {
  return createKeyFormat(options?.prefix).faultIn(text) === null;
}

/**
 * Returns the source of a regular expression that finds keys in larger texts, for secret scanners
 * and hooks. It finds a key whatever touches it: `%3D`, an escaped `\n`, the `X_` of a name. It
 * works in PCRE, RE2, POSIX and JavaScript.
 *
 * Not checked: the checksum, so any 32 letters and digits match after the prefix; pass each match
 * to {@link isKey}. If keys overlap, it finds only the first.
 *
 * @throws TypeError on a malformed prefix.
 * @example
 * const found = text.match(new RegExp(keyPattern('acme'), 'g')) ?? [];
 * const keys = found.filter((match) => isKey(match, { prefix: 'acme' }));
 */
export function keyPattern(prefix: string): string {
  return `${createKeyFormat(prefix).prefix}_[0-9A-Za-z]{${SECRET_LENGTH}}`;
}

/**
 * Replaces every key in `text` with `prefix_[redacted]`, for log lines. It matches by shape, even
 * if other characters touch the key. If a key begins inside something that looks like another key,
 * it removes both, because hiding too much is harmless.
 *
 * Not checked: the checksum. It does not replace keys with another prefix, or keys that are
 * percent-encoded or otherwise escaped.
 *
 * @throws TypeError on a malformed prefix, or if `text` is not a string.
 * @example
 * redactKeys(`sent ${key}`, { prefix: 'acme' }); // 'sent acme_[redacted]'
 */
export function redactKeys(text: string, options: { readonly prefix: string }): string {
  const { prefix } = createKeyFormat(options?.prefix);
  assert(typeof text === 'string', 'text: pass a string', text);
  const key = keyPattern(prefix);
  const longest = prefix.length + SECRET_LENGTH;
  // Matches a whole key, or the part of a key before another one begins.
  const found = new RegExp(`(?=${key}).{1,${longest}}?(?=${key})|${key}`, 'g');
  return text.replace(found, `${prefix}_[redacted]`);
}

/** The options of {@link generateKey}. */
interface GenerateOptions {
  /** 1 to 20 lower-case letters, digits and inner `_`. */
  readonly prefix: string;
  /** The source of bytes, for tests. Default: the platform's `crypto.getRandomValues`. */
  readonly random?: RandomBytes | undefined;
}

/**
 * Makes a key with 154.8 random bits and a checksum. It stores nothing; to make a key that a
 * keyring accepts, use `issue`.
 *
 * @param options `prefix`: 1 to 20 lower-case letters, digits and inner `_`. `random`: the source
 *   of bytes, for tests; the default is the platform's `crypto.getRandomValues`, and no
 *   configuration weakens it.
 * @throws TypeError on a malformed prefix, or a `random` that does not return the requested bytes.
 * @example
 * generateKey({ prefix: 'acme' }); // 'acme_' and 32 characters
 */
export function generateKey(options: GenerateOptions): string {
  const given = readFields(options, ['prefix', 'random'], 'generateKey');
  const { prefix, random = platformRandom } = given;
  assertFunction(random, 'random');
  return createKeyFormat(prefix).complete(drawEntropy(random as RandomBytes));
}

/**
 * Returns the digest that a store keeps for `key`: `h1.<pepper id>$<hex>` of HMAC-SHA-256, or
 * `s1$<hex>` of SHA-256.
 *
 * For tools and tests. Not checked: the shape of the key.
 *
 * @param key The plaintext key.
 * @param pepper Omit it or pass `'none'` for keys of a keyring with `peppers: 'none'`.
 * @throws TypeError if `key` is not a string, or on a malformed pepper.
 * @example
 * digestKey(key, { id: 'p1', secret: pepper }); // 'h1.p1$5f0c…'
 */
export function digestKey(key: string, pepper: Pepper | 'none' = 'none'): string {
  assert(typeof key === 'string', 'key: pass a string', key);
  const peppers = pepper === 'none' ? pepper : [pepper];
  // Prefix and deployment affect only seals, not digests.
  const [scheme] = readPeppers(peppers, { prefix: '', deployment: '' });
  return scheme.digest(key);
}
