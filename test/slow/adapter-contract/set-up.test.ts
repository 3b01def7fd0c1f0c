/** That the adapter contract notices what is found out too late. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_SET_UPS } from './wrong-adapters/set-up.ts';

describe('the contract of adapters', () => {
  noticesEach(WRONG_SET_UPS);
});
