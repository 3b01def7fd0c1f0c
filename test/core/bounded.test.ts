import { expect, it } from 'vitest';
import { setBounded } from '../../src/core/bounded.js';

it('drops what was set longest ago', () => {
  const map = new Map<string, number>();
  setBounded(map, 'a', 1, 2);
  setBounded(map, 'b', 2, 2);
  setBounded(map, 'a', 3, 2);
  expect([...map]).toEqual([
    ['b', 2],
    ['a', 3],
  ]);
  setBounded(map, '', 4, 2);
  setBounded(map, 'c', 5, 2);
  expect([...map.keys()]).toEqual(['', 'c']);
});
