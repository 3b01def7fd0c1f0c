/** That the store contract notices a record that is not what was inserted. */
import { describe } from 'vitest';
import { refusesEach } from './verdict.ts';
import { WRONG_FIELDS } from './wrong-stores/fields.ts';

describe('the store contract', () => {
  refusesEach(WRONG_FIELDS);
});
