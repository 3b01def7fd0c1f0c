/** The store contract fails an `insert` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_INSERTS } from './wrong-stores/insert.ts';

describe('storeContract', () => {
  refusesEach(WRONG_INSERTS);
});
