import { inspect } from 'node:util';
import { StoreError } from 'keyscope';
import { expect, it } from 'vitest';

it('shows no driver text of a StoreError that nobody caught, which Node prints with customInspect false', () => {
  const error = new StoreError('store.x failed', new Error('row quoted'));
  expect(inspect(error, { customInspect: false, depth: 5 })).not.toContain('row quoted');
});

it('shows no driver text where inspection calls getters', () => {
  const error = new StoreError('store.x failed', new Error('row quoted'));
  expect(inspect(error, { getters: true, showHidden: true })).not.toContain('row quoted');
});
