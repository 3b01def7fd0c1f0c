/** The adapter contract fails an adapter that does not check the entity or the operation. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_ENTITIES } from './wrong-adapters/entities.ts';

describe('adapterContract', () => {
  noticesEach(WRONG_ENTITIES);
});
