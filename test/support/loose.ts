/**
 * Calls that omit what the types require: the package's stores accept more than the contract
 * demands.
 */
import type { KeyStore } from 'keyscope';
import { expect } from 'vitest';
import { RECORD } from './records.ts';

/**
 * Asserts that a list query without a position starts where one with `null` does and finds
 * something. Also asserts that `summarize` declares its time parameter: a shorter signature would
 * make the contract weaker for other stores.
 */
export async function expectLooseCalls(store: KeyStore, entityUuid: string): Promise<void> {
  const { prefix } = RECORD;
  const rows = await store.list({ prefix, entityUuid, after: null, limit: 10 });
  expect(rows).not.toEqual([]);
  const list = store.list as (query: object) => ReturnType<KeyStore['list']>;
  // Omitting `after` used to be a `TypeError` in two of six stores.
  expect(await list({ prefix, entityUuid, limit: 10 })).toEqual(rows);
  expect(await list({ prefix, entityUuid, after: undefined, limit: 10 })).toEqual(rows);
  expect(store.summarize).toHaveLength(1);
}
