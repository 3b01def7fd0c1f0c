/** That the store contract notices a look-up that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_LOOK_UPS } from './wrong-stores/find.ts';

describe('the store contract', () => {
  refusesEach(WRONG_LOOK_UPS);
});
