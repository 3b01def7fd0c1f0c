/** The store contract fails a `touch` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_TOUCHES } from './wrong-stores/touch.ts';

describe('storeContract', () => {
  refusesEach(WRONG_TOUCHES);
});
