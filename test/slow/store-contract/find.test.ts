/** The store contract fails a look-up that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_LOOK_UPS } from './wrong-stores/find.ts';

describe('storeContract', () => {
  refusesEach(WRONG_LOOK_UPS);
});
