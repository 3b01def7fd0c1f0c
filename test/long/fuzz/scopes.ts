/**
 * Fuzzes lists of scopes and their algebra. Compares the result with a second implementation,
 * written differently and without regard to speed.
 */
import assert from 'node:assert/strict';
import * as keyscope from 'keyscope';
import { KEY } from './alphabet.ts';
import type { Target } from './judge.ts';
import { requireData, requireRefusal, timed } from './judge.ts';
import { inputsOf } from './vector-inputs.ts';

const {
  coversScopes,
  equalScopes,
  formatScopes,
  intersectScopes,
  normalizeScopes,
  parseScopes,
  unionScopes,
} = timed(keyscope);

function isName(side: string): boolean {
  return /^[a-z]/.test(side) && side.length <= 64 && !/[^a-z0-9_-]/.test(side);
}

export function isPattern(it: unknown): boolean {
  const sides = typeof it === 'string' ? it.split(':') : [];
  return sides.length === 2 && sides.every((side) => side === '*' || isName(side));
}

export function isWider(granted: string, required: string): boolean {
  const others = required.split(':');
  return granted.split(':').every((side, index) => side === '*' || side === others[index]);
}

/** The list that `parseScopes` should read from `input`, or null. */
function listIn(input: unknown): readonly string[] | null {
  const list: unknown = typeof input === 'string' ? wordsOf(input) : input;
  if (!Array.isArray(list) || list.length > 256) return null;
  // Here a hole in a list counts as an element.
  return Array.from(list).every(isPattern) ? (list as string[]) : null;
}

function wordsOf(text: string): readonly string[] | null {
  if (text.length > 4096) return null;
  return text === '' ? [] : text.split(' ');
}

/** The list without elements that another covers, sorted. */
function leastOf(set: readonly string[]): readonly string[] {
  const all = [...new Set(set)];
  const wild = all.filter((one) => one.includes('*'));
  const isCovered = (one: string) => wild.some((other) => other !== one && isWider(other, one));
  return all.filter((one) => !isCovered(one)).sort();
}

/** The intersection of two patterns, if any: wherever one has `*`, the other's name. */
function meet(one: string, other: string): readonly string[] {
  const others = other.split(':');
  const sides = one.split(':').map((side, index) => (side === '*' ? others[index] : side));
  const common = sides.join(':');
  return isWider(one, common) && isWider(other, common) ? [common] : [];
}

/** The intersection of two lists. */
function meetOf(a: readonly string[], b: readonly string[]): readonly string[] {
  return leastOf(a.flatMap((one) => b.flatMap((other) => meet(one, other))));
}

/** Checks the algebra on two lists. */
function checkAlgebra(a: readonly string[], b: readonly string[]): void {
  assert.deepEqual(normalizeScopes(a), leastOf(a));
  assert.deepEqual(normalizeScopes(b), leastOf(b));
  assert.deepEqual(unionScopes(a, b), leastOf([...a, ...b]));
  // If the second implementation would take too long, only checks that order does not matter.
  const isLong = a.length * b.length > 2000;
  assert.deepEqual(intersectScopes(a, b), isLong ? intersectScopes(b, a) : meetOf(a, b));
  const isCovered = (one: string) => a.some((other) => isWider(other, one));
  assert.equal(coversScopes(a, b), b.every(isCovered));
  assert.equal(equalScopes(a, b), leastOf(a).join() === leastOf(b).join());
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
    const given = Array.isArray(input) ? (input as readonly unknown[]) : [input, input];
    const first = given[0] as string;
    const a = listIn(first);
    const b = listIn(given[1]);
    if (a === null) return requireRefusal(() => parseScopes(first), input);
    const parsed = parseScopes(first);
    assert.deepEqual(parsed, leastOf(a));
    requireData(parsed);
    if (parsed.join(' ').length <= 4096) assert.deepEqual(parseScopes(formatScopes(a)), parsed);
    if (b !== null) checkAlgebra(a, b);
  },
};
