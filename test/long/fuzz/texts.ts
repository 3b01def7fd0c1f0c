/**
 * What is read as text: headers, keys, scopes. What is accepted and what is not is compared with a
 * second reading of the grammars, written another way and for nobody's speed.
 */
import assert from 'node:assert/strict';
import { crc32 } from 'node:zlib';
import * as keyscope from 'keyscope';
import type { Json } from '../../support/vectors.ts';
import { concat, readVectors } from '../../support/vectors.ts';
import type { Target } from './judge.ts';
import { inner, requireComplaint, requireData, requireRefusal, timed } from './judge.ts';

const { authorizationOf } =
  await inner<typeof import('../../../src/core/request.js')>('core/request');
const functions = timed(keyscope);
const { parseAuthorization, parseKey, isKey, keyPattern, redactKeys, parseScopes, formatScopes } =
  functions;
const { normalizeScopes, coversScopes, unionScopes, intersectScopes, equalScopes } = functions;

const LETTERS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const KEY = 'acme_0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';

type Parts = Parameters<typeof concat>[0];
type Vector = { readonly [name in 'input' | 'list' | 'text']?: Json } & {
  readonly [name in 'generate' | 'generateText']?: Parts;
};

/** The inputs of a table of vectors, unfolded. */
function inputsOf(file: string, table = 'tests'): readonly unknown[] {
  const vectors = readVectors<Readonly<Record<string, readonly Vector[]>>>(file)[table] ?? [];
  return vectors.map(({ input, list, text, generate, generateText }) => {
    const parts = generate ?? generateText;
    return parts === undefined ? (input ?? list ?? text) : concat(parts);
  });
}

// ── Authorization ───────────────────────────────────────────────────────────────────────────────

const TOKEN = `!#$%&'*+-.^_\`|~${LETTERS}`;
const TOKEN68 = `-._~+/${LETTERS}`;

/** Reads a text from the left, character by character. */
class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get atEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Passes over as many of `characters` as there are, and says how many. */
  skip(characters: string, most = Number.POSITIVE_INFINITY): number {
    const from = this.#at;
    while (
      !this.atEnd &&
      this.#at - from < most &&
      characters.includes(this.#text.charAt(this.#at))
    )
      this.#at += 1;
    return this.#at - from;
  }

  /** Whether `read` takes everything that is left; if not, nothing was read. */
  all(read: (reader: Reader) => boolean): boolean {
    const from = this.#at;
    if (read(this) && this.atEnd) return true;
    this.#at = from;
    return false;
  }

  /** A quoted-string (RFC 9110 §5.6.4) without obs-text. */
  quoted(): boolean {
    if (this.skip('"', 1) === 0) return false;
    for (; !this.atEnd; this.#at += 1) {
      if (this.skip('"', 1) === 1) return true;
      this.skip('\\', 1);
      const code = this.#text.charCodeAt(this.#at);
      if (!(code === 9 || (code >= 32 && code <= 126))) return false;
    }
    return false;
  }
}

const token68 = (reader: Reader): boolean => reader.skip(TOKEN68) > 0 && reader.skip('=') >= 0;

function parameters(reader: Reader): boolean {
  for (;;) {
    if (reader.skip(TOKEN) === 0 || reader.skip(' \t') < 0 || reader.skip('=', 1) === 0)
      return false;
    reader.skip(' \t');
    if (reader.skip(TOKEN) === 0 && !reader.quoted()) return false;
    if (reader.atEnd) return true;
    reader.skip(' \t');
    if (reader.skip(',', 1) === 0) return false;
    reader.skip(' \t');
  }
}

/** RFC 9110 §11.4. */
function kindOf(value: unknown): string {
  const lines = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value];
  if (lines.length === 0) return 'missing';
  const [text] = lines;
  if (lines.length > 1 || typeof text !== 'string' || text.length > 16_384) return 'malformed';
  const reader = new Reader(text);
  const scheme = reader.skip(TOKEN);
  const isBearer = text.slice(0, scheme).toLowerCase() === 'bearer';
  if (scheme === 0 || (reader.atEnd && isBearer)) return 'malformed';
  if (reader.atEnd) return 'other-scheme';
  if (reader.skip(' ') === 0) return 'malformed';
  if (reader.all(token68)) return isBearer ? 'bearer' : 'other-scheme';
  return !isBearer && reader.all(parameters) ? 'other-scheme' : 'malformed';
}

