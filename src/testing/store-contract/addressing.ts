/** Tests of `list` with `addressing`: the keys of other entities that reach an entity. */
import type { KeyRecord } from '../../core/record.js';
import { check, same, show } from '../assertions.js';
import { LAST, type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { readPages } from './list-pages.js';
import { retireAt, revokeAt, suspendAt, withdrawAt } from './marks.js';
import { among, newestFirst } from './order.js';

/** A key of another entity that addresses this test's entity, and perhaps others. */
function addAddressing(
  { entityUuid, add }: StoreFixture,
  given: Partial<KeyRecord> = {},
): Promise<KeyRecord> {
  const owner = given.entityUuid ?? uuid();
  return add({ entityUuid: owner, accessibleEntities: [owner, entityUuid], ...given });
}

/**
 * Lists what addresses an entity that has keys of its own, among keys of three others. Only keys
 * of others must be there, wherever in its entities a key names this one, newest first and up to
 * the limit. Without `addressing`, only the entity's own keys must be there.
 *
 * Catches: own keys in the listing of those that address, keys that name another entity, only the
 * first entity of a key, and what is nearly the id of the entity.
 */
export async function listsAddressing(fixture: StoreFixture): Promise<void> {
  const { entityUuid, add, list } = fixture;
  const other = uuid();
  const own = [
    await add({ createdAt: TIME + 9 }),
    await add({ createdAt: TIME + 5, accessibleEntities: [other, entityUuid, uuid()] }),
  ];
  const middle = [other, uuid(), entityUuid, uuid()];
  const expected = [
    await addAddressing(fixture, { createdAt: TIME + 8 }),
    await addAddressing(fixture, { entityUuid: other, createdAt: TIME + 7 }),
    await add({ entityUuid: other, accessibleEntities: middle, createdAt: TIME + 6 }),
    await add({ entityUuid: other, accessibleEntities: [entityUuid, other], createdAt: 10 }),
    await addAddressing(fixture, { createdAt: 9 }),
    await addAddressing(fixture, { createdAt: -5 }),
  ];
  await add({ entityUuid: other });
  await add({ entityUuid: other, accessibleEntities: [other, uuid()] });
  const addressing = true;
  for (const limit of [1, 2, 6, 7, 1000]) {
    const rows = await list({ addressing, limit });
    same(rows, expected.slice(0, limit), `keys that address the entity, with limit ${limit}`);
  }
  same(await list(), own, 'the own keys of an entity that others address');
  same(await list({ addressing: false }), own, 'own keys, asked for by name');
  same(await list({ addressing: undefined }), own, 'own keys, by default');
  same(await list({ entityUuid: other, addressing }), own.slice(1), 'what addresses another');
  same(await list({ entityUuid: uuid(), addressing }), [], 'an entity that nothing addresses');
  for (const odd of [...nearTexts(entityUuid), ...oddValues(entityUuid)]) {
    await misses(odd, () => list({ entityUuid: odd as string, addressing }));
  }
}

/**
 * Lists keys that address an entity which withdrew from some of them, and which are suspended,
 * revoked, retired or expired. All of them must be there, also after the marks are written.
 *
 * Catches: a withdrawal that takes a key out of the listing, and a listing of only live keys.
 */
export async function listsAddressingWhateverTheirState(fixture: StoreFixture): Promise<void> {
  const { store, entityUuid, list } = fixture;
  const states: readonly Partial<KeyRecord>[] = [
    {},
    { withdrawn: [entityUuid], changedAt: TIME },
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
  same(await list({ addressing: true }), expected, 'keys that address, in every state');
  const live = expected.find(({ withdrawn, changedAt }) => withdrawn.length === 0 && !changedAt);
  const keyId = live?.keyId ?? '';
  const withdraw = withdrawAt(TIME, entityUuid);
  const marks = [withdraw, { ...retireAt(TIME), withdrawn: [entityUuid] }, suspendAt(TIME)];
  for (const mark of [...marks, revokeAt(TIME)]) {
    same(await store.mark(keyId, mark), true, `mark ${show(mark)}`);
    const current = expected.map(async (row) => store.findById(row.keyId));
    const listed = await list({ addressing: true });
    same(listed, await Promise.all(current), `keys that address, after ${mark.kind}`);
  }
}

/**
 * Goes in pages through keys that address an entity, some of which were created in the same
 * millisecond, while more are added. Every key that was there must be seen once, in order.
 *
 * Catches: paging by offset, by time only, or through own keys that are then left out.
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
    same(among(seen, all), all, `pages of ${limit} of what addresses an entity`);
    const different = new Set(seen.map(({ keyId }) => keyId));
    same(different.size, seen.length, `different records in pages of ${limit}`);
  }
}

/**
 * Inserts a key with 1,000 entities, and lists what addresses the first, the last and every third
 * of them. Each must find the key, and its owner must not.
 *
 * Catches: an index of the first few entities, and a limit of the database on values or statements.
 */
export async function isFoundByManyEntities(fixture: StoreFixture): Promise<void> {
  const { entityUuid, add, list } = fixture;
  const guests = Array.from({ length: 999 }, uuid);
  const accessibleEntities = [...guests.slice(0, 500), entityUuid, ...guests.slice(500)];
  const { keyId } = await add({ accessibleEntities });
  const asking = guests.filter((_, index) => index % 3 === 0 || index === 998);
  for (let start = 0; start < asking.length; start += 50) {
    const some = asking.slice(start, start + 50);
    const listed = await Promise.all(
      some.map((guest) => list({ entityUuid: guest, addressing: true })),
    );
    const found = listed.flat().filter((row) => row.keyId === keyId);
    same(found.length, some.length, 'of 50 of the entities of a key, those that find it');
  }
  same(await list({ addressing: true }), [], 'what addresses the owner of the key');
}

/**
 * Looks a key up while it is inserted. Once it is found by its id, it must stand in the listings
 * of its owner, of the entities that it addresses and of its lineage as well.
 *
 * Catches: entries of listings that are written after the record.
 */
export async function listsWhatIsFound(fixture: StoreFixture): Promise<void> {
  const { store, entityUuid, record, list } = fixture;
  for (let round = 0; round < 10; round++) {
    const owner = uuid();
    const made = record({
      entityUuid: owner,
      accessibleEntities: [owner, entityUuid],
      createdAt: TIME + round,
      expiresAt: LAST,
    });
    let writing = true;
    const written = (async () => store.insert(made))().finally(() => {
      writing = false;
    });
    // Awaited below, where it throws.
    written.catch(() => {});
    for (let looks = 0; writing && looks < 200; looks++) {
      const found = await store.findById(made.keyId);
      if (found === null) continue;
      const addressing = await list({ addressing: true, limit: 1 });
      const own = await list({ entityUuid: owner });
      const lineage = await store.listLineage(made.rootKeyId);
      const listed = [addressing, own, lineage].every(([row]) => row?.keyId === made.keyId);
      check(listed, 'a record can be found that a listing does not have yet');
    }
    await written;
    same((await list({ addressing: true, limit: 1 }))[0], made, 'the listing, after the insert');
  }
}
