/** Tests that `insert` is atomic and rejects duplicate key ids and digests, also in parallel. */
import type { KeyRecord } from '../../core/record.js';
import { check, same } from '../assertions.js';
import { parallel, succeeds } from './calls.js';
import { LAST, type StoreFixture, TIME, uuid } from './fixture.js';

/**
 * Inserts a second record under an existing key id. The call must throw and keep the first record.
 * Neither look-ups nor listings may find the second record, and its digest must remain free.
 *
 * Catches: an upsert, silently ignoring a duplicate key id, a half-written record, and reserving
 * the rejected digest.
 */
export async function refusesSecondKeyId(fixture: StoreFixture): Promise<void> {
  const { store, record, add, holds } = fixture;
  const first = await add();
  const second = refusable(record, { keyId: first.keyId });
  const { digest } = second;
  check(!(await succeeds(() => store.insert(second))), 'insert must throw on a duplicate key id');
  await holds(first, 'the first record, after an insert with its key id');
  same(await store.findByDigest([digest]), [], 'findByDigest with the digest of a rejected record');
  await isNotListed(fixture, second);
  const again = { ...second, keyId: uuid() };
  await store.insert(again);
  await holds(again, 'the rejected digest, inserted again under a free key id');
}

/**
 * Inserts a second record with an existing digest, then a record that is already stored. Both calls
 * must throw and store nothing, although the first record is revoked. The rejected key id must
 * remain free.
 *
 * Catches: a digest without a unique index, an insert that writes and then throws, and reserving
 * the rejected key id.
 */
export async function refusesSecondDigest(fixture: StoreFixture): Promise<void> {
  const { store, record, add, holds, list } = fixture;
  const first = await add({ revokedAt: TIME });
  const second = refusable(record, { digest: first.digest });
  const known = { ...first, revokedAt: null };
  check(!(await succeeds(() => store.insert(second))), 'insert must throw on a duplicate digest');
  check(!(await succeeds(() => store.insert(known))), 'insert must throw on a stored record');
  await holds(first, 'the first record, after an insert with its digest');
  same(await store.findById(second.keyId), null, 'findById with the key id of a rejected record');
  await isNotListed(fixture, second);
  same(await list(), [first], 'list, after rejected inserts');
  const again = { ...second, digest: record().digest };
  await store.insert(again);
  await holds(again, 'the rejected key id, inserted again with a free digest');
}

/** A record for a rejected insert. If stored, it would be alone in its listings. */
function refusable(record: StoreFixture['record'], given: Partial<KeyRecord>): KeyRecord {
  const owner = uuid();
  return record({
    name: `refused ${owner}`,
    entityId: owner,
    accessibleEntities: [owner, uuid()],
    scopes: ['users:delete'],
    rootKeyId: uuid(),
    expiresAt: -LAST,
    changedAt: LAST,
    ...given,
  });
}

/** Fails if any listing contains the rejected record. */
async function isNotListed(
  { store, list, lineage }: StoreFixture,
  refused: KeyRecord,
): Promise<void> {
  const { name, accessibleEntities, rootKeyId } = refused;
  for (const entityId of accessibleEntities) {
    same(await list({ entityId }), [], 'list, for the owner of a rejected record');
    const addressing = await list({ entityId, addressing: true });
    same(addressing, [], 'list with addressing, for an entity of a rejected record');
  }
  same(await lineage(rootKeyId), [], 'listLineage, for a rejected record');
  const expiring = await store.listExpiring?.({ before: 1 - LAST, after: null, limit: 1000 });
  const names = (expiring?.items ?? []).map((row) => row.name);
  same(names.includes(name), false, 'whether listExpiring contains a rejected record');
}

/**
 * Inserts 20 records with the same digest at once, then 20 with the same key id. Exactly one call
 * of each 20 may succeed, and the store may contain only its record.
 *
 * Catches: checking before the write instead of using a constraint.
 */
export async function insertsOnce(fixture: StoreFixture): Promise<void> {
  await insertsOneOfTwenty(fixture, 'digest');
  await insertsOneOfTwenty(fixture, 'keyId');
}

/** Inserts 20 records at once with the same digest or the same key id. */
async function insertsOneOfTwenty(fixture: StoreFixture, field: 'digest' | 'keyId'): Promise<void> {
  const { store, record, list } = fixture;
  const shared = record();
  const rivals = Array.from({ length: 20 }, (_, index) =>
    record({ [field]: shared[field], name: `rival ${index}` }),
  );
  const wrote = await Promise.all(rivals.map((rival) => succeeds(() => store.insert(rival))));
  const succeeded = wrote.filter(Boolean).length;
  same(succeeded, 1, `how many of 20 parallel inserts with the same ${field} succeed`);
  const winner = rivals[wrote.indexOf(true)] ?? shared;
  same(await store.findById(winner.keyId), winner, 'findById, after parallel inserts');
  for (const rival of rivals) {
    const expected = rival.digest === winner.digest ? [winner] : [];
    const found = await store.findByDigest([rival.digest]);
    same(found, expected, 'findByDigest, after parallel inserts');
  }
  const listed = (await list()).filter((row) => row[field] === shared[field]);
  same(listed, [winner], 'list, after parallel inserts');
}

/**
 * Inserts 20 unrelated records at once. The store must keep all of them.
 *
 * Catches: writes that overwrite each other, for example in one document for all keys.
 */
export async function insertsInParallel(fixture: StoreFixture): Promise<void> {
  const { add, holds } = fixture;
  const records = await parallel(20, (index) =>
    add({ createdAt: TIME + index, name: `key ${index}` }),
  );
  for (const made of records) {
    await holds(made, 'after 20 parallel inserts of different keys');
  }
}
