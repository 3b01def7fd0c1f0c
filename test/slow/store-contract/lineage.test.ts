/** That the store contract notices a `listLineage` that breaks a promise. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_LINEAGES } from './wrong-stores/lineage.ts';

describe('the store contract', () => {
  refusesEach(WRONG_LINEAGES);
});
