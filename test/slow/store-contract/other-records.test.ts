/** That the store contract notices a write that undoes another one. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_WRITES_BACK } from './wrong-stores/write-back.ts';

describe('the store contract', () => {
  refusesEach(WRONG_WRITES_BACK);
});
