/** The grammar of scopes, and covering: vectors, and a model of every small set. */
import { describe, expect, it } from 'vitest';
import { hasWider, isCovered, isScope, readPatterns, segmentsOf } from '../../src/core/scope.js';
import { PATTERNS } from '../support/algebra.ts';
import { beyondAscii } from '../support/beyond-ascii.ts';
import { complaint } from '../support/complaint.ts';
import { concat, failures, type Json, readVectors, type Vector } from '../support/vectors.ts';

type ScopeVector = Vector & {
  readonly input?: Json;
  readonly generate?: Parameters<typeof concat>[0];
  readonly result: 'concrete' | 'pattern' | 'malformed';
};

const { tests } = readVectors<{ tests: readonly ScopeVector[] }>('scopes');
const inputOf = ({ input, generate }: ScopeVector): unknown =>
  generate === undefined ? input : concat(generate);

describe('the grammar', () => {
  it('classifies every vector as a scope, a pattern, or neither', async () => {
    const failed = await failures(tests, (vector) => {
      const element = inputOf(vector);
      expect(isScope(element)).toBe(vector.result === 'concrete');
      if (vector.result === 'malformed') {
        expect(complaint(() => readPatterns(['a:b', element]))).toMatch(/^scopes: element 1: /);
        return;
      }
      expect(readPatterns([element])).toEqual([element]);
      const { resource, action } = segmentsOf(element as string);
      expect(`${resource}:${action}`).toBe(element);
    });
    expect(failed).toEqual([]);
  });

  it('accepts no character beyond ASCII in any position', () => {
    for (const text of ['users:kiosks', 'tasks:disk'].flatMap(beyondAscii)) {
      expect(isScope(text), text).toBe(false);
      expect(complaint(() => readPatterns([text]))).toMatch(/^scopes: /);
    }
  });

  it.each([undefined, null, 7, {}, ['a:b'], new String('a:b')])(
    'does not accept %j as a scope',
    (value) => {
      expect(isScope(value)).toBe(false);
    },
  );
});

describe('isCovered', () => {
  /** The model: a segment `*` matches any, and others match only themselves. */
  function covers(wide: string, narrow: string): boolean {
    const [wideResource, wideAction] = wide.split(':');
    const [resource, action] = narrow.split(':');
    const isIn = (one?: string, other?: string): boolean => one === '*' || one === other;
    return isIn(wideResource, resource) && isIn(wideAction, action);
  }

  it('agrees with the model, on every set of two patterns', () => {
    for (const first of PATTERNS) {
      for (const second of PATTERNS) {
        const set = new Set([first, second]);
        for (const pattern of PATTERNS) {
          const isWide = [first, second].some((wide) => covers(wide, pattern));
          expect(isCovered(pattern, set), `${pattern} by ${first} ${second}`).toBe(isWide);
          const others = [first, second].filter((wide) => wide !== pattern);
          const isWider = others.some((wide) => covers(wide, pattern));
          expect(hasWider(set, pattern), `${pattern} in ${first} ${second}`).toBe(isWider);
        }
      }
    }
    expect(PATTERNS.length).toBeGreaterThan(5);
  });

  // The world is open: a wildcard means more than the scopes that exist today.
  it('never lets concrete scopes add up to a wildcard', () => {
    expect(isCovered('a:*', new Set(['a:b', 'a:c', '*:b']))).toBe(false);
    expect(isCovered('*:*', new Set(['a:*', '*:b']))).toBe(false);
    expect(isCovered('a:b', new Set())).toBe(false);
  });
});
