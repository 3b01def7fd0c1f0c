/**
 * One header value → one credential, or the reason why it has none: vectors through every path,
 * then laws.
 */
import fc from 'fast-check';
import { createKeyring, defineScopes, isAccessError, parseAuthorization } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { beyondAscii } from '../support/beyond-ascii.ts';
import type { Json, Vector } from '../support/vectors.ts';
import { concat, failures, readVectors } from '../support/vectors.ts';

type Parts = Parameters<typeof concat>[0];
type Result =
  | { readonly kind: 'missing' | 'other-scheme' | 'malformed' }
  | { readonly kind: 'bearer'; readonly token: string | { readonly generate: Parts } };
type HeaderVector = Vector & {
  readonly input?: Json;
  readonly generate?: Parts;
  readonly result: Result;
};

const { tests } = readVectors<{ tests: readonly HeaderVector[] }>('authorization');
const inputOf = (vector: HeaderVector): Json =>
  vector.generate ? concat(vector.generate) : (vector.input as Json);
const expected = ({ result }: HeaderVector) =>
  result.kind === 'bearer' && typeof result.token !== 'string'
    ? { kind: 'bearer', token: concat(result.token.generate) }
    : result;

// The result of a keyring for each kind. The tokens are not keys of this keyring, so `bearer` fails
// at the shape.
const CODES = {
  missing: ['missing_credentials', 'no_header'],
  'other-scheme': ['missing_credentials', 'other_scheme'],
  malformed: [
    'invalid_request',
    expect.stringMatching(/^(?:malformed_header|quoted_key)$/) as string,
  ],
  bearer: ['invalid_token', 'malformed_key'],
} as const;

const catalog = defineScopes({ a: { b: 'A sentence.' } });
const keyring = createKeyring({ prefix: 'other', catalog, store: memoryStore(), peppers: 'none' });

async function denial(request: unknown): Promise<readonly [string, string]> {
  try {
    await keyring.authenticate(request as string);
  } catch (error) {
    if (isAccessError(error)) return [error.code, error.reason];
    throw error;
  }
  throw new Error('was let in');
}

const isLines = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.every((line) => typeof line === 'string');

const isObject = (value: Json): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

describe('the vectors of Authorization values', () => {
  it('are at least 200, of every kind', () => {
    expect(tests.length).toBeGreaterThanOrEqual(200);
    expect(new Set(tests.map(({ result }) => result.kind)).size).toBe(4);
  });

  it('hold for parseAuthorization', async () => {
    const failed = await failures(tests, (vector) => {
      expect(parseAuthorization(inputOf(vector))).toEqual(expected(vector));
    });
    expect(failed).toEqual([]);
  });

  it('hold for authenticate with a value, lines, headers and rawHeaders', async () => {
    const failed = await failures(tests, async (vector) => {
      const input = inputOf(vector);
      const code = CODES[vector.result.kind];
      const lines = typeof input === 'string' ? [input] : input;
      // No client can send an object, so it is a mistake of the service.
      if (isObject(input) || (Array.isArray(input) && input.some(isObject))) {
        await expect(denial({ AUTHORIZATION: input })).rejects.toThrow(TypeError);
        return;
      }
      if (input === null || isLines(lines)) expect(await denial(input)).toEqual(code);
      expect(await denial({ AUTHORIZATION: input })).toEqual(code);
      expect(await denial({ headers: { authorization: input } })).toEqual(code);
      if (!isLines(lines)) return;
      const rawHeaders = lines.flatMap((line) => ['host', 'a', 'AuthoriZation', line]);
      expect(await denial({ rawHeaders, headers: { authorization: lines[0] } })).toEqual(code);
    });
    expect(failed).toEqual([]);
  });

  it('hold for authenticate with a fetch Request, if that accepts the value', async () => {
    let asked = 0;
    const failed = await failures(tests, async (vector) => {
      const input = inputOf(vector);
      // Fetch strips white space around a value and refuses some values itself.
      if (typeof input !== 'string' || input !== input.trim() || input.length > 20_000) return;
      let headers: Headers;
      try {
        headers = new Headers({ authorization: input });
      } catch {
        return;
      }
      asked += 1;
      const code = CODES[vector.result.kind];
      expect(await denial(headers)).toEqual(code);
      expect(await denial(new Request('http://localhost/?key=a', { headers }))).toEqual(code);
    });
    expect(failed).toEqual([]);
    expect(asked).toBeGreaterThan(200);
  });
});

describe('parseAuthorization', () => {
  const TOKEN68 = /^[A-Za-z0-9\-._~+/]+=*$/;
  const anything = fc.oneof(
    fc.anything(),
    fc.string({ unit: 'binary' }),
    fc.constant(undefined),
    fc.bigInt(),
  );

  it('never throws, and returns one of four kinds', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const answer = parseAuthorization(value);
        expect(['missing', 'bearer', 'other-scheme', 'malformed']).toContain(answer.kind);
        expect('token' in answer).toBe(answer.kind === 'bearer');
      }),
    );
  });

  it('recognizes a bearer only as scheme, spaces and one token68', () => {
    const piece = fc.constantFrom(
      'Bearer',
      'bearer',
      'Basic',
      ' ',
      '  ',
      '\t',
      'a',
      'a=b',
      '=',
      '==',
      ',',
      '"',
      '\\',
      'é',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
        const value = pieces.join('');
        const match = /^bearer +(.*)$/is.exec(value);
        const token = match?.[1] ?? '';
        const answer = parseAuthorization(value);
        if (TOKEN68.test(token)) expect(answer).toEqual({ kind: 'bearer', token });
        else expect(answer.kind).not.toBe('bearer');
      }),
    );
  });

  it('treats a character beyond ASCII as malformed, in every position', () => {
    const values = [
      'Bearer acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY',
      'Basic eDp5',
      'Digest a="b", c=d',
    ];
    for (const value of values.flatMap(beyondAscii))
      expect(parseAuthorization(value)).toEqual({ kind: 'malformed' });
  });

  it('accepts no credential in two lines joined by a comma', () => {
    const line = fc.constantFrom(
      ...tests.flatMap(({ input, result }) =>
        typeof input === 'string' && ['bearer', 'other-scheme'].includes(result.kind)
          ? [input]
          : [],
      ),
    );
    fc.assert(
      fc.property(line, line, fc.constantFrom(',', ', ', ' , '), (first, second, comma) => {
        expect(parseAuthorization(first + comma + second).kind).not.toBe('bearer');
        expect(parseAuthorization([first, second])).toEqual({ kind: 'malformed' });
      }),
    );
  });

  it('returns no part of a value that is not a bearer credential', () => {
    const key = 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';
    for (const value of [
      key,
      `${key} x`,
      `${key}, Bearer a`,
      `Bearer a, ${key}`,
      `Basic a="${key}"`,
    ]) {
      expect(JSON.stringify(parseAuthorization(value))).not.toContain(key.slice(5));
    }
  });

  it('returns shared frozen results', () => {
    for (const value of [undefined, 'Basic', 'Bearer'])
      expect(Object.isFrozen(parseAuthorization(value))).toBe(true);
  });

  it('reads undefined as no header, and any other value as malformed', () => {
    expect(parseAuthorization(undefined)).toEqual({ kind: 'missing' });
    const odd = [
      Symbol('a'),
      1n,
      () => 'Bearer a',
      new String('Bearer a'),
      new Map(),
      [undefined],
      new Array<string>(1),
    ];
    for (const value of odd) expect(parseAuthorization(value)).toEqual({ kind: 'malformed' });
  });
});
