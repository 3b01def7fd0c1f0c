/**
 * Calls without arguments that the types require: the stores of the package accept more than the
 * contract asks.
 */
import type { KeyStore } from 'keyscope';
import { expect } from 'vitest';
import { RECORD } from './records.ts';

/**
 * Checks that a listing without a position starts like one with `null`, which finds something. Also
 * checks that the length of `summarize` shows that it takes a time: otherwise the contract would
 * ask less of the store.
 */
export async function expectLooseCalls(store: KeyStore, entityId: string): Promise<void> {
  const { prefix } = RECORD;
  const rows = await store.list({ prefix, entityId, after: null, limit: 10 });
  expect(rows).not.toEqual([]);
  const list = store.list as (query: object) => ReturnType<KeyStore['list']>;
  // Without `after`, two stores out of six used to throw a `TypeError`.
  expect(await list({ prefix, entityId, limit: 10 })).toEqual(rows);
  expect(await list({ prefix, entityId, after: undefined, limit: 10 })).toEqual(rows);
  expect(store.summarize).toHaveLength(1);
}
