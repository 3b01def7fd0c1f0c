/**
 * All randomness and all cryptography. Nothing else in the core imports a hash or asks for random
 * bytes.
 *
 * Entropy: 26 characters drawn evenly from 62 are 26 · log2(62) = 154.8 bits. At a thousand million
 * guesses per second against a million live keys, finding one takes about 10^24 years on average,
 * so nothing slower than SHA-256 is needed. bcrypt and argon2 protect passwords, which have some 30
 * bits, by making each guess cost 10^5 times more. Here, that would add 17 bits to 154.8 bits that
 * nobody can search anyway, and let anyone who can send a header burn the server's time.
 *
 * After a look-up, digests are compared with plain equality. An index has already compared them.
 * The timing reveals only the beginning of a hash of 154.8 random bits, and nobody can steer one
 * hash towards another. Seals are compared without a data-dependent branch, because anyone who can
 * write to the database chooses one side.
 *
 * The pepper adds possession, not strength against guessing. Without it, a reader of the database
 * cannot test a key against a digest, and a writer cannot make a digest or a seal that verifies.
 */
import { bytesToHex, sha256 } from '#noble';
import { encoder } from './bytes.js';
import { encode, RECORD_FORMAT } from './encoding.js';
import { assert, readFields } from './input.js';
import { ALPHABET, ENTROPY_LENGTH } from './key.js';

/** Returns `length` fresh bytes from a cryptographically secure source. */
export type RandomBytes = (length: number) => Uint8Array;

/** A secret kept outside the database. */
export interface Pepper {
  /** The pepper's name, `[a-z0-9-]{1,32}`. It is part of every digest. */
  readonly id: string;
  /**
   * 32 bytes or more; text counts as UTF-8. Text, also as bytes, is refused if it starts or ends
   * with white space or a byte order mark, for example the final newline of a file. A secret that
   * repeats one character or byte is refused, too.
   */
  readonly secret: string | Uint8Array;
}

/**
 * The peppers of a keyring. The first one digests new keys; `verify` tries all of them. To go
 * without a pepper, write `'none'`.
 */
export type Peppers = readonly Pepper[] | 'none';

// ── Hash functions ──────────────────────────────────────────────────────────────────────────────

/** SHA-256 of text (as UTF-8) or bytes, in lower-case hexadecimal. */
export type Sha256 = (data: string | Uint8Array) => string;

/** The reference implementation: pure JavaScript, the same on every runtime. */
export const nobleSha256: Sha256 = (data) => {
  return bytesToHex(sha256(typeof data === 'string' ? encoder.encode(data) : data));
};

type NativeHash = (algorithm: 'sha256', data: string | Uint8Array, encoding: 'hex') => string;

/** Node 20.16 and later, Bun and Deno have this function; other runtimes do not. */
interface RuntimeWithModules {
  readonly process?: {
    getBuiltinModule?(name: 'node:crypto'): { readonly hash?: NativeHash } | undefined;
  };
}

// Not an import, because some runtimes lack the module. They use noble, which is slower.
const runtime = globalThis as RuntimeWithModules;
const nativeHash = runtime.process?.getBuiltinModule?.('node:crypto')?.hash;
const hash: Sha256 =
  typeof nativeHash === 'function' ? (data) => nativeHash('sha256', data, 'hex') : nobleSha256;

/** The hash implementation that this process chose at load. Both give the same results. */
export const digestBackend: 'native' | 'noble' = hash === nobleSha256 ? 'noble' : 'native';

const BLOCK_LENGTH = 64;
const HASH_LENGTH = 32;

/**
 * Makes HMAC-SHA-256 (RFC 2104) under one key. Each call is two hashes over blocks that are
 * prepared once; `createHmac` would set up its key again on each call.
 */
