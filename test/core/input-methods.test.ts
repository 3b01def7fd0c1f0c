import { expect, it } from 'vitest';
import { hasMethods } from '../../src/core/input.js';

class Inherited {
  query(): void {}
}

it.each([
  ['a method of its own', { query() {} }, true],
  ['an inherited method', new Inherited(), true],
  ['a function with a method', Object.assign(() => {}, { query() {} }), true],
  ['a field that is no method', { query: 'SELECT 1' }, false],
  ['nothing of the name', {}, false],
  ['null', null, false],
  ['undefined', undefined, false],
  ['a number', 1, false],
])('finds what can be called: %s', (_, value, found) => {
  expect(hasMethods(value, 'query')).toBe(found);
});

it('wants all of them', () => {
  const value = { query() {}, listen() {} };
  expect(hasMethods(value, 'query', 'listen')).toBe(true);
  expect(hasMethods(value, 'query', 'connect')).toBe(false);
});
