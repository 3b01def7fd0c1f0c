/** The adapter contract fails an adapter that lets in callers without a key in the right place. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_CREDENTIALS } from './wrong-adapters/credentials.ts';

describe('adapterContract', () => {
  noticesEach(WRONG_CREDENTIALS);
});
