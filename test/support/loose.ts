/**
 * What callers leave out, though the types ask for it: the stores of the package take more than the
 * contract wants.
 */
import type { KeyStore } from 'keyscope';
import { expect } from 'vitest';
import { RECORD } from './records.ts';

/**
 * Checks that a listing without a position begins where one with `null` does, which finds
 * something; and that `summarize` says by its length that it takes a time, for without it the
 * contract would ask less of the store.
 */
export async function expectLooseCalls(store: KeyStore, entityUuid: string): Promise<void> {
  const { prefix } = RECORD;
  const rows = await store.list({ prefix, entityUuid, after: null, limit: 10 });
  expect(rows).not.toEqual([]);
  const list = store.list as (query: object) => ReturnType<KeyStore['list']>;
  // `after` left out was a `TypeError` of two stores out of six.
  expect(await list({ prefix, entityUuid, limit: 10 })).toEqual(rows);
  expect(await list({ prefix, entityUuid, after: undefined, limit: 10 })).toEqual(rows);
  expect(store.summarize).toHaveLength(1);
}
