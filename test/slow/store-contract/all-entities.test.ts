/** That the store contract notices a listing over all entities that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_REPORTS } from './wrong-stores/all-entities.ts';

describe('the store contract', () => {
  refusesEach(WRONG_REPORTS);
});
