/**
 * The `Authorization` header. Compares the parser with a second one, which reads the same grammar
 * in another way and without regard to speed.
 */
import assert from 'node:assert/strict';
import { parseAuthorization as parse } from 'keyscope';
import { LETTERS } from './alphabet.ts';
import type { Target } from './judge.ts';
import { inner, requireComplaint, timed } from './judge.ts';
import { inputsOf } from './vector-inputs.ts';

const { readAuthorization } =
  await inner<typeof import('../../../src/core/request.js')>('core/request');
const { parseAuthorization } = timed({ parseAuthorization: parse });

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

  /** Skips a run of `characters`, and returns its length. */
  skip(characters: string, most: number = Number.POSITIVE_INFINITY): number {
    const from = this.#at;
    while (!this.atEnd && this.#at - from < most) {
      if (!characters.includes(this.#text.charAt(this.#at))) break;
      this.#at += 1;
    }
    return this.#at - from;
  }

  /** Checks whether `read` consumes the rest; if not, consumes nothing. */
  all(read: (reader: Reader) => boolean): boolean {
    const from = this.#at;
    if (read(this) && this.atEnd) return true;
    this.#at = from;
    return false;
  }

  /** A quoted-string (RFC 9110 §5.6.4) without obs-text. */
  quoted(): boolean {
    if (this.skip('"', 1) === 0) return false;
    while (!this.atEnd) {
      if (this.skip('"', 1) === 1) return true;
      this.skip('\\', 1);
      const code = this.#text.charCodeAt(this.#at);
      const isText = code === 9 || (code >= 32 && code <= 126);
      if (!isText) return false;
      this.#at += 1;
    }
    return false;
  }
}

function token68(reader: Reader): boolean {
  if (reader.skip(TOKEN68) === 0) return false;
  reader.skip('=');
  return true;
}

function parameter(reader: Reader): boolean {
  if (reader.skip(TOKEN) === 0) return false;
  reader.skip(' \t');
  if (reader.skip('=', 1) === 0) return false;
  reader.skip(' \t');
  return reader.skip(TOKEN) > 0 || reader.quoted();
}

function parameters(reader: Reader): boolean {
  while (parameter(reader)) {
    if (reader.atEnd) return true;
    reader.skip(' \t');
    if (reader.skip(',', 1) === 0) return false;
    reader.skip(' \t');
  }
  return false;
}

/** Classifies a value by RFC 9110 §11.4. */
function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'missing';
  if (!Array.isArray(value)) return kindOfLine(value);
  if (value.length === 0) return 'missing';
  return value.length === 1 ? kindOfLine(value[0]) : 'malformed';
}

function kindOfLine(text: unknown): string {
  if (typeof text !== 'string' || text.length > 16_384) return 'malformed';
  const reader = new Reader(text);
  const scheme = reader.skip(TOKEN);
  const isBearer = text.slice(0, scheme).toLowerCase() === 'bearer';
  if (scheme === 0) return 'malformed';
  if (reader.atEnd) return isBearer ? 'malformed' : 'other-scheme';
  if (reader.skip(' ') === 0) return 'malformed';
  if (reader.all(token68)) return isBearer ? 'bearer' : 'other-scheme';
  return !isBearer && reader.all(parameters) ? 'other-scheme' : 'malformed';
}

/** Checks that a request in any form is read like its header alone. */
function checkRequests(text: string, answer: unknown): void {
  const rawHeaders = ['Host', 'a', 'authorizatioN', text];
  const once = [
    [text],
    { Authorization: text },
    { headers: { AUTHORIZATION: [text] } },
    { rawHeaders },
    { req: { rawHeaders } },
  ];
  for (const request of once) {
    assert.deepEqual(parseAuthorization(readAuthorization(request)), answer);
  }
  const twice = [
    [text, text],
    { authorization: text, Authorization: text },
    { rawHeaders: [...rawHeaders, ...rawHeaders] },
  ];
  for (const request of twice) assert.equal(kindOf(readAuthorization(request)), 'malformed');
}

function isObject(value: unknown): boolean {
  return Object(value) === value && !Array.isArray(value);
}

/** Checks that anything except a request throws a helpful `TypeError`. */
function checkComplaint(input: unknown): void {
  try {
    parseAuthorization(readAuthorization(input));
  } catch (error) {
    requireComplaint(error, input);
    const isMistake = isObject(input) || (Array.isArray(input) && input.some(isObject));
    assert.ok(isMistake, 'a text or a list of texts is not a mistake');
  }
}

export const authorization: Target = {
  seeds: [
    ...inputsOf('authorization'),
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
    'Bearer',
    'bearer',
    'Basic',
    'a=b',
    'a="b"',
    '==',
    'authorization',
    'headers',
    'rawHeaders',
    'multiValueHeaders',
    'raw',
    'req',
    'Bearer ',
    ', ',
  ],
  check(input) {
    const answer = parseAuthorization(input);
    assert.equal(answer.kind, kindOf(input));
    const fields = answer.kind === 'bearer' ? ['kind', 'token'] : ['kind'];
    assert.deepEqual(Object.keys(answer), fields);
    checkComplaint(input);
    if (typeof input !== 'string') return;
    checkRequests(input, answer);
    if (answer.kind !== 'bearer') return;
    assert.ok(input.endsWith(` ${answer.token}`));
    if (input.length >= 16_000) return;
    assert.deepEqual(parseAuthorization(`bEARER  ${answer.token}`), answer);
  },
};
