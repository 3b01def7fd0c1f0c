/** The adapter contract fails an adapter that finds invalid options too late. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_SET_UPS } from './wrong-adapters/set-up.ts';

describe('adapterContract', () => {
  noticesEach(WRONG_SET_UPS);
});
