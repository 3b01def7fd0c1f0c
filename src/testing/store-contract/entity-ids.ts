/** Tests of the ids of entities that are not UUIDs: a store keeps both kinds. */
import type { KeyRecord } from '../../core/record.js';
import { same, show } from '../assertions.js';
import { type StoreFixture, TIME } from './fixture.js';
import { after, withdrawAt } from './marks.js';

/** Ids that a store may fold, trim, split, read as a number, or take for a name of its own. */
export const IDS: readonly string[] = [
  '~:'.repeat(32),
  'a',
  'b',
  'a:b',
  'a:b:c',
  'A:B',
  'a|b',
  '-x',
  'null',
  'NULL',
  '__proto__',
  'constructor',
  'org_2abc',
  'ORG_2ABC',
  'Org_2abc',
  '7',
  '07',
  '7.0',
  'a@b.example',
];

/** Ids that no key has, although each is equal to one of the above in a lax comparison. */
const NEAR: readonly string[] = [
  'A',
  'oRg_2abc',
  '007',
  '7.00',
  '7e0',
  'Null',
  'b:c',
  'org_2ab',
  'org%2abc',
  'org-2abc',
  '~:'.repeat(31),
];

/** Adds a key of each id, which also addresses the next two. */
async function addOfEach({ add }: StoreFixture): Promise<readonly KeyRecord[]> {
  const made: KeyRecord[] = [];
  for (const [index, entityId] of IDS.entries()) {
    const guests = [1, 2].map((step) => IDS[(index + step) % IDS.length] ?? '');
    made.push(await add({ entityId, accessibleEntities: [...guests, entityId] }));
  }
  return made;
}

/**
 * Adds keys of entities with ids that are not UUIDs. Each record must come back as it was, and each
 * listing, with `addressing` too, must contain the keys of its entity only.
 *
 * Catches: ids that are folded, trimmed, cut, split at a separator, or compared as numbers or as
 * patterns.
 */
export async function keepsIdsOfEntities(fixture: StoreFixture): Promise<void> {
  const { list, holds } = fixture;
  const made = await addOfEach(fixture);
  for (const record of made) {
    const { entityId } = record;
    await holds(record, `a key of ${show(entityId)}`);
    same(await list({ entityId }), [record], `list, for ${show(entityId)}`);
    const others = made.filter(
      (other) => other !== record && other.accessibleEntities.includes(entityId),
    );
    const addressing = await list({ entityId, addressing: true });
    const found = new Set(addressing.map(({ keyId }) => keyId));
    same(addressing.length, others.length, `how many keys address ${show(entityId)}`);
    same(
      others.every(({ keyId }) => found.has(keyId)),
      true,
      `they address ${show(entityId)}`,
    );
  }
  for (const entityId of NEAR) {
    same(await list({ entityId }), [], `list, for ${show(entityId)}`);
    same(await list({ entityId, addressing: true }), [], `addressing, for ${show(entityId)}`);
  }
}

/**
 * Withdraws entities with ids that are not UUIDs, one by one. Each mark must be true once, and the
 * record must have exactly these withdrawals.
 *
 * Catches: a withdrawal that is compared in a lax way, or joined with another.
 */
export async function withdrawsIdsOfEntities(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  let expected = await add({ entityId: 'a', accessibleEntities: IDS });
  for (const [index, entityId] of IDS.entries()) {
    if (entityId === 'a') continue;
    const mark = withdrawAt(TIME + index, entityId);
    same(await store.mark(expected.keyId, mark), true, `mark ${show(mark)}`);
    same(await store.mark(expected.keyId, mark), false, `mark ${show(mark)}, again`);
    expected = after(expected, mark);
    await holds(expected, `after the withdrawal of ${show(entityId)}`);
  }
}
