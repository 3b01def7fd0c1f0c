/**
 * The key as text: vectors through every reader, the generator, and what scanners and log lines are
 * given.
 */
import fc from 'fast-check';
import {
  createKeyring,
  defineScopes,
  generateKey,
  isAccessError,
  isKey,
  keyPattern,
  parseKey,
  redactKeys,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { beyondAscii } from '../support/beyond-ascii.ts';
import { complaint } from '../support/complaint.ts';
import { failures, readVectors, type Vector } from '../support/vectors.ts';

type KeyVector = Vector & { readonly prefix: string; readonly key: string } & (
    | { readonly result: 'valid'; readonly entropy: string; readonly checksum: string }
    | { readonly result: 'malformed' | 'wrong_checksum' | 'bad_prefix' }
  );

const { tests } = readVectors<{ tests: readonly KeyVector[] }>('keys');
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const catalog = defineScopes({ a: { b: 'A sentence.' } });
const base62 = (length: number) =>
  fc
    .array(fc.constantFrom(...ALPHABET), { minLength: length, maxLength: length })
    .map((digits) => digits.join(''));
const prefixes = fc.stringMatching(/^[a-z](?:[a-z0-9_]{0,18}[a-z0-9])?$/);

async function reasonOf(key: unknown, prefix: string): Promise<string> {
  const keyring = createKeyring({ prefix, catalog, store: memoryStore(), peppers: 'none' });
  try {
    await keyring.verify(key);
  } catch (error) {
    if (isAccessError(error) && error.code === 'invalid_token') return error.reason;
    throw error;
  }
  throw new Error('was let in');
}

describe('vectors', () => {
  test('there are at least 100, of every kind', () => {
    expect(tests.length).toBeGreaterThanOrEqual(100);
    expect(new Set(tests.map(({ result }) => result)).size).toBe(4);
  });

  test('parseKey and isKey', async () => {
    const failed = await failures(tests, (vector) => {
      const { prefix, key } = vector;
      if (vector.result === 'bad_prefix') {
        for (const read of [parseKey, isKey])
          expect(complaint(() => read(key, { prefix }))).toMatch(/^prefix: 1 to 20/);
        return;
      }
      const valid = vector.result === 'valid';
      const parts = valid
        ? {
            prefix,
            secret: `${vector.entropy}${vector.checksum}`,
            entropy: vector.entropy,
            checksum: vector.checksum,
          }
        : null;
      expect(parseKey(key, { prefix })).toEqual(parts);
      expect(isKey(key, { prefix })).toBe(valid);
    });
    expect(failed).toEqual([]);
  });

  test('verify: refused by shape or checksum before the store is asked', async () => {
    const reasons = {
      valid: 'unknown_key',
      malformed: 'malformed_key',
      wrong_checksum: 'wrong_checksum',
    } as const;
    const failed = await failures(tests, async ({ prefix, key, result }) => {
      if (result !== 'bad_prefix') expect(await reasonOf(key, prefix)).toBe(reasons[result]);
      else await expect(reasonOf(key, prefix)).rejects.toThrow(/^prefix: 1 to 20/);
    });
    expect(failed).toEqual([]);
  });

  test('keyPattern and redactKeys see the shape, whatever the checksum', async () => {
    const failed = await failures(tests, ({ prefix, key, result }) => {
      if (typeof key !== 'string') return;
      if (result === 'bad_prefix') {
        expect(complaint(() => keyPattern(prefix))).toMatch(/^prefix: 1 to 20/);
        expect(complaint(() => redactKeys(key, { prefix }))).toMatch(/^prefix: 1 to 20/);
        return;
      }
      expect(new RegExp(`^(?:${keyPattern(prefix)})$`).test(key)).toBe(result !== 'malformed');
      if (result !== 'malformed')
        expect(redactKeys(`<${key}>`, { prefix })).toBe(`<${prefix}_[redacted]>`);
    });
    expect(failed).toEqual([]);
  });
});

describe('generateKey', () => {
  afterEach(() => vi.restoreAllMocks());

  test('what it makes is a key of its prefix and of no other', () => {
    fc.assert(
      fc.property(prefixes, prefixes, (prefix, other) => {
        const key = generateKey({ prefix });
        expect(parseKey(key, { prefix })?.prefix).toBe(prefix);
        expect(key).toHaveLength(prefix.length + 33);
        if (other !== prefix) expect(isKey(key, { prefix: other })).toBe(false);
      }),
    );
  });

  test('any other character anywhere in the secret makes it no key', () => {
    fc.assert(
      fc.property(base62(26), fc.nat(31), fc.constantFrom(...ALPHABET), (entropy, at, digit) => {
        const bytes = Uint8Array.from(entropy, (c) => ALPHABET.indexOf(c));
        const random = (length: number) => Uint8Array.from({ length }, (_, i) => bytes[i] ?? 0);
        const key = generateKey({ prefix: 'acme', random });
        expect(key.slice(5, 31)).toBe(entropy);
        const changed = key.slice(0, 5 + at) + digit + key.slice(6 + at);
        expect(isKey(changed, { prefix: 'acme' })).toBe(changed === key);
      }),
    );
  });

  test('a character beyond ASCII makes it none, in every position', async () => {
    const key = generateKey({ prefix: 'acme_k_s' });
    for (const text of beyondAscii(key)) {
      expect(parseKey(text, { prefix: 'acme_k_s' }), text).toBeNull();
      expect(await reasonOf(text, 'acme_k_s'), text).toBe('malformed_key');
    }
  });

  /**
   * Pearson's statistic over all entropy characters of `count` keys; the threshold is 61 degrees, p
   * = 10^-9.
   */
  function chiSquare(count: number, random?: (length: number) => Uint8Array): number {
    const seen = new Map<string, number>(Array.from(ALPHABET, (digit) => [digit, 0]));
    const options = random ? { prefix: 'acme', random } : { prefix: 'acme' };
    for (let i = 0; i < count; i++) {
      for (const digit of generateKey(options).slice(5, 31))
        seen.set(digit, (seen.get(digit) ?? 0) + 1);
    }
    expect(seen.size).toBe(62);
    const even = (count * 26) / 62;
    return [...seen.values()].reduce((sum, n) => sum + (n - even) ** 2 / even, 0);
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

  test('favours no character: chi-square over 520,000 of them', () => {
    expect(chiSquare(20_000, seeded(20_240_607))).toBeLessThan(THRESHOLD);
    expect(chiSquare(4_000)).toBeLessThan(THRESHOLD);
  });

  test('the chi-square sees a modulo bias', () => {
    // 256 = 4 · 62 + 8: under `byte % 62` the first eight characters are a quarter more frequent.
    const even = seeded(1);
    const biased = (length: number) => even(length).map((byte) => byte % 62);
    expect(chiSquare(20_000, biased)).toBeGreaterThan(THRESHOLD);
  });

  test('takes 6 bits of a byte and throws 62 and 63 away', () => {
    const all = (length: number) =>
      Uint8Array.from({ length }, (_, i) => (i % 2 === 0 ? 62 + (i & 2) / 2 : 0x40 | i));
    // Of 32 bytes the odd ones count: 1, 3, … 31, then again from 1.
    const wanted = Array.from({ length: 26 }, (_, i) => ALPHABET[(2 * i + 1) % 32]).join('');
    expect(generateKey({ prefix: 'acme', random: all }).slice(5, 31)).toBe(wanted);
  });

  test('is made of a source of which one byte in 32 counts', () => {
    const few = (length: number) => new Uint8Array(length).fill(63).fill(10, 0, 1);
    expect(generateKey({ prefix: 'acme', random: few }).slice(5, 31)).toBe('A'.repeat(26));
  });

  test('20,000 keys are 20,000 keys', () => {
    const keys = Array.from({ length: 20_000 }, () => generateKey({ prefix: 'acme' }));
    expect(new Set(keys).size).toBe(20_000);
    expect(new Set(keys.map((key) => key.slice(5, 31).toLowerCase())).size).toBe(20_000);
  });

  test('the default is getRandomValues and never Math.random', async () => {
    const weak = vi.spyOn(Math, 'random').mockImplementation(() => {
      throw new Error('Math.random was asked');
    });
    const strong = vi.spyOn(globalThis.crypto, 'getRandomValues');
    generateKey({ prefix: 'acme' });
    expect(strong).toHaveBeenCalledTimes(1);
    const keyring = createKeyring({
      prefix: 'acme',
      catalog,
      store: memoryStore(),
      peppers: 'none',
    });
    const input = { name: 'ci', scopes: [], expiresAt: 'never' } as const;
    await keyring.issue(input, { entityUuid: '00000000-0000-4000-8000-000000000000' });
    expect(strong).toHaveBeenCalledTimes(2);
    expect(weak).not.toHaveBeenCalled();
  });

  test.each<[string, unknown]>([
    ['too few bytes', (n: number) => new Uint8Array(n - 1)],
    ['too many bytes', (n: number) => new Uint8Array(n + 1)],
    ['no bytes', () => new Uint8Array(0)],
    ['a list of numbers', (n: number) => Array.from({ length: n }, () => 7)],
    ['a text', (n: number) => 'a'.repeat(n)],
    ['nothing', () => undefined],
    ['null', () => null],
    ['a number', () => 4],
    ['a promise', async (n: number) => new Uint8Array(n)],
    ['an ArrayBuffer', (n: number) => new ArrayBuffer(n)],
    ['wider elements', (n: number) => new Uint16Array(n)],
    ['only bytes that are thrown away: 0xff', (n: number) => new Uint8Array(n).fill(0xff)],
    ['only bytes that are thrown away: 62', (n: number) => new Uint8Array(n).fill(62)],
    ['no function but null', null],
    ['no function but a text', 'random'],
    ['no function but bytes', new Uint8Array(32)],
  ])('random: %s is a TypeError and no hang', (_, random) => {
    const options = { prefix: 'acme', random } as { prefix: string };
    expect(complaint(() => generateKey(options))).toMatch(/^random: /);
  });

  test('an error of `random` is passed on as it is', () => {
    const broken = new Error('no entropy');
    const random = () => {
      throw broken;
    };
    expect(() => generateKey({ prefix: 'acme', random })).toThrow(broken);
  });
});

describe('finding and redacting', () => {
  // Whatever could stand around a key in a log: pieces of keys, other keys, characters of every
  // kind.
  const key = fc.noShrink(prefixes.map(() => generateKey({ prefix: 'acme' })));
  const noise = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom('acme_', 'acme', '_', 'acme_acme_', '\n', ' ', '"', '0', 'Bearer ', '%20', 'é'),
  );

  test('no key survives redaction anywhere in any text, nor the 32 characters of one', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(noise, key), { maxLength: 8 }), (pieces) => {
        const redacted = redactKeys(pieces.join(''), { prefix: 'acme' });
        for (const piece of pieces) {
          if (isKey(piece, { prefix: 'acme' })) expect(redacted).not.toContain(piece.slice(5));
        }
        expect(redacted).not.toMatch(/acme_[0-9A-Za-z]{32}/);
      }),
    );
  });

  test('text without a key stays as it is, and redacting twice is redacting once', () => {
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        const redacted = redactKeys(text, { prefix: 'acme' });
        if (!/acme_[0-9A-Za-z]{32}/.test(text)) expect(redacted).toBe(text);
        expect(redactKeys(redacted, { prefix: 'acme' })).toBe(redacted);
      }),
    );
  });

  test('two keys side by side, twice one, and one behind its own prefix are all redacted', () => {
    const [a, b] = [generateKey({ prefix: 'acme' }), generateKey({ prefix: 'acme' })];
    for (const text of [
      a + b,
      `${a} ${a}`,
      `acme_${a}`,
      `x${a}x`,
      `${a.slice(0, 20)}${b}`,
      `https://h/?k=${a}&k=${b}`,
    ]) {
      const redacted = redactKeys(text, { prefix: 'acme' });
      for (const secret of [a, b]) expect(redacted).not.toContain(secret.slice(5));
    }
  });

  test('the pattern finds each key that stands alone, and nothing of another prefix', () => {
    fc.assert(
      fc.property(
        prefixes,
        fc.array(fc.constantFrom(' ', '\n', '"', "'", '=', ':', '/', '(', '<')),
        (prefix, between) => {
          const keys = Array.from({ length: 3 }, () => generateKey({ prefix }));
          const foreign = generateKey({ prefix: prefix === 'acme' ? 'other' : 'acme' });
          const text = [...keys, foreign].join(` ${between.join('')} `);
          expect(text.match(new RegExp(keyPattern(prefix), 'g'))).toEqual(keys);
        },
      ),
    );
  });

  test('a million characters return, whatever nearly matches', () => {
    // A quadratic scan would need 10^12 steps and run into the runner's time limit.
    const texts = [
      'acme_'.repeat(200_000),
      `acme_${'a'.repeat(31)} `.repeat(27_000),
      'a'.repeat(1_000_000),
    ];
    for (const text of texts) {
      expect(redactKeys(text, { prefix: 'acme' }) === text).toBe(true);
      expect(parseKey(text, { prefix: 'acme' })).toBeNull();
      expect(new RegExp(keyPattern('acme')).test(text)).toBe(false);
    }
  });
});

