/** The store contract fails a `listLineage` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_LINEAGES } from './wrong-stores/lineage.ts';

describe('storeContract', () => {
  refusesEach(WRONG_LINEAGES);
});
