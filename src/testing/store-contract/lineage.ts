/** Tests of `listLineage`: every key that came of one, by rotations or on its authority. */
import { same } from '../assertions.js';
import { letteredUuid, type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { revokeAt } from './marks.js';
import { byDigest } from './order.js';

/**
 * Lists the lineage of a key that was rotated four times, by way of two prefixes and names, and on
 * whose authority three keys were made, next to others of the same entity. All eight must be there
 * in whatever state they are, each once, and nothing else: neither a key that was rotated from one
 * of them and has another root, nor one that was made on the authority of one of the three.
 *
 * Catches: a lineage of one key, or of live keys, or along `rotatedFrom`, or without what was
 * issued under it, or with what was issued under that.
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
  // A key that rotated one of its own.
  const own = await add({ rootKeyId, rotatedFrom: second.keyId, issuedUnder: rootKeyId });
  const all = [root, second, third, fourth, fifth, child, grown, own];
  const grandchild = await add({ issuedUnder: child.keyId });
  await add();
  const stranger = await add({ rotatedFrom: rootKeyId });
  const list = async (id: string) => byDigest(await store.listLineage(id));
  same(await list(rootKeyId), byDigest(all), 'the lineage of a root');
  same(await list(stranger.keyId), [stranger], 'the lineage of a key that was never rotated');
  same(await list(child.keyId), byDigest([child, grown, grandchild]), 'the lineage of a child');
  for (const id of [second.keyId, root.entityUuid, root.digest, uuid()]) {
    same(await store.listLineage(id), [], 'the lineage of what is no root');
  }
  for (const odd of [...nearTexts(rootKeyId), ...oddValues(rootKeyId)]) {
    await misses(odd, () => store.listLineage(odd as string));
  }
  await store.mark(fifth.keyId, revokeAt(TIME));
  const sixth = record({ rootKeyId, rotatedFrom: fifth.keyId });
  await store.insert(sixth);
  const current = [...all, sixth].map(async ({ keyId }) => store.findById(keyId));
  const rows = (await Promise.all(current)).flatMap((row) => row ?? []);
  same(await list(rootKeyId), byDigest(rows), 'the lineage after two writes');
}

/**
 * Inserts keys of one lineage and lists it, in parallel. Each listing must have every key whose
 * insert was acknowledged before: a revocation of the lineage stops once a listing has nothing
 * live.
 *
 * Catches: a lineage that is answered from a copy.
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
      same(missing, [], 'acknowledged keys that a lineage does not have');
    }),
  );
}
