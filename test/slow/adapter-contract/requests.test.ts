/** The adapter contract fails an adapter that mixes up requests. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_REQUESTS } from './wrong-adapters/requests.ts';

describe('adapterContract', () => {
  noticesEach(WRONG_REQUESTS);
});
