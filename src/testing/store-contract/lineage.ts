/** Tests that `listLineage` returns all keys rotated from a root or issued under it. */
import { same } from '../assertions.js';
import { letteredUuid, type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { revokeAt } from './marks.js';
import { byDigest } from './order.js';

/**
 * Lists the lineage of a key that was rotated four times, across two prefixes and names, and under
 * which three keys were issued. The entity has other keys too. The listing must contain these eight
 * once each, in any state, and nothing else: no key that was rotated from one of them but has
 * another root, and no key that was issued under one of the three.
 *
 * Catches: listing only the root or only live keys, following `rotatedFrom`, omitting keys issued
 * under the root, and including keys issued under those.
 */
export async function listsLineage(fixture: StoreFixture): Promise<void> {
  const { store, add, record } = fixture;
  const root = await add({ keyId: letteredUuid(), revokedAt: TIME });
  const rootKeyId = root.keyId;
  const second = await add({ rootKeyId, rotatedFrom: rootKeyId, retireAt: 0 });
  const third = await add({ rootKeyId, rotatedFrom: second.keyId, suspendedAt: TIME });
  const fourth = await add({ rootKeyId, rotatedFrom: third.keyId, expiresAt: 0, name: 'other' });
  const fifth = await add({ rootKeyId, rotatedFrom: fourth.keyId, prefix: 'other' });
  const child = await add({ issuedUnder: rootKeyId, revokedAt: TIME });
  const next = { rootKeyId: child.keyId, rotatedFrom: child.keyId };
  const grown = await add({ ...next, issuedUnder: rootKeyId, prefix: 'other' });
  // Both rotated from the root and issued under it.
  const own = await add({ rootKeyId, rotatedFrom: second.keyId, issuedUnder: rootKeyId });
  const all = [root, second, third, fourth, fifth, child, grown, own];
  const grandchild = await add({ issuedUnder: child.keyId });
  await add();
  const stranger = await add({ rotatedFrom: rootKeyId });
  const list = async (id: string) => byDigest(await store.listLineage(id));
  same(await list(rootKeyId), byDigest(all), 'listLineage of a root');
  same(await list(stranger.keyId), [stranger], 'listLineage of a key that was never rotated');
  const family = byDigest([child, grown, grandchild]);
  same(await list(child.keyId), family, 'listLineage of a key issued under another');
  for (const id of [second.keyId, root.entityUuid, root.digest, uuid()]) {
    same(await store.listLineage(id), [], 'listLineage of an id that is not a root');
  }
  for (const odd of [...nearTexts(rootKeyId), ...oddValues(rootKeyId)]) {
    await misses(odd, () => store.listLineage(odd as string));
  }
  await store.mark(fifth.keyId, revokeAt(TIME));
  const sixth = record({ rootKeyId, rotatedFrom: fifth.keyId });
  await store.insert(sixth);
  const current = [...all, sixth].map(async ({ keyId }) => store.findById(keyId));
  const rows = (await Promise.all(current)).flatMap((row) => row ?? []);
  same(await list(rootKeyId), byDigest(rows), 'listLineage after a mark and an insert');
}

/**
 * Inserts keys of one lineage and lists it in parallel. Each listing must contain every key whose
 * insert was acknowledged before, because revoking a lineage stops once a listing has no live key.
 *
 * Catches: answering from a stale copy.
 */
export async function listsLineageWhileItGrows(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  const root = await add();
  const rootKeyId = root.keyId;
  const known = [root];
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      known.push(await add({ rootKeyId }));
      const expected = known.map(({ keyId }) => keyId);
      const listed = new Set((await store.listLineage(rootKeyId)).map(({ keyId }) => keyId));
      const missing = expected.filter((keyId) => !listed.has(keyId));
      same(missing, [], 'acknowledged keys missing from listLineage');
    }),
  );
}
