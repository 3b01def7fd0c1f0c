/**
 * That the store contract notices a `list` that mixes prefixes, or breaks a promise about what
 * addresses an entity.
 */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_ADDRESSINGS } from './wrong-stores/addressing.ts';

describe('the store contract', () => {
  refusesEach(WRONG_ADDRESSINGS);
});
