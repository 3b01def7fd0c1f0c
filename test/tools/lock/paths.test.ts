/** Which guards cover which routes, by their paths alone. */
import { expect, test } from 'vitest';
import {
  covers,
  expressSegments,
  type Front,
  honoSegments,
  isOpen,
} from '../../../src/tools/lock/paths.js';

interface Given {
  readonly isPrefix?: boolean;
  readonly isSensitive?: boolean;
  readonly isStrict?: boolean;
}

function frontOf(path: string | RegExp, given: Given = {}): Front {
  const { isPrefix = false, isSensitive = false, isStrict = false } = given;
  const segments = expressSegments(path, { isSensitive, isStrict });
  return { operation: 'one', method: 'ALL', segments, isPrefix };
}

const read = { isSensitive: false, isStrict: false };

function coversIn(front: Front, path: string | RegExp, reading: typeof read = read): boolean {
  return covers(front, { method: 'GET', segments: expressSegments(path, reading) });
}

test.each([
  ['/', ['/', '/a', /a/, '/{a}'], []],
  [
    '/a',
    ['/a', '/a/', '/A', '/a/b', '/a/*r', '/a/{b}'],
    ['/', '/:p', '/ab', '/a{/b}', '/a.b', /a/],
  ],
  ['/:p', ['/a', '/:q', '/a/b', '/:p/*r'], ['/', '/*r', '/{*t}', '/a:p', '/{a}']],
  ['/a/*r', ['/a/b', '/a/b/c', '/a/*s'], ['/a', '/a/', '/a/{*t}', '/a/{b}']],
  ['/a/{*t}', ['/a/b', '/a/*s', '/a/{*s}', '/a/{b}'], ['/a', '/b/c']],
  ['/{*t}', ['/', '/a', /a/, '/{a}'], []],
  ['/a{/b}', ['/a{/b}', '/a{/b}/c'], ['/a', '/a/b', '/A{/b}']],
  ['/*r/b', ['/*r/b'], ['/a/b', '/*s/b']],
  ['/ä', ['/ä'], ['/Ä']],
])('what begins with %s', (path, covered, others) => {
  const front = frontOf(path, { isPrefix: true });
  expect(covered.filter((each) => !coversIn(front, each))).toEqual([]);
  expect(others.filter((each) => coversIn(front, each))).toEqual([]);
});

test('a path alone, with its slash and capitals where they count', () => {
  expect(coversIn(frontOf('/a'), '/a')).toBe(true);
  expect(coversIn(frontOf('/a'), '/a/b')).toBe(false);
  const strict = { ...read, isStrict: true };
  expect(coversIn(frontOf('/a/', strict), '/a', strict)).toBe(false);
  expect(coversIn(frontOf('/a/', strict), '/a/', strict)).toBe(true);
  const sensitive = { ...read, isSensitive: true };
  expect(coversIn(frontOf('/a', sensitive), '/a')).toBe(false);
  expect(coversIn(frontOf('/a', sensitive), '/A', sensitive)).toBe(false);
  expect(coversIn(frontOf('/a', sensitive), '/a', sensitive)).toBe(true);
  expect(coversIn(frontOf('/A'), '/a', sensitive)).toBe(true);
  expect(coversIn(frontOf('/:p', sensitive), '/a')).toBe(true);
});

test('expressions and what does not begin with a slash, by their text', () => {
  expect(coversIn(frontOf(/a/), /a/)).toBe(true);
  expect(coversIn(frontOf(/a/), /b/)).toBe(false);
  expect(coversIn(frontOf('a'), 'a')).toBe(true);
  expect(coversIn(frontOf('a'), '/a')).toBe(false);
});

test('one method, or all', () => {
  const target = { method: 'GET', segments: [] };
  expect(covers({ ...frontOf('/'), method: 'GET' }, target)).toBe(true);
  expect(covers({ ...frontOf('/'), method: 'POST' }, target)).toBe(false);
  expect(covers({ ...frontOf('/'), method: 'GET' }, { ...target, method: 'ALL' })).toBe(false);
});

test('the paths of Hono', () => {
  const holds = (front: string, path: string) =>
    covers(
      { operation: 'one', method: 'ALL', segments: honoSegments(front), isPrefix: false },
      { method: 'GET', segments: honoSegments(path) },
    );
  const covered = [
    ['/a/*', '/a'],
    ['/a/*', '/a/b/c'],
    ['/*', '/'],
    ['/a/:p', '/a/b'],
  ] as const;
  expect(covered.filter(([front, path]) => !holds(front, path))).toEqual([]);
  const others = [
    ['/a', '/A'],
    ['/a/:p', '/a/:p?'],
    ['/a/:p', '/a/*'],
    ['/a', '/a/'],
  ] as const;
  expect(others.filter(([front, path]) => holds(front, path))).toEqual([]);
});

test('what covers all that follows', () => {
  const open = [frontOf('/a', { isPrefix: true }), frontOf('/*r'), frontOf('/{*t}')];
  expect(open.every(isOpen)).toBe(true);
  expect([frontOf('/'), frontOf('/a'), frontOf('/:p')].some(isOpen)).toBe(false);
});
