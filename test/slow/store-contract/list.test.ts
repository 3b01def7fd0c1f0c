/** That the store contract notices a `list` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_LISTS } from './wrong-stores/list.ts';

describe('the store contract', () => {
  refusesEach(WRONG_LISTS);
});
