/** The adapter contract fails an adapter with wrong answers. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_ANSWERS } from './wrong-adapters/answers.ts';

describe('adapterContract', () => {
  noticesEach(WRONG_ANSWERS);
});
