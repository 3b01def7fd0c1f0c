/**
 * All randomness and all cryptography. Nothing else in the core imports a hash or asks for random
 * bytes.
 *
 * Entropy: 26 characters drawn evenly from 62 are 26 · log2(62) = 154.8 bits. At a thousand million
 * guesses per second against a million live keys, finding one takes about 10^24 years on average,
 * so nothing slower than SHA-256 is needed. bcrypt and argon2 protect passwords, which have some 30
 * bits, by making each guess cost 10^5 times more. Here that would add 17 bits to 154.8 that nobody
 * can search, and let anyone who can send a header burn the server's time.
 *
 * The pepper adds possession, not strength against guessing: without it, a reader of the database
 * cannot test a key against a digest, and a writer cannot make a digest or a seal that verifies.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import { encoder } from './bytes.js';
import { assert, readFields } from './input.js';
import { ALPHABET, ENTROPY_LENGTH, keyFormat } from './key.js';

/** Returns `length` fresh bytes from a cryptographically secure source. */
export type RandomBytes = (length: number) => Uint8Array;

/**
 * A secret kept outside the database. `id`: `[a-z0-9-]{1,32}`; `secret`: 32 bytes or more, text
 * counts as UTF-8.
 */
export type Pepper = { readonly id: string; readonly secret: string | Uint8Array };

/**
 * The first digests new keys; all are tried on verify. Going without one must be written out:
 * `'none'`.
 */
export type Peppers = readonly Pepper[] | 'none';

// ── Hash functions ────────────────────────────────────────────────────────────────────────────────────

/** SHA-256 of text (as UTF-8) or bytes, in lower-case hexadecimal. */
export type Sha256 = (data: string | Uint8Array) => string;

/** The reference implementation: pure JavaScript, the same on every runtime. */
export const nobleSha256: Sha256 = (data) =>
  bytesToHex(sha256(typeof data === 'string' ? encoder.encode(data) : data));

/** The value of the lower-case hexadecimal digit at `i`. */
const nibble = (hex: string, i: number): number =>
  (hex.charCodeAt(i) & 15) + 9 * (hex.charCodeAt(i) >> 6);

/**
 * HMAC-SHA-256 (RFC 2104) under one key: two hashes over blocks that are prepared once. A call
 * takes 0.65 µs with the native hash; 1.4 with fresh arrays, and 1.6 with `createHmac`, which sets
 * up its key again on each call.
 */
export function hmacSha256(hash: Sha256, secret: Uint8Array): Sha256 {
  const key = secret.length > 64 ? hexToBytes(hash(secret)) : secret;
  const pad = (value: number) => Uint8Array.from({ length: 64 }, (_, i) => (key[i] ?? 0) ^ value);
  const outer = concatBytes(pad(0x5c), new Uint8Array(32));
  let inner = pad(0x36);
  return (data) => {
    // UTF-8 takes at most three bytes per UTF-16 unit.
    if (inner.length < 64 + 3 * data.length)
      inner = concatBytes(inner.slice(0, 64), new Uint8Array(3 * data.length));
    if (typeof data !== 'string') inner.set(data, 64);
    const end =
      64 +
      (typeof data === 'string'
        ? encoder.encodeInto(data, inner.subarray(64)).written
        : data.length);
    const digest = hash(inner.subarray(0, end));
    for (let i = 0; i < 32; i++)
      outer[64 + i] = nibble(digest, 2 * i) * 16 + nibble(digest, 2 * i + 1);
    inner.fill(0, 64, end);
    return hash(outer);
  };
}

// Not an import: found on Node 20.16+, Bun and Deno; other runtimes have no `process` and use
// noble, 7 times slower.
const native = Object(globalThis).process?.getBuiltinModule?.('node:crypto')?.hash;
const hash: Sha256 = native ? (data) => native('sha256', data, 'hex') : nobleSha256;

/** Which hash implementation this process chose at load. Both give the same results. */
export const digestBackend: 'native' | 'noble' = native ? 'native' : 'noble';

// ── Digests and seals ─────────────────────────────────────────────────────────────────────────────────

/** One way of making digests. Each digest begins with `tag`: `h1.<pepper id>$` or `s1$`. */
export type Scheme = {
  readonly tag: string;
  digest(key: string): string;
  seal(encoding: string): string | null;
};

/** The scheme of keys made without a pepper: there is nothing to seal with. */
// `join` makes a flat string; `+` would make a rope, which the look-up and the comparison read more
// slowly.
const UNPEPPERED: Scheme = {
  tag: 's1$',
  digest: (key) => ['s1$', hash(key)].join(''),
  seal: () => null,
};

