/** The scope algebra on every pair of sets over two names per segment. */
import { normalizeScopes, unionScopes } from 'keyscope';
import { describe, expect, it } from 'vitest';
import { hasWider, isCovered, segmentsOf } from '../../src/core/scope.js';
import {
  type Algebra,
  brokenLawsAmong,
  disagreements,
  ours,
  PATTERNS,
  SETS,
  SETS_OF_ONE_NAME,
} from '../support/algebra.ts';

/** Correct except for sets of three or more patterns, none of which is minimal. */
const narrow: Algebra = {
  ...ours,
  union: (a, b) => (b.length > 2 && normalizeScopes(b).length < b.length ? a : unionScopes(a, b)),
};

// This, together with the argument in `test/support/algebra.ts`, proves every law.
describe('the algebra', () => {
  it('agrees with its meaning on all 262,144 pairs of sets', () => {
    expect(SETS).toHaveLength(512);
    expect(disagreements(ours, SETS)).toEqual([]);
    expect(disagreements(narrow)).toEqual([]);
    expect(disagreements(narrow, SETS)).not.toEqual([]);
  });

  it('looks up only the requested pattern and wider ones', () => {
    for (const set of SETS) {
      for (const pattern of PATTERNS) {
        const { resource, action } = segmentsOf(pattern);
        const near = [pattern, `${resource}:*`, `*:${action}`, '*:*'];
        const all = new Set(set);
        const rest = new Set(set.filter((one) => near.includes(one)));
        expect(isCovered(pattern, all)).toBe(isCovered(pattern, rest));
        expect(hasWider(all, pattern)).toBe(hasWider(rest, pattern));
      }
    }
  });

  it('keeps every law for any three of the 16 sets over one name per segment', () => {
    expect(SETS_OF_ONE_NAME).toHaveLength(16);
    expect(brokenLawsAmong(ours, SETS_OF_ONE_NAME)).toEqual([]);
    const empty: Algebra = { ...ours, intersect: () => [] };
    expect(brokenLawsAmong(empty, SETS_OF_ONE_NAME)).toContain('absorption');
  });
});
