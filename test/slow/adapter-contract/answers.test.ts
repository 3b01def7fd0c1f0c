/** That the adapter contract notices an answer that is not what it should be. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_ANSWERS } from './wrong-adapters/answers.ts';

describe('the contract of adapters', () => {
  noticesEach(WRONG_ANSWERS);
});
