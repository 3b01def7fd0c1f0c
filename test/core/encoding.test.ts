import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encode } from '../../src/core/encoding.js';

/** Texts that look like encodings, and some that do not. */
const texts = fc.oneof(
  fc.constantFrom('', 'n', 's0:', 's1:a', 'i1;', 'l0:', 'l1:n', '1', ':', ';', '🦊'),
  fc.string({ unit: 'grapheme', maxLength: 8 }).filter((text) => text.isWellFormed()),
);
const numbers = fc.oneof(fc.constantFrom(0, 1, 10, -1, 8.64e15), fc.maxSafeInteger());
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, texts, numbers, fc.constant(null), tie('list'), tie('table')),
  list: fc.array(tie('value'), { maxLength: 4 }),
  table: fc.dictionary(texts, tie('value'), { maxKeys: 4 }),
}));

/** Normalizes like the encoding: a table is the list of its sorted pairs. */
const sameTable = (value: unknown): unknown => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sameTable);
  const names = Object.keys(value).sort();
  return names.map((name) => [name, sameTable((value as Record<string, unknown>)[name])]);
};
const areSame = (one: unknown, other: unknown): boolean =>
  JSON.stringify(sameTable(one)) === JSON.stringify(sameTable(other));

describe('encode', () => {
  it.each([
    ['', 's0:'],
    ['abc', 's3:abc'],
    // Lengths are in UTF-16 units.
    ['é🦊', 's3:é🦊'],
    [0, 'i0;'],
    [-1, 'i-1;'],
    [8.64e15, 'i8640000000000000;'],
    [null, 'n'],
    [[], 'l0:'],
    [['a', 1, null], 'l3:s1:ai1;n'],
    [{}, 'l0:'],
    [{ b: '2', a: '1' }, 'l2:l2:s1:as1:1l2:s1:bs1:2'],
  ])('writes %j as %s', (value, text) => {
    expect(encode(value)).toBe(text);
  });

  it('is prefix-free: no encoding begins with the encoding of another value', () => {
    fc.assert(
      fc.property(values, values, (one, other) => {
        fc.pre(!areSame(one, other));
        const text = encode(one);
        const longer = encode(other);
        expect(text.startsWith(longer) || longer.startsWith(text)).toBe(false);
      }),
    );
  });

  it('is injective on sequences: content cannot move from one value to the next', () => {
    const lists = fc.array(fc.oneof(texts, numbers), { maxLength: 4 });
    fc.assert(
      fc.property(lists, lists, (one, other) => {
        const joined = (list: readonly unknown[]) => list.map(encode).join('');
        expect(joined(one) === joined(other)).toBe(areSame(one, other));
      }),
    );
  });

  it('does not depend on the order of a table', () => {
    fc.assert(
      fc.property(fc.dictionary(texts, texts), (table) => {
        const reversed = Object.fromEntries(Object.entries(table).reverse());
        expect(encode(reversed)).toBe(encode(table));
      }),
    );
  });

  it('sorts the names of a table by UTF-16 units, as every engine does', () => {
    // In order of code points, the second would come first.
    expect(encode({ '\uff5e': '1', '\u{1d306}': '2' })).toBe(
      'l2:l2:s2:\u{1d306}s1:2l2:s1:\uff5es1:1',
    );
  });
});
