import { describe, expect, it } from 'vitest';
import { earliest, latest, timeOf } from '../../src/core/times.js';

describe('earliest and latest', () => {
  it.each([
    [null, null, null, null],
    [1, null, 1, 1],
    [null, 2, 2, 2],
    [1, 2, 1, 2],
    [2, 1, 1, 2],
    [0, null, 0, 0],
    [-1, 0, -1, 0],
  ])('of %s and %s are %s and %s', (first, second, sooner, later) => {
    expect(earliest(first, second)).toBe(sooner);
    expect(latest(first, second)).toBe(later);
  });
});

describe('timeOf', () => {
  it('is the time of a Date, whatever its methods say', () => {
    const date = new Date(5);
    Object.assign(date, { getTime: () => 6 });
    expect(timeOf(date)).toBe(5);
  });

  it.each([new Date(Number.NaN), 5, '1970-01-01', null, undefined, { getTime: (): number => 5 }])(
    'is NaN for %s',
    (value) => {
      expect(timeOf(value)).toBeNaN();
    },
  );
});
