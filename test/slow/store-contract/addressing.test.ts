/**
 * The store contract fails a `list` that mixes prefixes, or breaks a promise about `addressing`.
 */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_ADDRESSINGS } from './wrong-stores/addressing.ts';

describe('storeContract', () => {
  refusesEach(WRONG_ADDRESSINGS);
});
