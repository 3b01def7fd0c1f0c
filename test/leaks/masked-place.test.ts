/** The place of a find, as records and events show it. */
import { describe, expect, it } from 'vitest';
import { createPlaceMask } from '../../src/leaks/masked-place.js';
import { LONG_TEXTS, MEGABYTE, repeated } from '../support/long-texts.ts';
import { stepsOf } from '../support/steps.ts';

const SECRET = '0A9zQ7mK2xWv5TbYc8LpRn3dHg17jpNY';
const KEY = `acme_${SECRET}`;
const maskPlace = createPlaceMask([KEY]);
const read = (where: string): string => maskPlace(where, 'acme') ?? '';

const hexOf = (one: string): string => one.charCodeAt(0).toString(16);
const decode = (text: string): string =>
  text.replaceAll(/%([2-7][\da-f])/g, (_, code) => String.fromCharCode(Number(`0x${code}`)));

describe('the place of a find', () => {
  // The run that is masked brings the end of the text into view.
  const FILLINGS: readonly (readonly [string, (length: number) => string])[] = [
    ['a path', (length) => 'x/'.repeat(length).slice(0, length)],
    ['a run that is masked', (length) => `other_${'A'.repeat(Math.max(20, length - 7))}/`],
  ];
  const SPELLINGS: readonly (readonly [string, string])[] = [
    ['plain', KEY],
    ['without its prefix', SECRET],
    ['percent-encoded', KEY.replaceAll(/./gs, (one) => `%${hexOf(one)}`)],
  ];
  const CASES = FILLINGS.flatMap(([filling, fill]) =>
    SPELLINGS.map(([spelling, key]) => [spelling, filling, key, fill] as const),
  );

  // Without a key across the cut, a cut before the masking would have passed every test.
  it.each(CASES)(
    'contains no part of a key across a cut: %s, after %s',
    (_, _filling, key, fill) => {
      const parts = Array.from({ length: 30 }, (_each, start) => SECRET.slice(start, start + 3));
      expect(parts.some((part) => decode(key).includes(part))).toBe(true);
      const starts = Array.from({ length: 160 }, (_each, index) => 7_000 + 7 * index);
      for (const start of [...Array(182).keys(), ...starts]) {
        const shown = decode(read(`${fill(start)}${key}/${'y'.repeat(9_000)}`));
        const left = parts.filter((part) => shown.includes(part));
        expect(left, `at ${start}`).toEqual([]);
      }
    },
  );

  // The whole place was decoded before it was cut: 1 MB took up to two seconds.
  it.each(LONG_TEXTS)('takes no more steps for 1 MB than for 10,000 characters, of %j', (part) => {
    const stepsFor = (length: number): number => {
      const text = repeated(part, length);
      return stepsOf(() => read(text));
    };
    read('');
    const few = stepsFor(10_000);
    // Proves that steps are counted.
    expect(few).toBeGreaterThan(8_000);
    expect(stepsFor(MEGABYTE)).toBeLessThanOrEqual(1.1 * few);
  });
});
