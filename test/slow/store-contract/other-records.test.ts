/** The store contract fails a write that undoes another one. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_WRITES_BACK } from './wrong-stores/write-back.ts';

describe('storeContract', () => {
  refusesEach(WRONG_WRITES_BACK);
});