export function hmacSha256(hashOf: Sha256, secret: Uint8Array): Sha256 {
  const key = secret.length > BLOCK_LENGTH ? bytesOf(hashOf(secret)) : secret;
  const outer = withSpace(padOf(key, 0x5c), HASH_LENGTH);
  const pad = padOf(key, 0x36);
  // Views are reused between calls, because new ones take time.
  let inner = pad;
  let space = pad.subarray(BLOCK_LENGTH);
  let message = pad;
  return (data) => {
    // UTF-8 takes at most three bytes per UTF-16 unit.
    if (space.length < 3 * data.length) {
      inner = withSpace(pad, 3 * data.length);
      space = inner.subarray(BLOCK_LENGTH);
      message = inner;
    }
    const written = writeData(space, data);
    const end = BLOCK_LENGTH + written;
    if (message.length !== end) message = inner.subarray(0, end);
    writeHash(outer, BLOCK_LENGTH, hashOf(message));
    space.fill(0, 0, written);
    return hashOf(outer);
  };
}

/** Pads a key to a block and XORs each byte with `value`. */
function padOf(key: Uint8Array, value: number): Uint8Array {
  return Uint8Array.from({ length: BLOCK_LENGTH }, (_, index) => (key[index] ?? 0) ^ value);
}

/** Copies a block and appends this many zero bytes. */
function withSpace(block: Uint8Array, bytes: number): Uint8Array {
  const longer = new Uint8Array(BLOCK_LENGTH + bytes);
  longer.set(block);
  return longer;
}

/** Writes `data` at the beginning; returns the number of bytes. */
function writeData(space: Uint8Array, data: string | Uint8Array): number {
  if (typeof data === 'string') return encoder.encodeInto(data, space).written;
  space.set(data);
  return data.length;
}

/** Writes a hash, given in lower-case hexadecimal. */
function writeHash(buffer: Uint8Array, start: number, hex: string): void {
  for (let index = 0; index < HASH_LENGTH; index++) {
    const high = nibble(hex.charCodeAt(2 * index));
    const low = nibble(hex.charCodeAt(2 * index + 1));
    buffer[start + index] = high * 16 + low;
  }
}

/** Returns the bytes of a hash. Not noble's function, which a Worker would load only for this. */
function bytesOf(hex: string): Uint8Array {
  const bytes = new Uint8Array(HASH_LENGTH);
  writeHash(bytes, 0, hex);
  return bytes;
}

/** The value of a lower-case hexadecimal digit. 0x30 to 0x39 are digits, 0x61 to 0x66 letters. */
function nibble(code: number): number {
  return (code & 15) + 9 * (code >> 6);
}

// ── Digests and seals ───────────────────────────────────────────────────────────────────────────

/**
 * The scope of a seal: a row that is copied to another prefix or deployment does not verify there.
 */
export interface Binding {
  readonly prefix: string;
  readonly deployment: string;
}

/** Makes a seal over an encoding. */
type SealOf = (encoding: string) => string;

/** A way of making digests and seals. */
export interface Scheme {
  /** The beginning of each digest: `h1.<pepper id>$` or `s1$`. */
  readonly tag: string;
  readonly digest: (key: string) => string;
  /** Makes the seal of a key. Null without a pepper. */
  readonly seal: SealOf | null;
  /** Makes the seal of a revoked key, under a separate secret: clearing a mark revives no key. */
  readonly revocationSeal: SealOf | null;
}

/** The scheme of keys made without a pepper. */
const UNPEPPERED: Scheme = Object.freeze({
  tag: 's1$',
  // `join` makes a flat string. `+` would make a rope, which look-up and comparison read more
  // slowly.
  digest: (key: string): string => ['s1$', hash(key)].join(''),
  seal: null,
  revocationSeal: null,
});

/** A checked pepper. */
interface CheckedPepper {
  readonly tag: string;
  readonly bytes: Uint8Array;
}

function readPepper(pepper: unknown): CheckedPepper {
  const { id, secret } = readFields(pepper, ['id', 'secret'], 'pepper');
  const isId = typeof id === 'string' && /^[a-z0-9-]{1,32}$/.test(id);
  assert(isId, 'pepper: id is 1 to 32 letters a-z, digits or -');
  const isText = typeof secret === 'string' && secret.isWellFormed();
  const bytes = isText ? encoder.encode(secret) : secret;
  const instead = `pepper ${id}: secret is a well-formed string or a Uint8Array; is it set?`;
  assert(bytes instanceof Uint8Array, instead);
  const { length } = bytes;
  assert(length >= 32, `pepper ${id}: the secret has ${length} bytes; pass at least 32`);
  const text = isText ? secret : decodeText(bytes);
  const trim = 'the secret starts or ends with white space or a byte order mark';
  assert(text.trim() === text, `pepper ${id}: ${trim}; trim it, or processes may disagree on it`);
  const { size } = new Set<unknown>(text || bytes);
  assert(size > 1, `pepper ${id}: the secret repeats one character or byte; is it a placeholder?`);
  return { tag: `h1.${id}$`, bytes };
}

