/** That the adapter contract notices a failure that is taken for something else. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_FAILURES } from './wrong-adapters/failures.ts';

describe('the contract of adapters', () => {
  noticesEach(WRONG_FAILURES);
});
