/**
 * Peppers that must be a mistake: placeholders, and texts that other processes read differently.
 */
import { createKeyring, digestKey } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { catalog } from '../support/keyring.ts';
import { chanceFrom } from '../support/planted-keys.ts';

const SECRET = 'a secret of at least thirty-two bytes';
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const REPEATS = /^pepper p1: the secret repeats one character or byte; is it a placeholder/;

function complaintOf(secret: string | Uint8Array): string {
  const peppers = [{ id: 'p1', secret }];
  const options = { prefix: 'acme', catalog, store: memoryStore(), peppers };
  const said = complaint(() => createKeyring(options));
  expect(complaint(() => digestKey('x', { id: 'p1', secret }))).toBe(said);
  return said;
}

function expectAccepted(secret: string | Uint8Array): void {
  const peppers = [{ id: 'p1', secret }];
  createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers });
}

describe('a pepper', () => {
  const ENDS = ['\n', '\r\n', '\r', '\t', ' ', '\u00a0', '\u2028', '\u3000', '\ufeff', ' \n'];

  it.each(ENDS)(
    'is refused with %j at its start or end, as text and as the bytes of a file',
    (end) => {
      for (const secret of [SECRET + end, end + SECRET, end + SECRET + end]) {
        for (const given of [secret, bytesOf(secret), Buffer.from(secret)]) {
          const said = complaintOf(given);
          expect(said).toMatch(
            /^pepper p1: the secret starts or ends with white space or a byte order mark/,
          );
          expect(said).not.toContain('thirty');
        }
      }
    },
  );

  // Regression: `new Uint8Array(32)` was accepted, and so were the bytes of a repeated character.
  it.each(['x', '0', 'é', '🔑', '\0'])(
    'is refused if it repeats %j, as text and as bytes',
    (one) => {
      const secret = one.repeat(40);
      for (const given of [secret, bytesOf(secret), Buffer.from(secret)]) {
        expect(complaintOf(given)).toMatch(REPEATS);
      }
    },
  );

  it.each([0, 7, 0x78, 0x80, 0xff])('is refused if it repeats the byte %i', (byte) => {
    expect(complaintOf(new Uint8Array(32).fill(byte))).toMatch(REPEATS);
    expect(complaintOf(new Uint8Array(64).fill(byte))).toMatch(REPEATS);
    expectAccepted(new Uint8Array(32).fill(byte, 1).fill(byte ^ 1, 0, 1));
  });

  it.each([
    SECRET,
    `${SECRET}\u200b.`,
    'a b\nc'.repeat(9),
    'xy'.repeat(20),
    `${'\u0001'.repeat(31)}a`,
  ])('is accepted as %j', (secret) => {
    expectAccepted(secret);
    expectAccepted(bytesOf(secret));
  });

  it('may be any bytes that are not text, whatever their first and last bytes', () => {
    const chance = chanceFrom(5);
    for (let turn = 0; turn < 2000; turn++) {
      const secret = Uint8Array.from({ length: 32 }, () => Math.floor(chance() * 256));
      secret[turn % 2 === 0 ? 0 : 31] = 10;
      expectAccepted(secret);
    }
  });
});