/** Decodes bytes that were read from a text file; returns '' for bytes that are not text. */
function decodeText(bytes: Uint8Array): string {
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  return /\ufffd|[^\P{Cc}\s]/u.test(text) ? '' : text;
}

function createScheme({ tag, bytes }: CheckedPepper, binding: Binding): Scheme {
  const mac = hmacSha256(hash, bytes);
  return Object.freeze({
    tag,
    digest: (key: string): string => [tag, mac(key)].join(''),
    seal: hmacSha256(hash, sealKey(bytes, 'keyscope seal', binding)),
    revocationSeal: hmacSha256(hash, sealKey(bytes, 'keyscope revocation', binding)),
  });
}

/**
 * Derives a separate key for each kind of seal. No digest that an attacker can obtain authenticates
 * a record, and no seal of a live key authenticates a revoked one. HKDF (RFC 5869 §2) without a
 * salt, to 32 bytes; the label contains the record format and the binding. Written out here,
 * because noble's would make a Worker load 0.7 kB more.
 */
function sealKey(secret: Uint8Array, kind: string, { prefix, deployment }: Binding): Uint8Array {
  const extracted = bytesOf(hmacSha256(hash, new Uint8Array(HASH_LENGTH))(secret));
  const label = encode([kind, RECORD_FORMAT, prefix, deployment]);
  return bytesOf(hmacSha256(hash, extracted)(`${label}\x01`));
}

/** One or more; the first digests new keys. */
export type Schemes = readonly [Scheme, ...Scheme[]];

/**
 * Reads peppers into schemes.
 *
 * @throws TypeError on an empty list, on a malformed, short, untrimmed or repetitive pepper, or on
 *   two peppers with the same id.
 */
export function readPeppers(peppers: unknown, binding: Binding): Schemes {
  if (peppers === 'none') return [UNPEPPERED];
  const isList = Array.isArray(peppers) && peppers.length > 0;
  assert(isList, "peppers: pass [{ id, secret }], or 'none' to go without");
  const read = (pepper: unknown): Scheme => createScheme(readPepper(pepper), binding);
  // `Array.from`, because `map` would skip holes.
  const schemes = Array.from(peppers, read) as unknown as Schemes;
  const tags = new Set(schemes.map(({ tag }) => tag));
  assert(tags.size === schemes.length, 'peppers: two peppers have the same id; rename one');
  return schemes;
}

// ── Randomness ──────────────────────────────────────────────────────────────────────────────────

export const platformRandom: RandomBytes = (length) =>
  globalThis.crypto.getRandomValues(new Uint8Array(length));

const MAX_DRAWS = 64;

/**
 * Draws the entropy of a key by rejection sampling: it takes 6 bits at a time and drops 62 and 63,
 * so that all characters are equally likely.
 */
export function drawEntropy(random: RandomBytes): string {
  let text = '';
  for (let draw = 0; draw < MAX_DRAWS && text.length < ENTROPY_LENGTH; draw++) {
    const bytes: unknown = random(32);
    const isGood = bytes instanceof Uint8Array && bytes.length === 32;
    assert(isGood, 'random: return a Uint8Array of 32 bytes');
    // charAt(62) and charAt(63) are ''
    for (const byte of bytes) text += ALPHABET.charAt(byte & 63);
  }
  const instead = 'random: 64 draws gave no usable bytes; pass a secure source';
  assert(text.length >= ENTROPY_LENGTH, instead);
  return text.slice(0, ENTROPY_LENGTH);
}

/** Makes a version 4 UUID (RFC 9562 §5.4) in lower case. */
export function randomUuid(): string {
  return globalThis.crypto.randomUUID();
}