export const authorization: Target = {
  seeds: [
    ...inputsOf('core/request'),
    { authorization: 'Bearer abc' },
    { headers: { Authorization: ['Bearer abc', 'Basic a=b'] } },
    { rawHeaders: ['Host', 'a', 'AUTHORIZATION', 'Bearer abc'], headers: {} },
    { raw: { rawHeaders: ['authorization', 'Bearer abc'] }, headers: { authorization: 'Basic a' } },
    { raw: { req: { rawHeaders: ['authorization', 'Bearer abc'] } }, rawHeaders: [] },
    {
      headers: { Authorization: 'Bearer abc' },
      multiValueHeaders: { Authorization: ['Basic a', 'Bearer abc'] },
    },
  ],
  words: [
    ...'Bearer bearer Basic a=b a="b" == authorization headers rawHeaders multiValueHeaders raw req'.split(
      ' ',
    ),
    'Bearer ',
    ', ',
  ],
  check(input) {
    const answer = parseAuthorization(input);
    assert.equal(answer.kind, kindOf(input));
    assert.deepEqual(Object.keys(answer), answer.kind === 'bearer' ? ['kind', 'token'] : ['kind']);
    try {
      parseAuthorization(authorizationOf(input));
    } catch (error) {
      requireComplaint(error, input);
      assert.ok(
        typeof input === 'object' && !Array.isArray(input),
        'a text or a list is no mistake',
      );
    }
    if (typeof input !== 'string') return;
    const rawHeaders = ['Host', 'a', 'authorizatioN', input];
    const alike = [
      { Authorization: input },
      { headers: { AUTHORIZATION: [input] } },
      { rawHeaders },
      { req: { rawHeaders } },
    ];
    for (const request of [[input], ...alike])
      assert.deepEqual(parseAuthorization(authorizationOf(request)), answer);
    const twice = [
      { authorization: input, Authorization: input },
      { rawHeaders: [...rawHeaders, ...rawHeaders] },
    ];
    for (const request of [[input, input], ...twice])
      assert.equal(kindOf(authorizationOf(request)), 'malformed');
    if (answer.kind !== 'bearer') return;
    assert.ok(input.endsWith(` ${answer.token}`));
    if (input.length < 16_000)
      assert.deepEqual(parseAuthorization(`bEARER  ${answer.token}`), answer);
  },
};

// ── Keys ────────────────────────────────────────────────────────────────────────────────────────

const inBase62 = (n: number): string =>
  (n < 62 ? '' : inBase62(Math.floor(n / 62))) + LETTERS.charAt(n % 62);

const isPrefix = (it: unknown): it is string =>
  typeof it === 'string' && it.length <= 20 && /^[a-z][a-z0-9_]*$/.test(it) && !it.endsWith('_');

/** Every place where something of the shape of a key begins, also within another. */
const shapes = (text: string, prefix: string): readonly number[] =>
  [...text.matchAll(new RegExp(`(?=${prefix}_[0-9A-Za-z]{32})`, 'g'))].map(({ index }) => index);

/** What has the shape of a key, and all that overlaps with it, is one mark. */
function redacted(text: string, prefix: string): string {
  let [out, end] = ['', 0];
  for (const from of shapes(text, prefix)) {
    if (from >= end) out += `${text.slice(end, from)}${prefix}_[redacted]`;
    end = from + prefix.length + 33;
  }
  return out + text.slice(end);
}

/** The parts of a key, or null. */
function partsOf(text: string, prefix: string) {
  const [secret, entropy, checksum] = [text.slice(-32), text.slice(-32, -6), text.slice(-6)];
  const right = inBase62(crc32(`${prefix}_${entropy}`)).padStart(6, '0') === checksum;
  return right ? { prefix, secret, entropy, checksum } : null;
}

