import { expect, it } from 'vitest';
import { hasMethods } from '../../src/core/input.js';

class Inherited {
  query(): void {}
}

it.each([
  ['an own method', { query() {} }, true],
  ['an inherited method', new Inherited(), true],
  ['a function with a method', Object.assign(() => {}, { query() {} }), true],
  ['a field that is not a method', { query: 'SELECT 1' }, false],
  ['an object without the name', {}, false],
  ['null', null, false],
  ['undefined', undefined, false],
  ['a number', 1, false],
])('checks whether it can call the name: %s', (_, value, found) => {
  expect(hasMethods(value, 'query')).toBe(found);
});

it('requires all names', () => {
  const value = { query() {}, listen() {} };
  expect(hasMethods(value, 'query', 'listen')).toBe(true);
  expect(hasMethods(value, 'query', 'connect')).toBe(false);
});
