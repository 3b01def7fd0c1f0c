/** Tests that `insert` is atomic and refuses a key id or a digest that exists, also in parallel. */
import type { KeyRecord } from '../../core/record.js';
import { check, same } from '../assertions.js';
import { parallel, succeeds } from './calls.js';
import { LAST, type StoreFixture, TIME, uuid } from './fixture.js';

/**
 * Inserts a second record under a key id that exists. The call must throw, and the first record
 * must stay; the second one must not be found by its digest, nor in any listing. The refused
 * digest must still be free.
 *
 * Catches: an upsert, a second key id that is silently ignored, a half-written record, a digest
 * that is used up.
 */
export async function refusesSecondKeyId(fixture: StoreFixture): Promise<void> {
  const { store, record, add, holds } = fixture;
  const first = await add();
  const second = refusable(record, { keyId: first.keyId });
  const { digest } = second;
  check(!(await succeeds(() => store.insert(second))), 'insert must throw on a key id that exists');
  await holds(first, 'after a second insert of its key id');
  same(await store.findByDigest([digest]), [], 'the digest of the record that was refused');
  await isNotListed(fixture, second);
  const again = { ...second, keyId: uuid() };
  await store.insert(again);
  await holds(again, 'the digest that was refused, under a key id that is free');
}

/**
 * Inserts a second record with a digest that exists, and then a record that is already stored. Both
 * calls must throw, although the first record is revoked, and nothing of them may be stored. The
 * refused key id must still be free.
 *
 * Catches: a digest without a unique index, an insert that throws but has written, a key id that
 * is used up.
 */
export async function refusesSecondDigest(fixture: StoreFixture): Promise<void> {
  const { store, record, add, holds, list } = fixture;
  const first = await add({ revokedAt: TIME });
  const second = refusable(record, { digest: first.digest });
  const known = { ...first, revokedAt: null };
  check(!(await succeeds(() => store.insert(second))), 'insert must throw on a digest that exists');
  check(!(await succeeds(() => store.insert(known))), 'insert must throw on a known record');
  await holds(first, 'after a second insert of its digest');
  same(await store.findById(second.keyId), null, 'the key id of the record that was refused');
  await isNotListed(fixture, second);
  same(await list(), [first], 'list');
  const again = { ...second, digest: record().digest };
  await store.insert(again);
  await holds(again, 'the key id that was refused, with a digest that is free');
}

/** A record that is refused, which would stand in every listing by itself. */
function refusable(record: StoreFixture['record'], given: Partial<KeyRecord>): KeyRecord {
  const owner = uuid();
  return record({
    name: `refused ${owner}`,
    entityUuid: owner,
    accessibleEntities: [owner, uuid()],
    scopes: ['users:delete'],
    rootKeyId: uuid(),
    expiresAt: -LAST,
    changedAt: LAST,
    ...given,
  });
}

/** Fails if a listing has an entry of a record that was refused. */
async function isNotListed({ store, list }: StoreFixture, refused: KeyRecord): Promise<void> {
  const { name, accessibleEntities, rootKeyId } = refused;
  for (const entityUuid of accessibleEntities) {
    same(await list({ entityUuid }), [], 'the entities of the record that was refused');
    const addressing = await list({ entityUuid, addressing: true });
    same(addressing, [], 'the entities that the record that was refused addresses');
  }
  same(await store.listLineage(rootKeyId), [], 'the lineage of the record that was refused');
  const expiring = await store.listExpiring?.({ before: 1 - LAST, after: null, limit: 1000 });
  const names = (expiring?.items ?? []).map((row) => row.name);
  same(names.includes(name), false, 'listExpiring has the record that was refused');
}

/**
 * Inserts 20 records at once that have the same digest, and 20 more with the same key id. Exactly
 * one call of each 20 may succeed, and only its record may be found.
 *
 * Catches: a check before the write instead of a constraint.
 */
export async function insertsOnce(fixture: StoreFixture): Promise<void> {
  await insertsOneOfTwenty(fixture, 'digest');
  await insertsOneOfTwenty(fixture, 'keyId');
}

/** Inserts 20 records at once that have the same digest or the same key id. */
async function insertsOneOfTwenty(fixture: StoreFixture, field: 'digest' | 'keyId'): Promise<void> {
  const { store, record, list } = fixture;
  const shared = record();
  const rivals = Array.from({ length: 20 }, (_, index) =>
    record({ [field]: shared[field], name: `rival ${index}` }),
  );
  const wrote = await Promise.all(rivals.map((rival) => succeeds(() => store.insert(rival))));
  same(wrote.filter(Boolean).length, 1, `of 20 parallel inserts of one ${field} that succeed`);
  const winner = rivals[wrote.indexOf(true)] ?? shared;
  same(await store.findById(winner.keyId), winner, 'the record of the one that succeeded');
  for (const rival of rivals) {
    const expected = rival.digest === winner.digest ? [winner] : [];
    same(await store.findByDigest([rival.digest]), expected, 'the digests of those that failed');
  }
  const listed = (await list()).filter((row) => row[field] === shared[field]);
  same(listed, [winner], 'list');
}

/**
 * Inserts 20 unrelated records at once. All of them must be there afterwards.
 *
 * Catches: writes that overwrite each other, as with one document for all keys.
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
