/** That the store contract notices a `mark` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_MARKS } from './wrong-stores/mark.ts';

describe('the store contract', () => {
  refusesEach(WRONG_MARKS);
});