export const key: Target = {
  seeds: [
    ...readVectors<{ tests: readonly { key: Json; prefix: Json }[] }>('keys').tests.map((each) => [
      each.key,
      each.prefix,
    ]),
    [`sent ${KEY}, and ${KEY}`, 'acme'],
    [`acme_${KEY.repeat(3)}`, 'acme'],
    ['a_'.repeat(40), 'a'],
  ],
  words: [KEY, KEY.slice(0, 20), 'acme_', 'acme', '_', 'a', 'A9', '[redacted]', 'acme_[redacted]'],
  check(input) {
    const [text, prefix] = (Array.isArray(input) ? input : [input, 'acme']) as [string, string];
    const options = { prefix };
    if (!isPrefix(prefix)) {
      for (const read of [parseKey, isKey, redactKeys])
        requireRefusal(() => read(text, options), input);
      return requireRefusal(() => keyPattern(prefix), input);
    }
    if (typeof text !== 'string') {
      assert.deepEqual([parseKey(text, options), isKey(text, options)], [null, false]);
      return requireRefusal(() => redactKeys(text, options), input);
    }
    const isShape = text.length === prefix.length + 33 && shapes(text, prefix)[0] === 0;
    const parts = isShape ? partsOf(text, prefix) : null;
    assert.deepEqual([parseKey(text, options), isKey(text, options)], [parts, parts !== null]);
    assert.equal(new RegExp(`^(?:${keyPattern(prefix)})$`).test(text), isShape);
    const out = redactKeys(text, options);
    assert.equal(out, redacted(text, prefix));
    assert.deepEqual(shapes(out, prefix), []);
  },
};

// ── Scopes ──────────────────────────────────────────────────────────────────────────────────────

export function isPattern(it: unknown): boolean {
  const sides = typeof it === 'string' ? it.split(':') : [];
  const isName = (side: string) =>
    /^[a-z]/.test(side) && side.length <= 64 && !/[^a-z0-9_-]/.test(side);
  return sides.length === 2 && sides.every((side) => side === '*' || isName(side));
}

export function isWider(granted: string, required: string): boolean {
  const [a, b] = [granted.split(':'), required.split(':')];
  return a.every((side, i) => side === '*' || side === b[i]);
}

/** The list that `parseScopes` should read in `input`, or null. */
function listIn(input: unknown): readonly string[] | null {
  if (typeof input === 'string' && input.length > 4096) return null;
  const list = input === '' ? [] : typeof input === 'string' ? input.split(' ') : input;
  return Array.isArray(list) && list.length <= 256 && Array.from(list).every(isPattern)
    ? list
    : null;
}

/** Without what another covers, and sorted. */
function leastOf(set: readonly string[]): readonly string[] {
  const all = [...new Set(set)];
  const wild = all.filter((one) => one.includes('*'));
  return all.filter((one) => !wild.some((other) => other !== one && isWider(other, one))).sort();
}

/** What two patterns have in common, if anything: wherever one has a `*`, what the other has. */
function meet(one: string, other: string): readonly string[] {
  const [a, b] = [one.split(':'), other.split(':')];
  const common = a.map((side, i) => (side === '*' ? b[i] : side)).join(':');
  return isWider(one, common) && isWider(other, common) ? [common] : [];
}

export const scopes: Target = {
  seeds: [
    ...inputsOf('scopes').map((one) => [[one], 'threats:read users:*']),
    ...inputsOf('scopes', 'lists').map((list) => [list, ['*:read']]),
    [['a:*', '*:b'], ['*:*']],
  ],
  words: [
    'a:b',
    '*:*',
    'a:*',
    '*:b',
    'threats:read',
    ':',
    '*',
    ' ',
    'users:',
    ':read',
    'constructor:read',
    KEY,
  ],
  check(input) {
    const [first, second] = (Array.isArray(input) ? input : [input, input]) as [string, string];
    const [a, b] = [listIn(first), listIn(second)];
    if (a === null) return requireRefusal(() => parseScopes(first), input);
    const parsed = parseScopes(first);
    assert.deepEqual(parsed, leastOf(a));
    requireData(parsed);
    if (parsed.join(' ').length <= 4096) assert.deepEqual(parseScopes(formatScopes(a)), parsed);
    if (b === null) return;
    assert.deepEqual([normalizeScopes(a), normalizeScopes(b)], [parsed, leastOf(b)]);
    assert.deepEqual(unionScopes(a, b), leastOf([...a, ...b]));
    const meets = () => leastOf(a.flatMap((one) => b.flatMap((other) => meet(one, other))));
    assert.deepEqual(
      intersectScopes(a, b),
      a.length * b.length > 2000 ? intersectScopes(b, a) : meets(),
    );
    const isCovered = (one: string) => a.some((other) => isWider(other, one));
    assert.deepEqual(
      [coversScopes(a, b), equalScopes(a, b)],
      [b.every(isCovered), isEqualText(parsed, leastOf(b))],
    );
  },
};

const isEqualText = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join();
