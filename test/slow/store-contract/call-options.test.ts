/** That the store contract notices a store that makes too much of a last argument. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_OPTIONS } from './wrong-stores/call-options.ts';

describe('the store contract', () => {
  refusesEach(WRONG_OPTIONS);
});
