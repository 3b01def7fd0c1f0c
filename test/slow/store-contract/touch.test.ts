/** That the store contract notices a `touch` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_TOUCHES } from './wrong-stores/touch.ts';

describe('the store contract', () => {
  refusesEach(WRONG_TOUCHES);
});