describe('wrong input', () => {
  const key = generateKey({ prefix: 'acme' });
  const odd: readonly unknown[] = [
    undefined,
    null,
    4,
    true,
    '',
    'Acme',
    'acme_',
    'a b',
    'x'.repeat(1e6),
    'é',
    '\0',
    [],
    {},
  ];

  test('a prefix that is none, in every function', () => {
    for (const prefix of odd) {
      const options = { prefix } as { prefix: string };
      for (const call of [
        () => generateKey(options),
        () => parseKey(key, options),
        () => isKey(key, options),
        () => keyPattern(prefix as string),
        () => redactKeys(key, options),
      ]) {
        expect(complaint(call)).toMatch(/^prefix: 1 to 20 lower-case letters/);
      }
    }
  });

  test('no options, options that are none, unknown options', () => {
    for (const options of [undefined, null, 'acme', 4, []]) {
      const none = options as unknown as { prefix: string };
      for (const call of [
        () => generateKey(none),
        () => parseKey(key, none),
        () => isKey(key, none),
      ])
        complaint(call);
      expect(complaint(() => redactKeys(key, none))).toMatch(/prefix/);
    }
    const typo = { prefix: 'acme', ramdom: () => new Uint8Array(32) };
    expect(complaint(() => generateKey(typo))).toMatch(/unknown field "ramdom"/);
  });

  test('a text that is none', () => {
    for (const text of [undefined, null, 4, [], {}, [key]]) {
      expect(parseKey(text, { prefix: 'acme' })).toBeNull();
      expect(isKey(text, { prefix: 'acme' })).toBe(false);
      expect(complaint(() => redactKeys(text as string, { prefix: 'acme' }))).toMatch(
        /^text: pass a string/,
      );
    }
  });

  test('a key where the prefix belongs is not quoted', () => {
    const secret = key.slice(5);
    const long = generateKey({ prefix: 'a234567890123456789z' });
    for (const prefix of [key, secret, long, `${key} `, `${key}\n`]) {
      for (const call of [
        () => generateKey({ prefix }),
        () => keyPattern(prefix),
        () => isKey('', { prefix }),
      ]) {
        const message = complaint(call);
        expect(message).not.toContain(secret);
        expect(message).not.toContain(long.slice(21));
      }
    }
    const field = { prefix: 'acme', [key]: 1 };
    expect(complaint(() => generateKey(field))).not.toContain(secret);
  });
});

it('redacts a key that begins inside what looks like another one', () => {
  const key = generateKey({ prefix: 'acme' });
  const text = `acme_${'x'.repeat(28)}${key}`;
  expect(redactKeys(text, { prefix: 'acme' })).not.toContain(key.slice(5));
});
