/** The store contract fails a `list` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_LISTS } from './wrong-stores/list.ts';

describe('storeContract', () => {
  refusesEach(WRONG_LISTS);
});
