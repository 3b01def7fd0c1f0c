/** The store contract fails a listing over all entities that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_REPORTS } from './wrong-stores/all-entities.ts';

describe('storeContract', () => {
  refusesEach(WRONG_REPORTS);
});
