/** That the adapter contract notices an entity or an operation that was not checked. */
import { describe } from 'vitest';
import { noticesEach } from './verdict.ts';
import { WRONG_ENTITIES } from './wrong-adapters/entities.ts';

describe('the contract of adapters', () => {
  noticesEach(WRONG_ENTITIES);
});
