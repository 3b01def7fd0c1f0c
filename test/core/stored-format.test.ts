/** What is stored of a key is never read differently, by any later version: vectors. */
import { createKeyring, type KeyRecord } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import { catalog } from '../support/keyring.ts';
import {
  failures,
  type PepperVector,
  pepperOf,
  readVectors,
  type Vector,
} from '../support/vectors.ts';

type StoredVector = Vector & {
  readonly key: string;
  readonly pepper: PepperVector | null;
  readonly record: KeyRecord;
};

describe('a record that was stored long ago', () => {
  const { tests } = readVectors<{ tests: readonly StoredVector[] }>('records');
  const now = () => Date.parse('2026-06-01');

  // In every other test a seal is checked by what wrote it: a change of its encoding would show
  // nowhere else, and would end every key in use.
  it('verifies for as long as keyscope exists', async () => {
    const failed = await failures(tests, async ({ key, pepper, record }) => {
      const prefix = key.slice(0, -33);
      const store = memoryStore();
      await store.insert(record);
      const peppers = pepper === null ? 'none' : [pepperOf(pepper)];
      const principal = await createKeyring({ prefix, catalog, store, peppers, now }).verify(key);
      expect(principal).toMatchObject({ keyId: record.keyId, scopes: record.scopes });
      expect(principal.accessibleEntities).toEqual(record.accessibleEntities);
    });
    expect(failed).toEqual([]);
    expect(tests.length).toBeGreaterThan(15);
  });
});
