/** `generateKey` of secret.ts: its keys are evenly distributed, and its source is a secure one. */
import fc from 'fast-check';
import { generateKey, isKey, parseKey } from 'keyscope';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { complaint } from '../support/complaint.ts';
import { issue, setUp } from '../support/keyring.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base62 = (length: number) =>
  fc
    .array(fc.constantFrom(...ALPHABET), { minLength: length, maxLength: length })
    .map((digits) => digits.join(''));
const prefixes = fc.stringMatching(/^[a-z](?:[a-z0-9_]{0,18}[a-z0-9])?$/);

/**
 * Pearson's statistic over all entropy characters of `count` keys; the threshold is 61 degrees, p
 * = 10^-9.
 */
function chiSquare(count: number, random?: (length: number) => Uint8Array): number {
  const seen = new Map<string, number>(Array.from(ALPHABET, (digit) => [digit, 0]));
  const options = random ? { prefix: 'acme', random } : { prefix: 'acme' };
  for (let made = 0; made < count; made++) {
    for (const digit of generateKey(options).slice(5, 31))
      seen.set(digit, (seen.get(digit) ?? 0) + 1);
  }
  expect(seen.size).toBe(62);
  const even = (count * 26) / 62;
  let sum = 0;
  for (const times of seen.values()) sum += (times - even) ** 2 / even;
  return sum;
}
const THRESHOLD = 150;

/** A small generator with a seed (xorshift32), so that the sample is the same in every run. */
function seeded(seed: number): (length: number) => Uint8Array {
  let state = seed;
  return (length) =>
    Uint8Array.from({ length }, () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 11) & 255;
    });
}

describe('generateKey', () => {
  afterEach(() => vi.restoreAllMocks());

  it('makes a key of its prefix and of no other', () => {
    fc.assert(
      fc.property(prefixes, prefixes, (prefix, other) => {
        const key = generateKey({ prefix });
        expect(parseKey(key, { prefix })?.prefix).toBe(prefix);
        expect(key).toHaveLength(prefix.length + 33);
        if (other !== prefix) expect(isKey(key, { prefix: other })).toBe(false);
      }),
    );
  });

  it('makes keys of which no single character can be changed', () => {
    fc.assert(
      fc.property(base62(26), fc.nat(31), fc.constantFrom(...ALPHABET), (entropy, at, digit) => {
        const bytes = Uint8Array.from(entropy, (digit) => ALPHABET.indexOf(digit));
        const random = (length: number) =>
          Uint8Array.from({ length }, (_, index) => bytes[index] ?? 0);
        const key = generateKey({ prefix: 'acme', random });
        expect(key.slice(5, 31)).toBe(entropy);
        const changed = key.slice(0, 5 + at) + digit + key.slice(6 + at);
        expect(isKey(changed, { prefix: 'acme' })).toBe(changed === key);
      }),
    );
  });

  it('favours no character: chi-square over 520,000 of them', () => {
    expect(chiSquare(20_000, seeded(20_240_607))).toBeLessThan(THRESHOLD);
    expect(chiSquare(4_000)).toBeLessThan(THRESHOLD);
  });

  it('would be seen by the chi-square to have a modulo bias', () => {
    // 256 = 4 · 62 + 8: under `byte % 62` the first eight characters are a quarter more frequent.
    const even = seeded(1);
    const biased = (length: number) => even(length).map((byte) => byte % 62);
    expect(chiSquare(20_000, biased)).toBeGreaterThan(THRESHOLD);
  });

  it('takes 6 bits of a byte and throws 62 and 63 away', () => {
    const all = (length: number) =>
      Uint8Array.from({ length }, (_, index) =>
        index % 2 === 0 ? 62 + (index & 2) / 2 : 0x40 | index,
      );
    // Of 32 bytes the odd ones count: 1, 3, … 31, then again from 1.
    const wanted = Array.from({ length: 26 }, (_, index) => ALPHABET[(2 * index + 1) % 32]).join(
      '',
    );
    expect(generateKey({ prefix: 'acme', random: all }).slice(5, 31)).toBe(wanted);
  });

  it('draws again until there are enough usable bytes', () => {
    const few = (length: number) => new Uint8Array(length).fill(63).fill(10, 0, 1);
    expect(generateKey({ prefix: 'acme', random: few }).slice(5, 31)).toBe('A'.repeat(26));
  });

  it('repeats none of 20,000 keys, in any case of letters', () => {
    const keys = Array.from({ length: 20_000 }, () => generateKey({ prefix: 'acme' }));
    expect(new Set(keys).size).toBe(20_000);
    expect(new Set(keys.map((key) => key.slice(5, 31).toLowerCase())).size).toBe(20_000);
  });

  it('takes its bytes from getRandomValues and never from Math.random', async () => {
    const weak = vi.spyOn(Math, 'random').mockImplementation(() => {
      throw new Error('Math.random was asked');
    });
    const strong = vi.spyOn(globalThis.crypto, 'getRandomValues');
    generateKey({ prefix: 'acme' });
    expect(strong).toHaveBeenCalledTimes(1);
    await issue(setUp().keyring);
    expect(strong).toHaveBeenCalledTimes(2);
    expect(weak).not.toHaveBeenCalled();
  });

  it.each<[string, unknown]>([
    ['too few bytes', (length: number) => new Uint8Array(length - 1)],
    ['too many bytes', (length: number) => new Uint8Array(length + 1)],
    ['no bytes', () => new Uint8Array(0)],
    ['a list of numbers', (length: number) => Array.from({ length }, () => 7)],
    ['a text', (length: number) => 'a'.repeat(length)],
    ['nothing', () => undefined],
    ['null', () => null],
    ['a number', () => 4],
    ['a promise', async (length: number) => new Uint8Array(length)],
    ['an ArrayBuffer', (length: number) => new ArrayBuffer(length)],
    ['wider elements', (length: number) => new Uint16Array(length)],
    [
      'only bytes that are thrown away: 0xff',
      (length: number) => new Uint8Array(length).fill(0xff),
    ],
    ['only bytes that are thrown away: 62', (length: number) => new Uint8Array(length).fill(62)],
    ['no function but null', null],
    ['no function but a text', 'random'],
    ['no function but bytes', new Uint8Array(32)],
  ])('refuses %s as its source of randomness, without hanging', (_, random) => {
    const options = { prefix: 'acme', random } as { prefix: string };
    expect(complaint(() => generateKey(options))).toMatch(/^random: /);
  });

  it('hands on an error of its source as it is', () => {
    const broken = new Error('no entropy');
    const random = () => {
      throw broken;
    };
    expect(() => generateKey({ prefix: 'acme', random })).toThrow(broken);
  });
});
