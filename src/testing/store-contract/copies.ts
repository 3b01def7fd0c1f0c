/**
 * Tests that a store shares no object with its callers: it copies what it gets and what it returns.
 */
import type { KeyRecord } from '../../core/record.js';
import { same } from '../assertions.js';
import { type StoreFixture, TIME, uuid } from './fixture.js';

/**
 * Calls every method that takes an object. Afterwards, the objects must be unchanged. Then changes
 * everything in them that can be changed, and what is stored must not change.
 *
 * Catches: a store that keeps the caller's object, or changes it.
 */
export async function copiesWhatItIsGiven(fixture: StoreFixture): Promise<void> {
  const { store, entityUuid, record, holds } = fixture;
  const made = record({ metadata: { a: 'b' }, scopesUsed: { 'a:b': 1 } });
  const { keyId, digest } = made;
  const digests = [digest];
  const query = { entityUuid, after: null, limit: 10 };
  const entries = [{ keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }];
  const ending = { revokedAt: TIME };
  const given = [made, digests, query, entries, ending];
  const expected = structuredClone(given);
  await store.insert(made);
  await store.findByDigest(digests);
  await store.list(query);
  await store.touch(entries);
  await store.markEnded(keyId, ending);
  same(given, expected, 'what the store was given, afterwards');
  const ended = { ...structuredClone(made), ...ending, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };
  changeEverything(made);
  for (const { scopesUsed } of entries) {
    Object.assign(scopesUsed, { 'a:b': 9 });
  }
  await holds(ended, 'after the objects that were given are changed');
}

/**
 * Changes everything that can be changed in the records that look-ups and the listing returned. The
 * next answer must be unaffected.
 *
 * Catches: a store that returns its own rows.
 */
export async function handsOutCopies(fixture: StoreFixture): Promise<void> {
  const { store, add, holds, list } = fixture;
  const made = await add({ metadata: { a: 'b' }, scopesUsed: { 'a:b': 1 } });
  const found = await store.findById(made.keyId);
  const foundByDigest = await store.findByDigest([made.digest]);
  for (const answer of [found, ...foundByDigest, ...(await list())]) {
    if (answer !== null) changeEverything(answer);
  }
  await holds(made, 'after the objects that were returned are changed');
}

/** Changes everything that can be changed. Frozen parts cannot, which is fine. */
function changeEverything(record: KeyRecord): void {
  const changes: readonly (() => unknown)[] = [
    () => (record.scopes as string[]).push('users:delete'),
    () => (record.accessibleEntities as string[]).splice(0, 1, uuid()),
    () => Object.assign(record.metadata, { a: 'changed', more: 'x' }),
    () => Object.assign(record.scopesUsed, { 'a:b': 2, 'c:d': 3 }),
    () => Object.assign(record, { revokedAt: 1, name: 'changed', scopes: [] }),
  ];
  for (const change of changes) {
    try {
      change();
    } catch {
      // Frozen.
    }
  }
}
