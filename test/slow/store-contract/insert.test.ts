/** That the store contract notices an `insert` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_INSERTS } from './wrong-stores/insert.ts';

describe('the store contract', () => {
  refusesEach(WRONG_INSERTS);
});
