/** The adapter contract fails an adapter that mishandles failures. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_FAILURES } from './wrong-adapters/failures.ts';

describe('adapterContract', () => {
  noticesEach(WRONG_FAILURES);
});
