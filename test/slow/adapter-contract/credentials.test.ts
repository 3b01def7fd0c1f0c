/** That the adapter contract notices a caller who is let in without a key in the right place. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_CREDENTIALS } from './wrong-adapters/credentials.ts';

describe('the contract of adapters', () => {
  noticesEach(WRONG_CREDENTIALS);
});
