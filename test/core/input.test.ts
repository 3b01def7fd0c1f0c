import { describe, expect, it, vi } from 'vitest';
import {
  assert,
  quote,
  readFields,
  readInteger,
  readStrings,
  readText,
} from '../../src/core/input.js';
import { complaint } from '../support/complaint.ts';
import { AUTHORITY, OTHER, OWN, setUp, typeError, untyped } from '../support/keyring.ts';

describe('assert', () => {
  it('throws a TypeError that quotes the value', () => {
    expect(assert(true, 'pass it', 7)).toBeUndefined();
    expect(complaint(() => assert(false, 'pass it'))).toBe('pass it');
    expect(complaint(() => assert(false, 'pass it', 'a', null))).toBe('pass it, not "a", not null');
  });
});

describe('quote', () => {
  it.each([
    ['a text', '"a text"'],
    ['', '""'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['a\r\n\u001b', '"a\\r\\n\\u001b"'],
    ['\u007f\u0085é\u2028', '"\\u007f\\u0085\\u00e9\\u2028"'],
    ['🦊', '"\\ud83e\\udd8a"'],
    ['a'.repeat(19), `"${'a'.repeat(19)}"`],
    [`x ${'aA0+/=_-'.repeat(3)} y`, '"x [masked] y"'],
    [`x %61${'aA0'.repeat(7)} y`, '"x [masked] y"'],
    [`x %2561${'aA0'.repeat(7)} y`, '"x [masked] y"'],
    [OWN.toUpperCase(), `"${OWN.toUpperCase()}"`],
    [`key ${OWN}, ${OTHER.toUpperCase()}`, `"key ${OWN}, ${OTHER.toUpperCase()}"`],
    [`{${OWN}}`, `"{${OWN}}"`],
    [`acme_${OWN}`, '"[masked]"'],
    [`${OWN}0`, '"[masked]"'],
    [`${OWN}=${OTHER}`, '"[masked]"'],
    [`${OWN} ${'aA0'.repeat(7)}`, `"${OWN} [masked]"`],
    [OWN.replaceAll('-', ''), '"[masked]"'],
    [OWN.replace('a', 'g'), '"[masked]"'],
    ['a b '.repeat(32), `"${'a b '.repeat(32)}"`],
    ['a b '.repeat(33), 'a text of 132 characters'],
    [['a'], 'a list'],
    [undefined, 'undefined'],
    [null, 'null'],
    [Number.NaN, 'NaN'],
    [0, '0'],
    [false, 'false'],
    [7, 'a value of type number'],
    [{ secret: 1 }, 'a value of type object'],
    [Symbol('secret'), 'a value of type symbol'],
  ])('describes case %# for people, without possible secrets', (value, quoted) => {
    expect(quote(value)).toBe(quoted);
  });
});

describe('readFields', () => {
  it('returns the object itself, so that callers read each field once', () => {
    const value = { a: 1 };
    expect(readFields(value, ['a', 'b'], 'make')).toBe(value);
  });

  it.each([
    [undefined, /^make: pass an object with a, b$/],
    [[], /^make: pass an object with a, b$/],
    [new Map(), /^make: pass an object with a, b$/],
    [{ a: 1, c: 2 }, /^make: unknown field "c"; known fields are a, b$/],
    [Object.create({ a: 1 }), /^make: write a as an own field; it is inherited or not/],
    [Object.defineProperty({}, 'b', { value: 1 }), /^make: write b as an own field/],
  ])('refuses case %#, and says what to write instead', (value: unknown, message) => {
    expect(complaint(() => readFields(value, ['a', 'b'], 'make'))).toMatch(message);
  });

  // The letters of a megabyte of text were listed as fields before the check for an object.
  it('does not list the letters of a text that should be an object', async () => {
    const { keyring } = setUp();
    const ownKeys = vi.spyOn(Reflect, 'ownKeys');
    await typeError(
      () => keyring.issue(untyped('a'.repeat(1_000_000)), AUTHORITY),
      /issue: pass an object with name/,
    );
    const texts = ownKeys.mock.calls.filter(
      ([target]) => Object.prototype.toString.call(target) === '[object String]',
    );
    ownKeys.mockRestore();
    expect(texts).toEqual([]);
  });
});

describe('readStrings', () => {
  it('copies a list', () => {
    const list = ['a', 'b'];
    const copy = readStrings(list, 'names');
    list.push('c');
    expect(copy).toEqual(['a', 'b']);
  });

  it.each([
    ['a', /^names: pass a list of strings, not "a"$/],
    [{ length: 0 }, /^names: pass a list of strings/],
    [['a', 1], /^names: element 1: pass a text, not a value of type number$/],
    [Object.assign([], { 1: 'a' }), /^names: element 0: pass a text, not undefined$/],
  ])('refuses case %#, and names the first bad element', (value: unknown, message) => {
    expect(complaint(() => readStrings(value, 'names'))).toMatch(message);
  });

  it('refuses an element that breaks the rule, and says what to write', () => {
    const rule = { holds: (text: string) => text.length === 1, instead: 'write one letter' };
    expect(readStrings(['a', 'b'], 'names', rule)).toEqual(['a', 'b']);
    const said = complaint(() => readStrings(['a', 'ab'], 'names', rule));
    expect(said).toBe('names: element 1: write one letter, not "ab"');
  });
});

describe('readText', () => {
  it('composes, and counts characters instead of UTF-16 units', () => {
    expect(readText('u\u0308', 1, 'name')).toBe('\u00fc');
    expect(readText('🦊'.repeat(5), 5, 'name')).toBe('🦊'.repeat(5));
  });

  it('measures a text before it composes it', () => {
    const normalize = vi.spyOn(String.prototype, 'normalize');
    expect(complaint(() => readText('a'.repeat(41), 5, 'name'))).toBe('name: at most 5 characters');
    expect(normalize).not.toHaveBeenCalled();
    normalize.mockRestore();
  });
});

describe('readInteger', () => {
  it.each([1, 2, 5])('accepts %d from 1 to 5', (value) => {
    expect(readInteger(value, 1, 5, 'limit')).toBe(value);
  });

  it.each([0, 6, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '2', 2n, null, undefined, [2]])(
    'refuses %s',
    (value) => {
      const said = complaint(() => readInteger(value, 1, 5, 'limit'));
      expect(said).toBe('limit: pass a whole number from 1 to 5');
    },
  );
});
