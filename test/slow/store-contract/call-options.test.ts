/** The store contract fails a store that mishandles options. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_OPTIONS } from './wrong-stores/call-options.ts';

describe('storeContract', () => {
  refusesEach(WRONG_OPTIONS);
});
