/** The mark of a guard. */
import { expect, test } from 'vitest';
import { operationOf, operationsBeforeHandler } from '../../../src/tools/lock/guards.js';

const MARK = Symbol.for('keyscope.operation');

const marked = (operation: unknown): object => Object.assign(() => {}, { [MARK]: operation });

test('reads the mark of functions and objects, where it is a text of their own', () => {
  expect(operationOf(marked('one'))).toBe('one');
  expect(operationOf({ [MARK]: 'one' })).toBe('one');
  const others = [marked(''), marked(1), Object.create(marked('one')), () => {}, {}, null, 'one'];
  expect(others.map(operationOf)).toEqual(others.map(() => undefined));
});

test.each([
  [[marked('one'), (_a: 1, _b: 2) => {}], ['one']],
  [[marked('one')], null],
  [[], null],
  // Whoever has no parameters may be a wrapper, which passes its arguments on.
  [[(..._rest: unknown[]) => {}, marked('one'), (_a: 1) => {}], ['one']],
  [[(_a: 1) => {}, marked('one'), (_a: 1) => {}], []],
  [[(_a: 1, _b: 2, _next: 3) => {}, marked('one'), (_a: 1) => {}], ['one']],
  [[(_a: 1) => {}, marked('one')], []],
])('finds the guards in front of the handler: %#', (chain, operations) => {
  expect(operationsBeforeHandler(chain, 3)).toEqual(operations);
});
