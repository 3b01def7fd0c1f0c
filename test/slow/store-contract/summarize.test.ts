/** That the store contract notices a `summarize` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_SUMMARIES } from './wrong-stores/summarize.ts';

describe('the store contract', () => {
  refusesEach(WRONG_SUMMARIES);
});
