/** The store contract fails a `mark` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_MARKS } from './wrong-stores/mark.ts';

describe('storeContract', () => {
  refusesEach(WRONG_MARKS);
});
