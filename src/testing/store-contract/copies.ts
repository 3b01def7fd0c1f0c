/**
 * Tests that a store copies its arguments and its answers, so that it shares no object with
 * callers.
 */
import type { KeyRecord } from '../../core/record.js';
import type { RetireMark } from '../../core/store.js';
import { same } from '../assertions.js';
import { LAST, type StoreFixture, TIME, uuid } from './fixture.js';
import { after } from './marks.js';

/**
 * Calls every method that takes an object. The store must not change these objects. Then the test
 * changes them, and the stored record must stay the same.
 *
 * Catches: keeping or changing the caller's object.
 */
export async function copiesWhatItIsGiven(fixture: StoreFixture): Promise<void> {
  const { store, prefix, entityId, record, holds } = fixture;
  const guest = uuid();
  const made = record({
    metadata: { a: 'b' },
    scopesUsed: { 'a:b': 1 },
    accessibleEntities: [entityId, guest],
    withdrawn: [guest],
  });
  const { keyId, digest } = made;
  const digests = [digest];
  const query = { prefix, entityId, addressing: false, after: null, limit: 10 };
  const lineage = { rootKeyId: made.rootKeyId, after: null, limit: 10 };
  const entries = [{ keyId, lastUsedAt: 5, scopesUsed: { 'a:b': 5 } }];
  const withdrawn = [guest];
  const mark: RetireMark = {
    kind: 'retire',
    at: TIME,
    retireAt: TIME,
    by: null,
    reason: 'rotated',
    withdrawn,
  };
  const given = [made, digests, query, lineage, entries, mark];
  const expected = structuredClone(given);
  await store.insert(made);
  await store.findByDigest(digests);
  await store.list(query);
  await store.listLineage(lineage);
  await store.touch(entries);
  await store.mark(keyId, mark);
  same(given, expected, 'the arguments, after the calls');
  const used = { lastUsedAt: 5, scopesUsed: { 'a:b': 5 } };
  const ended = { ...after(structuredClone(made), structuredClone(mark)), ...used };
  changeEverything(made);
  withdrawn.push(uuid());
  for (const { scopesUsed } of entries) {
    Object.assign(scopesUsed, { 'a:b': 9 });
  }
  await holds(ended, 'after changing the arguments of earlier calls');
}

/**
 * Changes the records that look-ups and listings returned. The next answer must be unaffected.
 *
 * Catches: returning the store's own rows.
 */
export async function handsOutCopies(fixture: StoreFixture): Promise<void> {
  const { store, entityId, add, holds, list, lineage } = fixture;
  const guest = uuid();
  const made = await add({
    metadata: { a: 'b' },
    scopesUsed: { 'a:b': 1 },
    accessibleEntities: [entityId, guest],
    expiresAt: -LAST,
  });
  const expiring = await store.listExpiring?.({ before: 1 - LAST, after: null, limit: 1000 });
  const all = await store.listAll?.({ after: null, limit: 1000 });
  const answers = [
    await store.findById(made.keyId),
    ...(await store.findByDigest([made.digest])),
    ...(await list()),
    ...(await list({ entityId: guest, addressing: true })),
    ...(await lineage(made.rootKeyId)),
    ...(expiring?.items ?? []),
    ...(all?.items ?? []),
  ];
  for (const answer of answers) {
    if (answer?.keyId === made.keyId) changeEverything(answer);
  }
  await holds(made, 'after changing the answers of earlier calls');
}

/** Changes everything in the record, except frozen parts. */
function changeEverything(record: KeyRecord): void {
  const changes: readonly (() => unknown)[] = [
    () => (record.scopes as string[]).push('users:delete'),
    () => (record.accessibleEntities as string[]).splice(0, 1, uuid()),
    () => (record.withdrawn as string[]).splice(0, 1, uuid()),
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
