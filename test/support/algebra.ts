/**
 * The laws of the scope algebra, written as a function over any algebra, and a model to compare it
 * with. To prove that the suite can fail, `scope.test.ts` also runs wrong algebras through it.
 */
import fc from 'fast-check';
import { coversScopes, equalScopes, intersectScopes, normalizeScopes, unionScopes } from 'keyscope';

type Set = readonly string[];

// Sets are called a, b and c in the laws, as in mathematics.

export interface Algebra {
  normalize(set: Set): Set;
  covers(granted: Set, required: Set): boolean;
  union(a: Set, b: Set): Set;
  intersect(a: Set, b: Set): Set;
  equal(a: Set, b: Set): boolean;
}

/** The package's own algebra. */
export const ours: Algebra = {
  normalize: normalizeScopes,
  covers: coversScopes,
  union: unionScopes,
  intersect: intersectScopes,
  equal: equalScopes,
};

// ── The model ────────────────────────────────────────────────────────────────────────────────────
//
// Why two names per segment, plus a fresh one, cover all cases. A pattern means the pairs of names
// that it matches, out of infinitely many; a set means the union of its patterns. W(p) consists of
// the pattern p and the patterns wider than p: at most p, `r:*`, `*:a` and `*:*`.
//
// 1. The operations compare names and never look inside them, and no name contains `:` or `*`. So
//    renaming a set's names one for one does not change how the operations treat it.
// 2. A set includes everything that p means only if it has a pattern of W(p). Proof: take a pair
//    that p matches, with names that the set does not have wherever p has `*`. A pattern that
//    matches this pair has `*` there, and `*` or p's own name elsewhere. Therefore a set has one
//    minimal form: those of its patterns that have no wider one in the set.
// 3. Whether p is covered, and whether it stays in a minimal form or a union, depends only on which
//    patterns of W(p) are present: `isCovered` and `hasWider` look up no others. These patterns
//    name one resource and one action.
// 4. An intersection consists of the common part of any x from one set and any y from the other, as
//    far as the other set covers it, made minimal. If it means too much, the excess is in one such
//    element, made from one x, one y and the patterns of W that cover it. If it means too little,
//    some x and y match what is missing. Both faults appear in sets over the names of x and y: two
//    resources and two actions.
// 5. So if no operation differs from its meaning for any pair of sets over two resources and two
//    actions, then none differs anywhere, and they are the inclusion, union and intersection of
//    sets of pairs. Every law of these, for any number of sets, then holds for the operations.
//
// You can see 1 and the first halves of 3 and 4 in the code. A test also checks that look-ups stay
// within W. `test/slow/algebra.test.ts` goes through all pairs of sets.

const RESOURCES = ['a', 'ab'];
const ACTIONS = ['x', 'xy'];
// Names are unlimited: one resource and one action that no pattern mentions represent all others.
const CELLS = [...RESOURCES, 'fresh'].flatMap((resource) =>
  [...ACTIONS, 'fresh'].map((action) => ({ resource, action })),
);

/**
 * All 9 patterns over the two resources and two actions. One name is a prefix of the other, in both
 * positions.
 */
export const PATTERNS: Set = [...RESOURCES, '*'].flatMap((resource) =>
  [...ACTIONS, '*'].map((action) => `${resource}:${action}`),
);

/** One bit for each cell that a pattern matches. */
function denotes(pattern: string): number {
  const [resource, action] = pattern.split(':');
  let bits = 0;
  for (const [index, cell] of CELLS.entries()) {
    const matchesResource = resource === '*' || resource === cell.resource;
    const matchesAction = action === '*' || action === cell.action;
    if (matchesResource && matchesAction) bits |= 1 << index;
  }
  return bits;
}

const BITS = new Map(PATTERNS.map((pattern) => [pattern, denotes(pattern)]));

/**
 * The pairs of names that a set means, one bit each. Throws if a pattern is not in {@link
 * PATTERNS}.
 */
