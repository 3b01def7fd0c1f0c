/** Two processes with caches over one database, in every order of their steps. */
import { describe, it } from 'vitest';
import { interleavings } from '../support/interleavings.ts';

// The long run has ten times as many.
describe('two processes over one database', () => {
  it('see every end and every new key in time, in 200 interleavings', { timeout: 60_000 }, () =>
    interleavings(200),
  );
});
