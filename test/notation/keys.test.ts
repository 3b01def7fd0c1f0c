/** The text of a key: vectors through every reader, and the patterns for scanners and logs. */
import fc from 'fast-check';
import { generateKey, isKey, keyPattern, parseKey, redactKeys } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { beyondAscii } from '../support/beyond-ascii.ts';
import { complaint } from '../support/complaint.ts';
import { untyped } from '../support/keyring.ts';
import { failures, readVectors, type Vector } from '../support/vectors.ts';

type KeyVector = Vector & { readonly prefix: string; readonly key: string } & (
    | { readonly result: 'valid'; readonly entropy: string; readonly checksum: string }
    | { readonly result: 'malformed' | 'wrong_checksum' | 'bad_prefix' }
  );

const { tests } = readVectors<{ tests: readonly KeyVector[] }>('keys');
const prefixes = fc.stringMatching(/^[a-z](?:[a-z0-9_]{0,18}[a-z0-9])?$/);

describe('the vectors of keys', () => {
  it('are at least 100, of every kind', () => {
    expect(tests.length).toBeGreaterThanOrEqual(100);
    expect(new Set(tests.map(({ result }) => result)).size).toBe(4);
  });

  it('hold for parseKey and isKey', async () => {
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

  it('hold for keyPattern and redactKeys, whatever the checksum', async () => {
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

describe('parseKey', () => {
  it('refuses characters beyond ASCII in every position', () => {
    const key = generateKey({ prefix: 'acme_k_s' });
    for (const text of beyondAscii(key)) {
      expect(parseKey(text, { prefix: 'acme_k_s' }), text).toBeNull();
    }
  });
});

describe('redactKeys and keyPattern', () => {
  // Anything that could surround a key in a log: parts of keys, other keys, characters of every
  // kind.
  const key = fc.noShrink(prefixes.map(() => generateKey({ prefix: 'acme' })));
  const noise = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.constantFrom('acme_', 'acme', '_', 'acme_acme_', '\n', ' ', '"', '0', 'Bearer ', '%20', 'é'),
  );

  it('leave neither a key nor its 32 characters in any text', () => {
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

  it('leave text without a key unchanged, and are idempotent', () => {
    fc.assert(
      fc.property(fc.array(noise, { maxLength: 8 }), (pieces) => {
        const text = pieces.join('');
        const redacted = redactKeys(text, { prefix: 'acme' });
        if (!/acme_[0-9A-Za-z]{32}/.test(text)) expect(redacted).toBe(text);
        expect(redactKeys(redacted, { prefix: 'acme' })).toBe(redacted);
      }),
    );
  });

  it('redact keys that touch, repeat or follow their own prefix', () => {
    const first = generateKey({ prefix: 'acme' });
    const second = generateKey({ prefix: 'acme' });
    for (const text of [
      first + second,
      `${first} ${first}`,
      `acme_${first}`,
      `x${first}x`,
      `${first.slice(0, 20)}${second}`,
      `https://h/?k=${first}&k=${second}`,
    ]) {
      const redacted = redactKeys(text, { prefix: 'acme' });
      for (const secret of [first, second]) expect(redacted).not.toContain(secret.slice(5));
    }
  });

  // Word boundaries on both sides missed every key in a URL, a JSON text or a variable name.
  it('find each key whatever touches it, and with the checksum none of another prefix', () => {
    const touching = ['', ' ', '"', '=', '%3D', '\\n', '\\\\n', '\\u003d', 'X_', 'key', '0', '>'];
    const pieces = fc.array(fc.constantFrom(...touching), { maxLength: 3 });
    fc.assert(
      fc.property(prefixes, pieces, pieces, (prefix, before, after) => {
        const keys = Array.from({ length: 3 }, () => generateKey({ prefix }));
        const foreign = generateKey({ prefix: prefix === 'acme' ? 'other' : 'acme' });
        const around = (key: string): string => `${before.join('')}${key}${after.join('')}`;
        const text = [...keys, foreign].map(around).join('\n');
        const found = text.match(new RegExp(keyPattern(prefix), 'g')) ?? [];
        expect(found.filter((match) => isKey(match, { prefix }))).toEqual(keys);
      }),
    );
  });

  it('redact a key that begins inside something that looks like another key', () => {
    const key = generateKey({ prefix: 'acme' });
    const text = `acme_${'x'.repeat(28)}${key}`;
    expect(redactKeys(text, { prefix: 'acme' })).not.toContain(key.slice(5));
  });

  it('read a million characters in linear time, even if they nearly match', () => {
    // A quadratic scan would need 10^12 steps and exceed the time limit of the test.
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

describe('every function on keys', () => {
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

  it('refuses a malformed prefix', () => {
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

  it('refuses missing, odd and unknown options', () => {
    for (const options of [undefined, null, 'acme', 4, []]) {
      const none = options as unknown as { prefix: string };
      expect(complaint(() => generateKey(none))).toMatch(/^generateKey: pass an object/);
      // Our error, not the engine's about reading a property of `undefined`.
      for (const read of [parseKey, isKey, redactKeys])
        expect(complaint(() => read(key, none))).toMatch(/^prefix: .*, not undefined$/);
    }
    const nothing = untyped<{ prefix: string }>({ prefix: null });
    expect(complaint(() => parseKey(key, nothing))).toMatch(/^prefix: .*, not null$/);
    const typo = { prefix: 'acme', ramdom: () => new Uint8Array(32) };
    expect(complaint(() => generateKey(typo))).toMatch(/unknown field "ramdom"/);
  });

  it('finds no key in a value that is not a text', () => {
    for (const text of [undefined, null, 4, [], {}, [key]]) {
      expect(parseKey(text, { prefix: 'acme' })).toBeNull();
      expect(isKey(text, { prefix: 'acme' })).toBe(false);
      expect(complaint(() => redactKeys(text as string, { prefix: 'acme' }))).toMatch(
        /^text: pass a string/,
      );
    }
  });

  it('does not quote a key that was passed as the prefix', () => {
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
