/**
 * Verifies GitHub's signatures: ECDSA with P-256 and SHA-256. GitHub sends DER (RFC 3279 §2.2.3);
 * Web Cryptography expects the two numbers concatenated (IEEE P1363).
 */

/** A public key of Web Cryptography. */
export type PublicKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/**
 * Bytes, as Web Cryptography takes them. Not `Uint8Array<ArrayBuffer>`: this is in a declaration
 * file, and for TypeScript 5.4 the type has no parameter.
 */
type Bytes = Parameters<typeof crypto.subtle.verify>[3];

/** The length of each of the two numbers, in bytes. */
const NUMBER_LENGTH = 32;

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' };
const ALGORITHM = { name: 'ECDSA', hash: 'SHA-256' };

/** Checks whether a signature (DER in base64) is valid for these bytes. Never throws. */
export async function isSignedBy(
  key: PublicKey,
  signature: string,
  signed: Bytes,
): Promise<boolean> {
  const der = bytesOf(signature);
  const numbers = der === null ? null : numbersIn(der);
  if (numbers === null) return false;
  return crypto.subtle.verify(ALGORITHM, key, numbers, signed);
}

/**
 * Reads a public key in PEM.
 *
 * @returns `null` if it is not a P-256 key.
 */
export async function readPublicKey(pem: string): Promise<PublicKey | null> {
  const [, text = ''] = /^-----BEGIN PUBLIC KEY-----([^-]+)-----END/.exec(pem) ?? [];
  const der = bytesOf(text.replaceAll(/\s/g, ''));
  if (der === null) return null;
  try {
    return await crypto.subtle.importKey('spki', der, CURVE, false, ['verify']);
  } catch {
    return null;
  }
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

const SEQUENCE = 0x30;
const INTEGER = 0x02;

/** Reads the two numbers of `SEQUENCE { r INTEGER, s INTEGER }`. Rejects any other bytes. */
function numbersIn(der: Uint8Array): Uint8Array<ArrayBuffer> | null {
  const [tag, length] = der;
  // Two such numbers are short enough for a one-byte length.
  if (tag !== SEQUENCE || length !== der.length - 2) return null;
  const first = numberAt(der, 2);
  const second = first === null ? null : numberAt(der, first.end);
  if (first === null || second === null || second.end !== der.length) return null;
  const numbers = new Uint8Array(2 * NUMBER_LENGTH);
  numbers.set(first.bytes, NUMBER_LENGTH - first.bytes.length);
  numbers.set(second.bytes, 2 * NUMBER_LENGTH - second.bytes.length);
  return numbers;
}

interface FoundNumber {
  /** Without leading zeros. */
  readonly bytes: Uint8Array;
  /** The offset of the next number. */
  readonly end: number;
}

function numberAt(der: Uint8Array, start: number): FoundNumber | null {
  const [tag, length = 0] = der.subarray(start, start + 2);
  const end = start + 2 + length;
  if (tag !== INTEGER || length === 0 || end > der.length) return null;
  const written = der.subarray(start + 2, end);
  // DER has a leading zero exactly if the number would be negative without it.
  const isPadded = written[0] === 0;
  const bytes = isPadded ? written.subarray(1) : written;
  const isHigh = (bytes[0] ?? 0) >= 0x80;
  return isPadded === isHigh && bytes.length <= NUMBER_LENGTH ? { bytes, end } : null;
}
