/** Signatures in DER: of vendors, of another implementation, and invalid ones. */
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSignedBy, type PublicKey, readPublicKey } from '../../src/leaks/signature.js';
import { VECTORS } from '../support/leak-reports.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const PEM = publicKey.export({ type: 'spki', format: 'pem' }).toString();
const BODY = Buffer.from('[{"token":"some_token"}]');

async function read(pem: string): Promise<PublicKey> {
  const key = await readPublicKey(pem);
  if (key === null) throw new Error('the key cannot be read');
  return key;
}

const bytes = (data: string | Buffer): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.from(data));

describe('isSignedBy, on the signatures that GitHub documents', () => {
  it.each(VECTORS.signed)('accepts only the signed bytes: $comment', async (vector) => {
    const listed = VECTORS.publicKeys.find((each) => each.key_identifier === vector.identifier);
    const key = await read(listed?.key ?? '');
    expect(await isSignedBy(key, vector.signature, bytes(vector.body))).toBe(true);
    for (const other of [`${vector.body} `, vector.body.replaceAll('"', "'"), '', '[]']) {
      expect(await isSignedBy(key, vector.signature, bytes(other)), other).toBe(false);
    }
  });
});

describe('isSignedBy', () => {
  // Of 400, about three have a number of less than 31 bytes. The vectors have one of 31.
  it('accepts signatures of every length from another implementation', async () => {
    const key = await read(PEM);
    const lengths = new Set<number>();
    for (let round = 0; round < 400; round += 1) {
      const body = Buffer.from(`body ${round}`);
      const der = sign('sha256', body, privateKey);
      lengths.add(der.length);
      expect(await isSignedBy(key, der.toString('base64'), bytes(body))).toBe(true);
    }
    expect(lengths.size).toBeGreaterThan(2);
  });

  it('rejects a signature with any byte changed', async () => {
    const key = await read(PEM);
    const der = sign('sha256', BODY, privateKey);
    for (let at = 0; at < der.length; at += 1) {
      for (const change of [1, 0x80, 0xff]) {
        const changed = Buffer.from(der);
        changed.writeUInt8(changed.readUInt8(at) ^ change, at);
        expect(await isSignedBy(key, changed.toString('base64'), bytes(BODY)), `${at}`).toBe(false);
      }
    }
  });

  // Lenient readers accept several encodings of one signature.
  it('accepts only one encoding of a signature', async () => {
    const key = await read(PEM);
    const der = sign('sha256', BODY, privateKey);
    const middle = 4 + der.readUInt8(3);
    const first = der.subarray(2, middle);
    const second = der.subarray(middle);
    const sequence = (...parts: readonly Buffer[]): Buffer => {
      const content = Buffer.concat(parts);
      return Buffer.concat([Buffer.from([0x30, content.length]), content]);
    };
    const padded = Buffer.concat([Buffer.from([2, first.length - 1, 0]), first.subarray(2)]);
    expect(await isSignedBy(key, sequence(first, second).toString('base64'), bytes(BODY))).toBe(
      true,
    );
    const others = [
      sequence(padded, second),
      sequence(first, second, Buffer.from([5, 0])),
      Buffer.concat([der, Buffer.from([0])]),
      Buffer.concat([Buffer.from([0x30, 0x81, der.length - 2]), der.subarray(2)]),
      sequence(Buffer.from([2, 0]), second),
      sequence(second),
      sequence(),
      Buffer.alloc(0),
      Buffer.concat([Buffer.from([0x31]), der.subarray(1)]),
    ];
    for (const other of others) {
      expect(await isSignedBy(key, other.toString('base64'), bytes(BODY))).toBe(false);
    }
    for (const text of ['', '!', 'A', `${der.toString('base64url')}*`]) {
      expect(await isSignedBy(key, text, bytes(BODY)), text).toBe(false);
    }
  });

  it('agrees with another implementation on any bytes, without throwing', async () => {
    const key = await read(PEM);
    const other = createPublicKey(PEM);
    const numbers = fc.uint8Array({ minLength: 0, maxLength: 34 });
    await fc.assert(
      fc.asyncProperty(numbers, numbers, async (first, second) => {
        const parts = [first, second].flatMap((number) => [2, number.length, ...number]);
        const der = Buffer.from([0x30, parts.length, ...parts]);
        const isSigned = await isSignedBy(key, der.toString('base64'), bytes(BODY));
        expect(isSigned).toBe(verify('sha256', BODY, other, der));
      }),
    );
  });
});

describe('readPublicKey', () => {
  it('returns null for other curves, other kinds of keys and invalid text', async () => {
    const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey;
    const ed25519 = generateKeyPairSync('ed25519').publicKey;
    const pems = [p384, ed25519].map((key) =>
      key.export({ type: 'spki', format: 'pem' }).toString(),
    );
    const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const cut = PEM.replace(/.{8}\n-----END/, '\n-----END');
    for (const pem of [...pems, secret, cut, '', 'x', PEM.replace('MF', '*F')]) {
      expect(await readPublicKey(pem), pem).toBeNull();
    }
    expect(await readPublicKey(PEM)).not.toBeNull();
    expect(await readPublicKey(PEM.replaceAll('\n', '\r\n'))).not.toBeNull();
  });
});
