/** The store contract fails a `summarize` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_SUMMARIES } from './wrong-stores/summarize.ts';

describe('storeContract', () => {
  refusesEach(WRONG_SUMMARIES);
});
