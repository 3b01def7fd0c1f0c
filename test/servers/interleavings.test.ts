/** The cache's promise over many interleavings of two processes. The unit tests run fewer. */
import { it } from 'vitest';
import { interleavings } from '../support/interleavings.ts';

it('sees every end and every new key in time, in 10,000 interleavings', { timeout: 300_000 }, () =>
  interleavings(10_000),
);
