/**
 * Tests that a store shares no object with its callers: it copies what it gets and what it gives.
 */
import type { KeyRecord } from '../../core/record.js';
import { same } from '../assertions.js';
import { type StoreFixture, TIME, uuid } from './fixture.js';

/**
 * Calls every method that takes an object, and looks at the objects afterwards: they must be as
 * they were. Then it changes whatever can be changed in them, and what is stored must not change
 * with it.
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
  vandalize(made);
  for (const { scopesUsed } of entries) {
    Object.assign(scopesUsed, { 'a:b': 9 });
  }
  await holds(ended, 'after the objects that were given are changed');
}

/**
 * Changes whatever can be changed in what the look-ups and the listing returned. The next answer
 * must be as if nothing had happened.
 *
 * Catches: a store that hands out its own rows.
 */
export async function handsOutCopies(fixture: StoreFixture): Promise<void> {
  const { store, add, holds, list } = fixture;
  const made = await add({ metadata: { a: 'b' }, scopesUsed: { 'a:b': 1 } });
  const found = await store.findById(made.keyId);
  const foundByDigest = await store.findByDigest([made.digest]);
  for (const answer of [found, ...foundByDigest, ...(await list())]) {
    if (answer !== null) vandalize(answer);
  }
  await holds(made, 'after the objects that were returned are changed');
}

/** Changes whatever can be changed; frozen parts refuse, which is just as good. */
function vandalize(record: KeyRecord): void {
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
