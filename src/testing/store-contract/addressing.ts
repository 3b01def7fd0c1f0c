/** Tests of `list` with `addressing`, which returns keys of other entities. */
import type { KeyRecord } from '../../core/record.js';
import { check, same, show } from '../assertions.js';
import { LAST, type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { readPages } from './list-pages.js';
import { retireAt, revokeAt, suspendAt, withdrawAt } from './marks.js';
import { among, newestFirst } from './order.js';

/** Adds a key of another entity that addresses this test's entity, and perhaps others. */
function addAddressing(
  { entityId, add }: StoreFixture,
  given: Partial<KeyRecord> = {},
): Promise<KeyRecord> {
  const owner = given.entityId ?? uuid();
  return add({ entityId: owner, accessibleEntities: [owner, entityId], ...given });
}

/**
 * Lists the keys that address an entity, which also owns keys. The answer must contain only keys of
 * other entities, wherever the entity appears in their list, newest first and up to the limit.
 * Without `addressing`, it must contain only the entity's own keys.
 *
 * Catches: listing the entity's own keys or keys that address another entity, reading only the
 * first entity of a key, and matching similar ids.
 */
export async function listsAddressing(fixture: StoreFixture): Promise<void> {
  const { entityId, add, list } = fixture;
  const other = uuid();
  const own = [
    await add({ createdAt: TIME + 9 }),
    await add({ createdAt: TIME + 5, accessibleEntities: [other, entityId, uuid()] }),
  ];
  const middle = [other, uuid(), entityId, uuid()];
  const expected = [
    await addAddressing(fixture, { createdAt: TIME + 8 }),
    await addAddressing(fixture, { entityId: other, createdAt: TIME + 7 }),
    await add({ entityId: other, accessibleEntities: middle, createdAt: TIME + 6 }),
    await add({ entityId: other, accessibleEntities: [entityId, other], createdAt: 10 }),
    await addAddressing(fixture, { createdAt: 9 }),
    await addAddressing(fixture, { createdAt: -5 }),
  ];
  await add({ entityId: other });
  await add({ entityId: other, accessibleEntities: [other, uuid()] });
  const addressing = true;
  for (const limit of [1, 2, 6, 7, 1000]) {
    const rows = await list({ addressing, limit });
    same(rows, expected.slice(0, limit), `list with addressing and limit ${limit}`);
  }
  same(await list(), own, 'list without addressing');
  same(await list({ addressing: false }), own, 'list with addressing false');
  same(await list({ addressing: undefined }), own, 'list with addressing undefined');
  const ofOther = await list({ entityId: other, addressing });
  same(ofOther, own.slice(1), 'list with addressing, for another entity');
  const ofNobody = await list({ entityId: uuid(), addressing });
  same(ofNobody, [], 'list with addressing, for an entity that no key addresses');
  for (const odd of [...nearTexts(entityId), ...oddValues(entityId)]) {
    await misses(odd, () => list({ entityId: odd as string, addressing }));
  }
}

/**
 * Lists keys that address an entity: live, suspended, revoked, retired and expired ones, and some
 * from which the entity has withdrawn. The listing must contain all of them, also after later
 * marks.
 *
 * Catches: a withdrawal that removes a key from the listing, and listing live keys only.
 */
export async function listsAddressingWhateverTheirState(fixture: StoreFixture): Promise<void> {
  const { store, entityId, list } = fixture;
  const states: readonly Partial<KeyRecord>[] = [
    {},
    { withdrawn: [entityId], changedAt: TIME },
    { suspendedAt: TIME, changedAt: TIME },
    { revokedAt: TIME, changedAt: TIME },
    { retireAt: 0, changedAt: TIME },
    { expiresAt: 0 },
  ];
  const made: KeyRecord[] = [];
  for (const state of states) {
    made.push(await addAddressing(fixture, state));
  }
  const expected = made.sort(newestFirst);
  same(await list({ addressing: true }), expected, 'list with addressing, in every state');
  const live = expected.find(({ withdrawn, changedAt }) => withdrawn.length === 0 && !changedAt);
  const keyId = live?.keyId ?? '';
  const withdraw = withdrawAt(TIME, entityId);
  const marks = [withdraw, { ...retireAt(TIME), withdrawn: [entityId] }, suspendAt(TIME)];
  for (const mark of [...marks, revokeAt(TIME)]) {
    same(await store.mark(keyId, mark), true, `mark ${show(mark)}`);
    const current = expected.map(async (row) => store.findById(row.keyId));
    const listed = await list({ addressing: true });
    same(listed, await Promise.all(current), `list with addressing, after ${mark.kind}`);
  }
}

/**
 * Pages through keys that address an entity, some created in the same millisecond, while adding
 * more. The pages must contain every original key once, in order.
 *
 * Catches: paging by offset or by time only, and paging through own keys that are filtered later.
 */
export async function pagesThroughAddressing(fixture: StoreFixture): Promise<void> {
  const { add } = fixture;
  const all: KeyRecord[] = [];
  for (let index = 0; index < 15; index++) {
    const createdAt = TIME + Math.floor(index / 5);
    all.push(await addAddressing(fixture, { createdAt }));
    await add({ createdAt });
  }
  all.sort(newestFirst);
  let added = 0;
  const between = async () => {
    added += 1;
    await addAddressing(fixture, { createdAt: TIME * 2 + added });
  };
  const query = { addressing: true };
  for (const limit of [1, 4, 15]) {
    const seen = await readPages(fixture, { query, limit, most: all.length + added, between });
    same(among(seen, all), all, `list with addressing, in pages of ${limit}`);
    const different = new Set(seen.map(({ keyId }) => keyId));
    same(different.size, seen.length, `how many records in pages of ${limit} are different`);
  }
}

/**
 * Inserts a key with 1,000 entities and lists the keys that address the first, the last and every
 * third of them. Each listing must contain the key, and that of its owner must not.
 *
 * Catches: indexing only the first entities, and database limits on values or statements.
 */
export async function isFoundByManyEntities(fixture: StoreFixture): Promise<void> {
  const { entityId, add, list } = fixture;
  const guests = Array.from({ length: 999 }, uuid);
  const accessibleEntities = [...guests.slice(0, 500), entityId, ...guests.slice(500)];
  const { keyId } = await add({ accessibleEntities });
  const asking = guests.filter((_, index) => index % 3 === 0 || index === 998);
  for (let start = 0; start < asking.length; start += 50) {
    const some = asking.slice(start, start + 50);
    const listed = await Promise.all(
      some.map((guest) => list({ entityId: guest, addressing: true })),
    );
    const found = listed.flat().filter((row) => row.keyId === keyId);
    same(found.length, some.length, 'how many of 50 entities of a key find it with addressing');
  }
  same(await list({ addressing: true }), [], 'list with addressing, for the owner of a key');
}

/**
 * Looks a key up during its insert. Once `findById` finds it, the listings of its owner, of its
 * entities and of its lineage must contain it too.
 *
 * Catches: writing the entries of listings after the record.
 */
export async function listsWhatIsFound(fixture: StoreFixture): Promise<void> {
  const { store, entityId, record, list, lineage } = fixture;
  for (let round = 0; round < 10; round++) {
    const owner = uuid();
    const made = record({
      entityId: owner,
      accessibleEntities: [owner, entityId],
      createdAt: TIME + round,
      expiresAt: LAST,
    });
    let writing = true;
    const written = (async () => store.insert(made))().finally(() => {
      writing = false;
    });
    // Awaited below, which rethrows the error.
    written.catch(() => {});
    for (let looks = 0; writing && looks < 200; looks++) {
      const found = await store.findById(made.keyId);
      if (found === null) continue;
      const addressing = await list({ addressing: true, limit: 1 });
      const own = await list({ entityId: owner });
      const family = await lineage(made.rootKeyId);
      const listed = [addressing, own, family].every(([row]) => row?.keyId === made.keyId);
      check(listed, 'findById returned a record that a listing does not contain yet');
    }
    await written;
    const [first] = await list({ addressing: true, limit: 1 });
    same(first, made, 'list with addressing, after an insert');
  }
}
