/** That the adapter contract notices requests that are mixed up. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_REQUESTS } from './wrong-adapters/requests.ts';

describe('the contract of adapters', () => {
  noticesEach(WRONG_REQUESTS);
});
