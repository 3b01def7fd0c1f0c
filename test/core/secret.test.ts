/**
 * Hashes and digests: known answers on both backends, and both against the platform's `createHmac`.
 * Randomness: evenly distributed keys, from a secure source.
 */

import { createHash, createHmac, hash, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import {
  createKeyring,
  digestBackend,
  digestKey,
  generateKey,
  isKey,
  type Pepper,
  parseKey,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { hmacSha256, nobleSha256, readPeppers, type Sha256 } from '../../src/core/secret.js';
import { complaint } from '../support/complaint.ts';
import {
  catalog,
  denied,
  issue,
  PEPPER,
  PEPPER_2,
  readThrough,
  rowOf,
  setUp,
} from '../support/keyring.ts';
import { runs } from '../support/runs.ts';
import {
  bytesOf,
  concat,
  failures,
  type PepperVector,
  pepperOf,
  readVectors,
  uuid,
  type Vector,
} from '../support/vectors.ts';

type DigestVector = Vector & {
  readonly text?: string;
  readonly generate?: Parameters<typeof concat>[0];
  readonly secretHex?: string;
  readonly key?: string;
  readonly pepper?: PepperVector | null;
  readonly result: string;
};
const { tests } = readVectors<{ tests: readonly DigestVector[] }>('digests');
const having = (flag: string) => tests.filter(({ flags }) => flags.includes(flag));
const textOf = ({ text, generate }: DigestVector) => (generate ? concat(generate) : String(text));

const prefixes = fc.stringMatching(/^[a-z](?:[a-z0-9_]{0,18}[a-z0-9])?$/);

const backends: Readonly<Record<string, Sha256>> = {
  noble: nobleSha256,
  native: (data) => hash('sha256', data, 'hex'),
};

describe.each(Object.entries(backends))('the %s backend', (_, sha256) => {
  it('computes SHA-256 as in FIPS 180-4', async () => {
    expect(having('Sha256').length).toBeGreaterThan(15);
    const failed = await failures(having('Sha256'), (vector) => {
      expect(sha256(textOf(vector))).toBe(vector.result);
    });
    expect(failed).toEqual([]);
  });

  it('computes HMAC-SHA-256 as in RFC 4231, also if the key is used twice', async () => {
    expect(having('HmacSha256').length).toBeGreaterThan(20);
    const failed = await failures(having('HmacSha256'), (vector) => {
      const mac = hmacSha256(sha256, bytesOf(vector.secretHex));
      expect(mac(textOf(vector))).toBe(vector.result);
      mac('another text in between');
      expect(mac(textOf(vector))).toBe(vector.result);
    });
    expect(failed).toEqual([]);
  });

  it('equals createHmac and createHash for any secret and text', () => {
    const text = fc
      .string({ unit: 'grapheme', maxLength: 80 })
      .filter((value) => value.isWellFormed());
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 150 }), text, text, (secret, first, second) => {
        const mac = hmacSha256(sha256, secret);
        for (const value of [first, second, first]) {
          const expected = createHmac('sha256', secret).update(value, 'utf8').digest('hex');
          expect([mac(value), mac(Buffer.from(value))]).toEqual([expected, expected]);
        }
        expect(sha256(first)).toBe(createHash('sha256').update(first, 'utf8').digest('hex'));
      }),
      { numRuns: runs(300) },
    );
  });

  it.each(['a key of 37 characters, like real ones', 'x'.repeat(300)])(
    'leaves no part of the hashed text in its buffer: %.20s',
    (text) => {
      const views: Uint8Array[] = [];
      const mac = hmacSha256((data) => {
        if (typeof data !== 'string') views.push(data);
        return sha256(data);
      }, new Uint8Array(40).fill(7));
      mac(text);
      const [inner] = views;
      const length = 64 + text.length;
      expect(inner?.length).toBe(length);
      // The first block is the padded secret, which the process must keep.
      expect(inner?.subarray(64)).toEqual(new Uint8Array(text.length));
    },
  );

  it('copies a secret, so that the caller can wipe it', () => {
    const secret = new Uint8Array(40).fill(7);
    const mac = hmacSha256(sha256, secret);
    const before = mac('text');
    secret.fill(0);
    expect(mac('text')).toBe(before);
  });
});

