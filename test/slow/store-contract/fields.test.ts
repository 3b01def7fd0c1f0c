/** The store contract fails a record that differs from the inserted one. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_FIELDS } from './wrong-stores/fields.ts';

describe('storeContract', () => {
  refusesEach(WRONG_FIELDS);
});