export function meaning(set: Set): number {
  let bits = 0;
  for (const pattern of set) {
    const more = BITS.get(pattern);
    if (more === undefined) throw new Error(`not a pattern of the model: ${pattern}`);
    bits |= more;
  }
  return bits;
}

/** All 512 sets of the 9 patterns. */
export const SETS: readonly Set[] = Array.from({ length: 2 ** PATTERNS.length }, (_, bits) =>
  PATTERNS.filter((_pattern, index) => ((bits >> index) & 1) === 1),
);

const isMinimal = (set: Set): boolean =>
  set.every((pattern) => meaning(set.filter((other) => other !== pattern)) !== meaning(set));

/** One set per meaning: 48. */
export const MINIMAL: readonly Set[] = SETS.filter(isMinimal);

const text = (set: Set): string => set.join(' ');

/**
 * Runs every operation on every set, and on every set paired with each of `others`, and compares
 * the results with the model. Stops after the first set that shows a disagreement.
 */
export function disagreements(
  algebra: Algebra,
  others: readonly Set[] = MINIMAL,
): readonly string[] {
  const found: string[] = [];
  const check = (holds: boolean, what: string): void => {
    if (!holds) found.push(what);
  };
  const minimal = new Map(MINIMAL.map((set) => [meaning(set), text([...set].sort())]));
  for (const a of SETS) {
    if (found.length > 0) break;
    const bits = meaning(a);
    check(text(algebra.normalize(a)) === minimal.get(bits), `normalize ${text(a)}`);
    for (const b of others) {
      const other = meaning(b);
      const pair = `(${text(a)}) (${text(b)})`;
      check(algebra.covers(a, b) === ((bits & other) === other), `covers ${pair}`);
      check(algebra.covers(b, a) === ((bits & other) === bits), `covers, turned ${pair}`);
      check(algebra.equal(a, b) === (bits === other), `equal ${pair}`);
      check(isMeant(algebra.union(a, b), bits | other), `union ${pair}`);
      check(isMeant(algebra.intersect(a, b), bits & other), `intersect ${pair}`);
    }
  }
  return found;
}

/** Whether a set means exactly these bits. A set with a pattern outside the model never does. */
function isMeant(set: Set, bits: number): boolean {
  return set.every((pattern) => BITS.has(pattern)) && meaning(set) === bits;
}

// ── The laws ─────────────────────────────────────────────────────────────────────────────────────

const segment = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'ab', 'abc', 'b', 'constructor') },
  { weight: 3, arbitrary: fc.constant('*') },
  { weight: 1, arbitrary: fc.stringMatching(/^[a-z][a-z0-9_-]{0,63}$/) },
);
export const pattern = fc.tuple(segment, segment).map((sides) => sides.join(':'));
export const patternSet = fc.array(pattern, { maxLength: 6 });

