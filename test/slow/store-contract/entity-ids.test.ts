/** The store contract fails a store that confuses ids of entities. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_ENTITY_IDS } from './wrong-stores/entity-ids.ts';

describe('storeContract', () => {
  refusesEach(WRONG_ENTITY_IDS);
});
