/** How guards are recognised, and which ones count. */
import { expect, test, vi } from 'vitest';
import {
  isProxy,
  operationOf,
  operationsAbove,
  readChain,
} from '../../../src/tools/lock/guards.js';

const MARK = Symbol.for('keyscope.operation');

const ALSO = Symbol.for('keyscope.also');

const marked = (operation: unknown, also?: unknown): object =>
  Object.assign(() => {}, { [MARK]: operation, [ALSO]: also });

test('reads the mark of functions and objects if it is an own, non-empty text', () => {
  expect(operationOf(marked('one'))).toBe('one');
  expect(operationOf({ [MARK]: 'one' })).toBe('one');
  const others = [marked(''), marked(1), Object.create(marked('one')), () => {}, {}, null, 'one'];
  expect(others.map(operationOf)).toEqual(others.map(() => undefined));
});

test('ignores the mark of a Proxy', () => {
  expect(operationOf(new Proxy(marked('one'), {}))).toBe(undefined);
});

test('recognises no Proxy if the runtime cannot tell', () => {
  expect(isProxy(new Proxy({}, {}))).toBe(true);
  vi.stubGlobal('process', undefined);
  const isTold = isProxy(new Proxy({}, {}));
  vi.unstubAllGlobals();
  expect(isTold).toBe(false);
});

const other = (): void => {};
const one = marked('one');
const two = marked('two');

test.each([
  [[one, other], ['one'], []],
  [[one, two, other], ['one', 'two'], []],
  [[one], ['one'], []],
  [[], [], []],
  [[other, one, other], [], ['one']],
  [[one, other, two], ['one'], ['two']],
])('counts a guard only if all functions before it are guards: %#', (chain, operations, behind) => {
  expect(readChain(chain)).toEqual({ operations, behind, also: [] });
  expect(readChain(chain, ['three'])).toEqual({
    operations,
    behind: ['three', ...behind],
    also: [],
  });
});

test('reads who else may call a route, of the guards that count', () => {
  const people = marked('one', 'people with a session');
  const jobs = marked('two', 'nightly jobs');
  expect(readChain([people, jobs, other]).also).toEqual(['people with a session', 'nightly jobs']);
  expect(readChain([one, other, jobs]).also).toEqual([]);
  expect(readChain([marked('one', ''), marked('two', 1)]).also).toEqual([]);
  expect(readChain([new Proxy(people, {})]).also).toEqual([]);
});

test.each([
  ['/', true, ['/', '/a', '/a/b', '/ab']],
  ['', true, ['/', '/a', '/a/b', '/ab']],
  ['/a', true, ['/a', '/a/b']],
  ['/a/', true, ['/a/b']],
  ['/a', false, ['/a']],
])('lists guards of %s as hints for paths below it (prefix: %s)', (path, isPrefix, below) => {
  for (const method of ['ALL', 'GET']) {
    const fronts = [{ operation: 'one', method, path, isPrefix }];
    const above = (each: string) => operationsAbove('GET', each, fronts).length > 0;
    expect(['/', '/a', '/a/b', '/ab'].filter(above)).toEqual(below);
    expect(operationsAbove('PUT', '/a/b', fronts).length).toBe(
      method === 'ALL' && above('/a/b') ? 1 : 0,
    );
  }
});