const LAWS: Readonly<Record<string, (algebra: Algebra, a: Set, b: Set, c: Set) => boolean>> = {
  reflexive: ({ covers, equal }, a) => covers(a, a) && equal(a, a),
  transitive: ({ covers }, a, b, c) => !(covers(a, b) && covers(b, c)) || covers(a, c),
  antisymmetric: ({ covers, equal }, a, b) => (covers(a, b) && covers(b, a)) === equal(a, b),
  'equal is symmetric': ({ equal }, a, b) => equal(a, b) === equal(b, a),
  'everything covers nothing': ({ covers }, a) =>
    covers(a, []) && (a.length === 0 || !covers([], a)),
  'union commutes': ({ union, equal }, a, b) => equal(union(a, b), union(b, a)),
  'intersect commutes': ({ intersect, equal }, a, b) => equal(intersect(a, b), intersect(b, a)),
  'union associates': ({ union, equal }, a, b, c) =>
    equal(union(a, union(b, c)), union(union(a, b), c)),
  'intersect associates': ({ intersect, equal }, a, b, c) =>
    equal(intersect(a, intersect(b, c)), intersect(intersect(a, b), c)),
  absorption: ({ union, intersect, equal }, a, b) =>
    equal(union(a, intersect(a, b)), a) && equal(intersect(a, union(a, b)), a),
  idempotent: ({ union, intersect, equal }, a) =>
    equal(union(a, a), a) && equal(intersect(a, a), a),
  distributive: ({ union, intersect, equal }, a, b, c) =>
    equal(intersect(a, union(b, c)), union(intersect(a, b), intersect(a, c))),
  'union is the least upper bound': ({ union, covers }, a, b, c) =>
    covers(union(a, b), a) &&
    covers(union(a, b), b) &&
    (!(covers(c, a) && covers(c, b)) || covers(c, union(a, b))),
  'intersect is the greatest lower bound': ({ intersect, covers }, a, b, c) =>
    covers(a, intersect(a, b)) &&
    covers(b, intersect(a, b)) &&
    (!(covers(a, c) && covers(b, c)) || covers(intersect(a, b), c)),
  monotone: ({ union, intersect, covers }, a, b, c) =>
    !covers(a, b) || (covers(union(a, c), union(b, c)) && covers(intersect(a, c), intersect(b, c))),
  'normalize keeps the meaning': ({ normalize, covers }, a) =>
    covers(a, normalize(a)) && covers(normalize(a), a),
  'normalize is a projection': ({ normalize }, a) =>
    text(normalize(normalize(a))) === text(normalize(a)),
  'normalize is unique': ({ normalize, equal }, a, b) =>
    equal(a, b) === (text(normalize(a)) === text(normalize(b))),
  'normalize is minimal': ({ normalize, covers }, a) =>
    normalize(a).every((one, index, all) => !covers(all.toSpliced(index, 1), [one])),
  'order and repetition do not matter': ({ normalize }, a, b) =>
    text(normalize([...a, ...b])) === text(normalize([...b, ...a, ...b])),
  'concrete scopes never add up to a wildcard': ({ covers }, a, b) => {
    const concrete = a.filter((one) => !one.includes('*'));
    const wild = b.filter((one) => one.includes('*'));
    return wild.length === 0 || !covers(concrete, wild);
  },
  'a fresh name is covered by a wildcard alone': ({ covers }, a) =>
    covers(a, ['zzz:zzz']) === a.includes('*:*') &&
    covers(a, ['a:zzz']) === (a.includes('*:*') || a.includes('a:*')) &&
    covers(a, ['zzz:a']) === (a.includes('*:*') || a.includes('*:a')),
};

/** The sets over one resource and one action. */
export const SETS_OF_ONE_NAME: readonly Set[] = SETS.filter((set) =>
  set.every((one) => ['a:x', 'a:*', '*:x', '*:*'].includes(one)),
);

/** The laws that `algebra` breaks for three sets from a list, in any order, with repetition. */
export function brokenLawsAmong(algebra: Algebra, sets: readonly Set[]): readonly string[] {
  const broken = new Set<string>();
  for (const a of sets) {
    for (const b of sets) {
      for (const c of sets) {
        for (const [name, law] of Object.entries(LAWS)) {
          if (!law(algebra, a, b, c)) broken.add(name);
        }
      }
    }
  }
  return [...broken];
}

/**
 * The laws that `algebra` breaks, each with its first counterexample. A correct algebra breaks
 * none. All laws see the same samples; each run uses a fresh seed, like any property test.
 */
export function brokenLaws(algebra: Algebra, numRuns: number): readonly string[] {
  const broken = new Map<string, string>();
  for (const [a, b, c] of fc.sample(fc.tuple(patternSet, patternSet, patternSet), numRuns)) {
    for (const [name, law] of Object.entries(LAWS)) {
      if (broken.has(name) || law(algebra, a, b, c)) continue;
      broken.set(name, `${name}: (${text(a)}) (${text(b)}) (${text(c)})`);
    }
  }
  return [...broken.values()];
}