describe('the seals of a pepper', () => {
  it('are HMACs under keys that HKDF derives with different labels (RFC 5869)', () => {
    const isVaried = (bytes: Uint8Array): boolean => new Set(bytes).size > 1;
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 200 }).filter(isVaried);
    const texts = fc.string({ unit: 'grapheme', maxLength: 20 }).filter((t) => t.isWellFormed());
    fc.assert(
      fc.property(bytes, prefixes, texts, texts, (secret, prefix, deployment, text) => {
        const binding = `s${prefix.length}:${prefix}s${deployment.length}:${deployment}`;
        const expected = ['s13:keyscope seal', 's19:keyscope revocation'].map((kind) => {
          const derived = hkdfSync('sha256', secret, '', `l4:${kind}i1;${binding}`, 32);
          return createHmac('sha256', new Uint8Array(derived)).update(text).digest('hex');
        });
        const [scheme] = readPeppers([{ id: 'p1', secret }], { prefix, deployment });
        expect([scheme.seal?.(text), scheme.revocationSeal?.(text)]).toEqual(expected);
      }),
      { numRuns: runs(100) },
    );
  });

  it('are null without a pepper', () => {
    const [scheme] = readPeppers('none', { prefix: 'acme', deployment: '' });
    expect([scheme.seal, scheme.revocationSeal]).toEqual([null, null]);
  });
});

describe('digestKey', () => {
  afterEach(() => vi.unstubAllGlobals());

  const key = generateKey({ prefix: 'acme' });
  const secret = 'a secret of at least thirty-two bytes';

  it('returns the known answers', async () => {
    const failed = await failures(having('Digest'), ({ key: given = '', pepper, result }) => {
      expect(digestKey(given, pepper ? pepperOf(pepper) : undefined)).toBe(result);
    });
    expect(failed).toEqual([]);
  });

  it('uses the native hash here, because Node has one', () => {
    expect(digestBackend).toBe('native');
  });

  it('uses noble without node:crypto, and returns the same digests', async () => {
    for (const without of [{}, { hash: undefined }, undefined]) {
      vi.stubGlobal('process', { ...process, getBuiltinModule: () => without });
      vi.resetModules();
      const portable = await import('../../src/index.js');
      vi.unstubAllGlobals();
      expect(portable.digestBackend).toBe('noble');
      for (const { key: given = '', pepper, result } of having('Digest')) {
        expect(portable.digestKey(given, pepper ? pepperOf(pepper) : undefined)).toBe(result);
      }
    }
  });

  it('returns the stored digest, no part of which is a key', async () => {
    for (const peppers of ['none', [{ id: 'p1', secret }]] as const) {
      const store = memoryStore();
      const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers });
      const input = { name: 'ci', scopes: [], expiresAt: 'never' } as const;
      const issued = await keyring.issue(input, { entityId: uuid(1), scopes: [] });
      const digest = peppers === 'none' ? digestKey(issued.key) : digestKey(issued.key, peppers[0]);
      expect((await store.findById(issued.info.keyId))?.digest).toBe(digest);
      for (const passed of [digest, digest.slice(3), digest.split('$')[1]]) {
        await expect(keyring.verify(passed)).rejects.toMatchObject({
          code: 'invalid_token',
          reason: 'malformed_key',
        });
      }
      await keyring.verify(issued.key);
    }
  });

  it('differs with every key, every secret and every id', () => {
    const made = [
      digestKey(key),
      digestKey(generateKey({ prefix: 'acme' })),
      digestKey(key, { id: 'a', secret }),
      digestKey(key, { id: 'b', secret }),
      digestKey(key, { id: 'a', secret: `${secret}.` }),
    ];
    expect(new Set(made).size).toBe(made.length);
    expect(made[2]?.split('$')[1]).toBe(made[3]?.split('$')[1]);
  });

  it.each<[string, unknown, RegExp]>([
    ['null', null, /^pepper: pass an object/],
    ['a text', secret, /^pepper: pass an object/],
    ['a list', [{ id: 'p1', secret }], /^pepper: pass an object/],
    ['an unknown field', { id: 'p1', secret, seed: 1 }, /^pepper: unknown field "seed"/],
    ['no id', { secret }, /^pepper: id/],
    ['an id that is a number', { id: 1, secret }, /^pepper: id/],
    ['an empty id', { id: '', secret }, /^pepper: id/],
    ['an id in upper case', { id: 'P1', secret }, /^pepper: id/],
    ['an id with the separator', { id: 'p$1', secret }, /^pepper: id/],
    ['an id with LF at the end', { id: 'p1\n', secret }, /^pepper: id/],
    ['an id of 33 characters', { id: 'p'.repeat(33), secret }, /^pepper: id/],
    ['an id of a million characters', { id: 'p'.repeat(1e6), secret }, /^pepper: id/],
    ['an id beyond ASCII', { id: 'pé', secret }, /^pepper: id/],
    ['no secret', { id: 'p1' }, /^pepper p1: secret is/],
    ['a secret that is a number', { id: 'p1', secret: 1 }, /^pepper p1: secret is/],
    ['a secret that is a list', { id: 'p1', secret: Array(32).fill(1) }, /^pepper p1: secret is/],
    [
      'a secret that is an ArrayBuffer',
      { id: 'p1', secret: new ArrayBuffer(32) },
      /^pepper p1: secret is/,
    ],
    [
      'a secret of half a surrogate pair',
      { id: 'p1', secret: '\ud800'.repeat(32) },
      /^pepper p1: secret is/,
    ],
    ['an empty secret', { id: 'p1', secret: '' }, /^pepper p1: the secret has 0 bytes/],
    [
      'a text secret of 31 bytes',
      { id: 'p1', secret: 'x'.repeat(31) },
      /^pepper p1: the secret has 31 bytes/,
    ],
    [
      'a secret of 31 bytes',
      { id: 'p1', secret: new Uint8Array(31) },
      /^pepper p1: the secret has 31 bytes/,
    ],
    [
      '31 bytes in 16 letters',
      { id: 'p1', secret: `${'é'.repeat(15)}a` },
      /^pepper p1: the secret has 31 bytes/,
    ],
  ])('refuses a pepper that is %s', (_, pepper, message) => {
    expect(complaint(() => digestKey(key, pepper as Pepper))).toMatch(message);
  });

  it('refuses a key that is not a text, and quotes no secret', () => {
    for (const odd of [undefined, null, 4, [key], { key }]) {
      expect(complaint(() => digestKey(odd as unknown as string))).toMatch(/^key: pass a string/);
    }
    const swapped = { id: key, secret: 'p1' };
    expect(complaint(() => digestKey(key, swapped))).not.toContain(key.slice(5));
    expect(complaint(() => digestKey(key, { id: 'p1', secret: 'short secret' }))).not.toContain(
      'short secret',
    );
    expect(complaint(() => digestKey('k', { id: 'p1', secret, [key]: 1 } as Pepper))).not.toContain(
      key.slice(5),
    );
  });
});

