/**
 * What hash, look-up and checksum cost by themselves, written by hand and synchronous. Nothing here
 * checks a prefix, a life cycle or a row; it is the least that any check of such a key has to do.
 */
import { hash } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The CRC-32 of each byte. */
const TABLE = new Int32Array(256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  TABLE[byte] = crc;
}

/** Character code → value. */
const DIGITS = new Uint8Array(128);
for (let value = 0; value < ALPHABET.length; value++) DIGITS[ALPHABET.charCodeAt(value)] = value;

function checksumHolds(key: string): boolean {
  const end = key.length - 6;
  let crc = -1;
  for (let i = 0; i < end; i++) crc = (crc >>> 8) ^ (TABLE[(crc ^ key.charCodeAt(i)) & 255] ?? 0);
  let value = 0;
  for (let i = end; i < key.length; i++) value = value * 62 + (DIGITS[key.charCodeAt(i)] ?? 0);
  return value === ~crc >>> 0;
}

/** What stands behind the digest, or undefined. */
export function lookUp<V>(byDigest: ReadonlyMap<string, V>, key: string): V | undefined {
  return checksumHolds(key) ? byDigest.get(hash('sha256', key, 'hex')) : undefined;
}
