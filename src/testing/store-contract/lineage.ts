/** Tests that `listLineage` returns all keys rotated from a root or issued under it. */
import { same } from '../assertions.js';
import { letteredUuid, type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { revokeAt } from './marks.js';
import { byKeyId } from './order.js';

/** The ids before and after all others. */
const FIRST_ID = '00000000-0000-4000-8000-000000000000';
const LAST_ID = 'ffffffff-ffff-4fff-bfff-ffffffffffff';

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
  const { store, add, record, lineage } = fixture;
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
  same(await lineage(rootKeyId), byKeyId(all), 'listLineage of a root');
  same(await lineage(stranger.keyId), [stranger], 'listLineage of a key that was never rotated');
  const family = byKeyId([child, grown, grandchild]);
  same(await lineage(child.keyId), family, 'listLineage of a key issued under another');
  for (const id of [second.keyId, root.entityId, root.digest, uuid()]) {
    same(await lineage(id), [], 'listLineage of an id that is not a root');
  }
  for (const odd of [...nearTexts(rootKeyId), ...oddValues(rootKeyId)]) {
    await misses(odd, () => lineage(odd as string));
  }
  await store.mark(fifth.keyId, revokeAt(TIME));
  const sixth = record({ rootKeyId, rotatedFrom: fifth.keyId });
  await store.insert(sixth);
  const current = [...all, sixth].map(async ({ keyId }) => store.findById(keyId));
  const rows = (await Promise.all(current)).flatMap((row) => row ?? []);
  same(await lineage(rootKeyId), byKeyId(rows), 'listLineage after a mark and an insert');
}

/**
 * Lists a lineage of ten keys in parts of every length. Three keys are rotations of the root, three
 * were issued under it, and three are both; keys of other lineages lie between them. Each part must
 * be the next keys by id. A part may also begin after an id that is not in the lineage.
 *
 * Catches: ignoring `after` or `limit`, an inclusive `after`, another order, a limit that applies
 * to the rotations and to the issued keys separately, and a part that is short because it contained
 * a key twice.
 */
export async function listsLineageInParts({ add, lineage }: StoreFixture): Promise<void> {
  const root = await add();
  const rootKeyId = root.keyId;
  const members = [
    { rootKeyId },
    { issuedUnder: rootKeyId },
    { rootKeyId, issuedUnder: rootKeyId },
  ];
  const all = [root];
  const others = [uuid(), FIRST_ID, LAST_ID];
  for (let count = 1; count <= 9; count++) {
    // Ids are random, so neither the newest key nor the oldest is first.
    const createdAt = TIME + count;
    all.push(await add({ ...members[count % 3], createdAt }));
    others.push((await add({ createdAt })).keyId);
  }
  const whole = byKeyId(all);
  for (let limit = 1; limit <= whole.length + 1; limit++) {
    for (let from = 0; from <= whole.length; from += limit) {
      const after = whole[from - 1]?.keyId ?? null;
      const part = await lineage(rootKeyId, { after, limit });
      const expected = whole.slice(from, from + limit);
      same(part, expected, `listLineage in parts of ${limit}, after ${from} keys`);
    }
  }
  for (const after of others) {
    const rest = whole.filter(({ keyId }) => keyId > after);
    same(await lineage(rootKeyId, { after }), rest, 'listLineage after an id of another lineage');
  }
}

/**
 * Inserts keys of one lineage and lists it in parallel. Each listing must contain every key whose
 * insert was acknowledged before, because revoking a lineage stops once a listing has no live key.
 *
 * Catches: answering from a stale copy.
 */
export async function listsLineageWhileItGrows(fixture: StoreFixture): Promise<void> {
  const { add, lineage } = fixture;
  const root = await add();
  const rootKeyId = root.keyId;
  const known = [root];
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      known.push(await add({ rootKeyId }));
      const expected = known.map(({ keyId }) => keyId);
      const listed = new Set((await lineage(rootKeyId)).map(({ keyId }) => keyId));
      const missing = expected.filter((keyId) => !listed.has(keyId));
      same(missing, [], 'acknowledged keys missing from listLineage');
    }),
  );
}
