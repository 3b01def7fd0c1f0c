import { describe, expect, it } from 'vitest';
import { readMaxQueries } from '../../src/stores/query-slots.js';

describe('readMaxQueries', () => {
  it('returns 4 by default', () => {
    expect(readMaxQueries(undefined, 'aStore')).toBe(4);
    expect([1, 1_000].map((count) => readMaxQueries(count, 'aStore'))).toEqual([1, 1_000]);
  });

  it.each([0, 1_001, 1.5, '4', null, Number.NaN])('rejects %s', (count) => {
    const instead = 'aStore: maxLookUpQueries: pass a whole number from 1 to 1000';
    expect(() => readMaxQueries(count, 'aStore')).toThrow(new TypeError(instead));
  });
});