describe('the peppers of a keyring', () => {
  const secret = 'a secret of at least thirty-two bytes';

  it('digest new keys under the first, and verify under each', async () => {
    const store = memoryStore();
    const before = setUp({ store, peppers: [PEPPER] });
    const old = await issue(before.keyring);
    const after = setUp({ store, peppers: [PEPPER_2, PEPPER] });
    const fresh = await issue(after.keyring);
    expect((await rowOf(store, old.info.keyId)).digest).toBe(digestKey(old.key, PEPPER));
    expect((await rowOf(store, fresh.info.keyId)).digest).toBe(digestKey(fresh.key, PEPPER_2));
    expect((await after.keyring.verify(old.key)).keyId).toBe(old.info.keyId);
    expect((await after.keyring.verify(fresh.key)).keyId).toBe(fresh.info.keyId);
    // Removing a pepper ends the keys made under it.
    const only = setUp({ store, peppers: [PEPPER_2] });
    await denied(() => only.keyring.verify(old.key), 'invalid_token', 'unknown_key');
    await only.keyring.verify(fresh.key);
  });

  it('differ by their secret, not only by the id', async () => {
    const { key, store } = await readThrough((inner) => inner);
    const other = setUp({ store, peppers: [{ id: PEPPER.id, secret: PEPPER_2.secret }] });
    await denied(() => other.keyring.verify(key), 'invalid_token', 'unknown_key');
  });

  it('are the same as text and as UTF-8 bytes, which the keyring copies', async () => {
    const secret = new TextEncoder().encode(PEPPER.secret);
    const { key, store } = await readThrough((inner) => inner, {
      peppers: [{ id: PEPPER.id, secret }],
    });
    const late = setUp({ store, peppers: [{ id: PEPPER.id, secret }] });
    secret.fill(0);
    await late.keyring.verify(key);
    await setUp({ store, peppers: [PEPPER] }).keyring.verify(key);
  });

  it.each<[string, unknown, RegExp]>([
    ['missing', undefined, /^peppers: pass/],
    ['null', null, /^peppers: pass/],
    ['another word', 'None', /^peppers: pass/],
    ['an empty list', [], /^peppers: pass/],
    ['one pepper without a list', { id: 'p1', secret }, /^peppers: pass/],
    ['a list of texts', [secret], /^pepper: pass an object/],
    [
      'two with the same id',
      [
        { id: 'p1', secret },
        { id: 'p1', secret: `${secret}2` },
      ],
      /two peppers have the same id/,
    ],
    [
      'a valid one and a short one',
      [
        { id: 'p1', secret },
        { id: 'p2', secret: 'short' },
      ],
      /^pepper p2/,
    ],
  ])('are refused if they are %s', (_, peppers, message) => {
    const options = { prefix: 'acme', catalog, store: memoryStore(), peppers } as Parameters<
      typeof createKeyring
    >[0];
    const said = complaint(() => createKeyring(options));
    expect(said).toMatch(message);
    expect(said).not.toContain(secret);
  });

  it('are not quoted if the secret was passed as the id', () => {
    const secret = 'Zm9v+YmFyMTIzNDU2/Nzg5MGFiY2+RlZmdoaWprbG1ub3A=';
    const make = () =>
      createKeyring({
        prefix: 'acme',
        catalog,
        store: memoryStore(),
        peppers: [{ id: secret, secret: 'p1' }],
      });
    expect(make).toThrow(TypeError);
    expect(make).not.toThrow(/Zm9v/);
  });
});