function peppered(value: unknown): Scheme {
  const { id, secret } = readFields(value, ['id', 'secret'], 'pepper');
  assert(
    typeof id === 'string' && /^[a-z0-9-]{1,32}$/.test(id),
    'pepper: id is 1 to 32 letters a-z, digits or -',
  );
  const bytes =
    typeof secret === 'string' && secret.isWellFormed() ? encoder.encode(secret) : secret;
  assert(
    bytes instanceof Uint8Array,
    `pepper ${id}: secret is a well-formed string or a Uint8Array; is it set?`,
  );
  assert(
    bytes.length >= 32,
    `pepper ${id}: the secret has ${bytes.length} bytes; pass at least 32`,
  );
  const mac = hmacSha256(hash, bytes);
  // A key of its own: no digest that somebody can ask for may ever authenticate a record. HKDF (RFC
  // 5869 §2) without a salt, to 32 bytes; noble's would make a Worker load 0.7 kB more, and its
  // parts are here.
  const extracted = hexToBytes(hmacSha256(hash, new Uint8Array(32))(bytes));
  const seal = hmacSha256(hash, hexToBytes(hmacSha256(hash, extracted)('keyscope seal v1\x01')));
  const tag = `h1.${id}$`;
  return { tag, digest: (key) => [tag, mac(key)].join(''), seal };
}

/**
 * Prepares peppers: the first scheme digests new keys.
 *
 * @throws TypeError on an empty list, a malformed or short pepper, or two of one id.
 */
export function prepareSchemes(peppers: unknown): readonly [Scheme, ...Scheme[]] {
  const schemes =
    peppers === 'none' ? [UNPEPPERED] : Array.isArray(peppers) ? Array.from(peppers, peppered) : [];
  assert(schemes.length > 0, "peppers: pass [{ id, secret }], or 'none' to go without");
  assert(
    new Set(schemes.map(({ tag }) => tag)).size === schemes.length,
    'peppers: two of them have one id',
  );
  return schemes as [Scheme, ...Scheme[]];
}

/**
 * Returns the digest that a store keeps for `key`: `h1.<pepper id>$<hex>` of HMAC-SHA-256, or
 * `s1$<hex>` of SHA-256.
 *
 * For tools and tests. Not checked: the shape of the key.
 *
 * @param key The plaintext key.
 * @param pepper Leave out, or pass `'none'`, for keys of a keyring with `peppers: 'none'`.
 * @throws TypeError if `key` is not a string, or on a malformed pepper.
 * @example
 * digestKey(key, { id: 'p1', secret: pepper }); // 'h1.p1$5f0c…'
 */
export function digestKey(key: string, pepper: Pepper | 'none' = 'none'): string {
  assert(typeof key === 'string', 'key: pass a string', key);
  return (pepper === 'none' ? UNPEPPERED : peppered(pepper)).digest(key);
}

// ── Randomness ────────────────────────────────────────────────────────────────────────────────────────

export const platformRandom: RandomBytes = (length) =>
  globalThis.crypto.getRandomValues(new Uint8Array(length));

/**
 * The entropy of a key. Rejection sampling: 6 bits at a time, with 62 and 63 thrown away, so none
 * is favoured.
 */
export function drawEntropy(random: RandomBytes): string {
  let text = '';
  for (let round = 0; round < 64 && text.length < ENTROPY_LENGTH; round++) {
    const bytes: unknown = random(32);
    assert(
      bytes instanceof Uint8Array && bytes.length === 32,
      'random: return a Uint8Array of 32 bytes',
    );
    for (const byte of bytes) text += ALPHABET.charAt(byte & 63); // charAt(62) and charAt(63) are ''
  }
  assert(
    text.length >= ENTROPY_LENGTH,
    'random: 64 draws gave no usable bytes; pass a secure source or leave it out',
  );
  return text.slice(0, ENTROPY_LENGTH);
}

/** A version 4 UUID (RFC 9562 §5.4) in lower case. */
export const randomUuid = (): string => globalThis.crypto.randomUUID();

/**
 * Makes a key: 154.8 random bits and a checksum. Stores nothing; for a key that a keyring knows,
 * use `issue`.
 *
 * @param options `prefix`: 1 to 20 lower-case letters, digits and inner `_`. `random`: bytes for
 *   tests; the default is the platform's `crypto.getRandomValues`, and no configuration weakens it.
 * @throws TypeError on a malformed prefix, or a `random` that does not return the bytes asked for.
 * @example
 * generateKey({ prefix: 'acme' }); // 'acme_' and 32 characters
 */
export function generateKey(options: {
  readonly prefix: string;
  readonly random?: RandomBytes | undefined;
}): string {
  const { prefix, random = platformRandom } = readFields(
    options,
    ['prefix', 'random'],
    'generateKey',
  );
  assert(typeof random === 'function', 'random: pass a function or leave it out');
  return keyFormat(prefix).complete(drawEntropy(random as RandomBytes));
}
