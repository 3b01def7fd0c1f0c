/**
 * Digests and hashes: known answers on both backends, and both against the platform's own
 * `createHmac`.
 */

import { createHash, createHmac, hash, hkdfSync } from 'node:crypto';
import fc from 'fast-check';
import {
  createKeyring,
  defineScopes,
  digestBackend,
  digestKey,
  generateKey,
  type Pepper,
} from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { hmacSha256, nobleSha256, readPeppers, type Sha256 } from '../../src/core/secret.js';
import { catalog } from '../support/keyring.ts';
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

const backends: Readonly<Record<string, Sha256>> = {
  noble: nobleSha256,
  native: (data) => hash('sha256', data, 'hex'),
};

describe.each(Object.entries(backends))('the %s backend', (_, sha256) => {
  test('SHA-256: FIPS 180-4 and more', async () => {
    expect(having('Sha256').length).toBeGreaterThan(15);
    const failed = await failures(having('Sha256'), (vector) => {
      expect(sha256(textOf(vector))).toBe(vector.result);
    });
    expect(failed).toEqual([]);
  });

  test('HMAC-SHA-256: RFC 4231 and more, the prepared key used twice', async () => {
    expect(having('HmacSha256').length).toBeGreaterThan(20);
    const failed = await failures(having('HmacSha256'), (vector) => {
      const mac = hmacSha256(sha256, bytesOf(vector.secretHex));
      expect(mac(textOf(vector))).toBe(vector.result);
      mac('another text in between');
      expect(mac(textOf(vector))).toBe(vector.result);
    });
    expect(failed).toEqual([]);
  });

  test('equals createHmac and createHash on any secret and text', () => {
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

  test('a prepared key is a copy: the caller may wipe its secret', () => {
    const secret = new Uint8Array(40).fill(7);
    const mac = hmacSha256(sha256, secret);
    const before = mac('text');
    secret.fill(0);
    expect(mac('text')).toBe(before);
  });
});

describe('the seal', () => {
  test('is an HMAC under a key that HKDF derives from the pepper with a label of its own (RFC 5869)', () => {
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 200 });
    fc.assert(
      fc.property(bytes, fc.string({ unit: 'grapheme-ascii' }), (secret, text) => {
        const derived = new Uint8Array(hkdfSync('sha256', secret, '', 'keyscope seal v1', 32));
        const expected = createHmac('sha256', derived).update(text).digest('hex');
        expect(readPeppers([{ id: 'p1', secret }])[0].seal(text)).toBe(expected);
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('digestKey', () => {
  afterEach(() => vi.unstubAllGlobals());

  const key = generateKey({ prefix: 'acme' });
  const secret = 'a secret of at least thirty-two bytes';

  /** What the `TypeError` says; any other error, or none, fails the test. */
  const complaint = (call: () => unknown): string => {
    try {
      call();
    } catch (error) {
      if (error instanceof TypeError) return error.message;
      throw error;
    }
    throw new Error('was accepted');
  };

  test('known answers', async () => {
    const failed = await failures(having('Digest'), ({ key: given = '', pepper, result }) => {
      expect(digestKey(given, pepper ? pepperOf(pepper) : undefined)).toBe(result);
    });
    expect(failed).toEqual([]);
  });

  test('this process uses the native hash, as Node has one', () => {
    expect(digestBackend).toBe('native');
  });

  test('a runtime without node:crypto loads noble, and gives the same answers', async () => {
    for (const without of [{}, { hash: undefined }, undefined]) {
      vi.stubGlobal('process', { ...process, getBuiltinModule: () => without });
      vi.resetModules();
      const portable = await import('../../src/core/secret.js');
      vi.unstubAllGlobals();
      expect(portable.digestBackend).toBe('noble');
      for (const { key: given = '', pepper, result } of having('Digest')) {
        expect(portable.digestKey(given, pepper ? pepperOf(pepper) : undefined)).toBe(result);
      }
    }
  });

  test('is what the store holds, and neither digest nor its parts are a key', async () => {
    const catalog = defineScopes({ a: { b: 'A sentence.' } });
    for (const peppers of ['none', [{ id: 'p1', secret }]] as const) {
      const store = memoryStore();
      const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers });
      const input = { name: 'ci', scopes: [], expiresAt: 'never' } as const;
      const issued = await keyring.issue(input, { entityUuid: uuid(1) });
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

  test('differs with every key, every secret and every id', () => {
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

  test.each<[string, unknown, RegExp]>([
    ['null', null, /^pepper: pass an object/],
    ['a text', secret, /^pepper: pass an object/],
    ['a list', [{ id: 'p1', secret }], /^pepper: pass an object/],
    ['an unknown field', { id: 'p1', secret, seed: 1 }, /^pepper: unknown field "seed"/],
    ['no id', { secret }, /^pepper: id/],
    ['an id that is a number', { id: 1, secret }, /^pepper: id/],
    ['an empty id', { id: '', secret }, /^pepper: id/],
    ['an id in upper case', { id: 'P1', secret }, /^pepper: id/],
    ['an id with the separator', { id: 'p$1', secret }, /^pepper: id/],
    ['an id with LF behind', { id: 'p1\n', secret }, /^pepper: id/],
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
      '31 bytes of 15 letters',
      { id: 'p1', secret: `${'é'.repeat(15)}a` },
      /^pepper p1: the secret has 31 bytes/,
    ],
  ])('a pepper that is %s', (_, pepper, message) => {
    expect(complaint(() => digestKey(key, pepper as Pepper))).toMatch(message);
  });

  test('a key that is no text; a secret where the id belongs is not quoted', () => {
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

  test.each<[string, unknown, RegExp]>([
    ['left out', undefined, /^peppers: pass/],
    ['null', null, /^peppers: pass/],
    ['another word', 'None', /^peppers: pass/],
    ['a list of none', [], /^peppers: pass/],
    ['one pepper without a list', { id: 'p1', secret }, /^peppers: pass/],
    ['a list of texts', [secret], /^pepper: pass an object/],
    [
      'two of one id',
      [
        { id: 'p1', secret },
        { id: 'p1', secret: `${secret}2` },
      ],
      /two of them have the same id/,
    ],
    [
      'a good one and a short one',
      [
        { id: 'p1', secret },
        { id: 'p2', secret: 'short' },
      ],
      /^pepper p2/,
    ],
  ])('a keyring whose peppers are %s', (_, peppers, message) => {
    const catalog = defineScopes({ a: { b: 'A sentence.' } });
    const options = { prefix: 'acme', catalog, store: memoryStore(), peppers } as Parameters<
      typeof createKeyring
    >[0];
    const said = complaint(() => createKeyring(options));
    expect(said).toMatch(message);
    expect(said).not.toContain(secret);
  });
});

it('does not quote a pepper that was handed in as its own id', () => {
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