// ── Randomness ──────────────────────────────────────────────────────────────────────────────────

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const base62 = (length: number) =>
  fc
    .array(fc.constantFrom(...ALPHABET), { minLength: length, maxLength: length })
    .map((digits) => digits.join(''));

/**
 * Pearson's statistic over all entropy characters of `count` keys. The threshold is for 61 degrees
 * of freedom and p = 10^-9.
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

/** A small seeded generator (xorshift32), so that every run has the same sample. */
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

  it('makes a key with its prefix and no other', () => {
    fc.assert(
      fc.property(prefixes, prefixes, (prefix, other) => {
        const key = generateKey({ prefix });
        expect(parseKey(key, { prefix })?.prefix).toBe(prefix);
        expect(key).toHaveLength(prefix.length + 33);
        if (other !== prefix) expect(isKey(key, { prefix: other })).toBe(false);
      }),
    );
  });

  it('makes keys in which no single character can be changed', () => {
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

  it('is checked by a chi-square test that detects a modulo bias', () => {
    // 256 = 4 · 62 + 8: under `byte % 62` the first eight characters are a quarter more frequent.
    const even = seeded(1);
    const biased = (length: number) => even(length).map((byte) => byte % 62);
    expect(chiSquare(20_000, biased)).toBeGreaterThan(THRESHOLD);
  });

  it('takes 6 bits of a byte and drops 62 and 63', () => {
    const all = (length: number) =>
      Uint8Array.from({ length }, (_, index) =>
        index % 2 === 0 ? 62 + (index & 2) / 2 : 0x40 | index,
      );
    // Only the odd ones of 32 bytes count: 1, 3, … 31, then again from 1.
    const wanted = Array.from({ length: 26 }, (_, index) => ALPHABET[(2 * index + 1) % 32]).join(
      '',
    );
    expect(generateKey({ prefix: 'acme', random: all }).slice(5, 31)).toBe(wanted);
  });

  it('draws again until there are enough usable bytes', () => {
    const few = (length: number) => new Uint8Array(length).fill(63).fill(10, 0, 1);
    expect(generateKey({ prefix: 'acme', random: few }).slice(5, 31)).toBe('A'.repeat(26));
  });

  it('repeats none of 20,000 keys, ignoring the case of letters', () => {
    const keys = Array.from({ length: 20_000 }, () => generateKey({ prefix: 'acme' }));
    expect(new Set(keys).size).toBe(20_000);
    expect(new Set(keys.map((key) => key.slice(5, 31).toLowerCase())).size).toBe(20_000);
  });

  it('gets its bytes from getRandomValues and never from Math.random', async () => {
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
    ['only bytes that are dropped: 0xff', (length: number) => new Uint8Array(length).fill(0xff)],
    ['only bytes that are dropped: 62', (length: number) => new Uint8Array(length).fill(62)],
    ['null instead of a function', null],
    ['a text instead of a function', 'random'],
    ['bytes instead of a function', new Uint8Array(32)],
  ])('refuses %s as its source of randomness, without hanging', (_, random) => {
    const options = { prefix: 'acme', random } as { prefix: string };
    expect(complaint(() => generateKey(options))).toMatch(/^random: /);
  });

  it('rethrows an error of its source unchanged', () => {
    const broken = new Error('no entropy');
    const random = () => {
      throw broken;
    };
    expect(() => generateKey({ prefix: 'acme', random })).toThrow(broken);
  });
});
