/** Tests of `list`: which records, and in which order. */
import type { KeyRecord } from '../../core/record.js';
import { same } from '../assertions.js';
import { type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { isBehind, newestFirst } from './order.js';

/**
 * Twelve keys at six times, so that key ids decide between the two of each, added in no particular
 * order.
 */
export async function addTwelve(
  fixture: StoreFixture,
  given: Partial<KeyRecord> = {},
): Promise<readonly KeyRecord[]> {
  const made: KeyRecord[] = [];
  for (let index = 0; index < 12; index++) {
    const createdAt = TIME + ((index * 5) % 6) * 1000;
    made.push(await fixture.add({ createdAt, ...given }));
  }
  return made.sort(newestFirst);
}

/**
 * Lists 15 keys with limits below, at and above their number. The answer must be in order and as
 * long as the limit allows, and of this entity only.
 *
 * Catches: unordered ties, times ordered as text, a limit that is ignored or has a ceiling.
 */
export async function listsNewestFirst(fixture: StoreFixture): Promise<void> {
  const { entityUuid, add, list } = fixture;
  const expected = [...(await addTwelve(fixture))];
  // Times that sort differently as text: 9 after 10, and a negative one.
  for (const createdAt of [10, 9, -5]) {
    expected.push(await add({ createdAt }));
  }
  // A key that addresses this entity but belongs to another is the other's.
  const other = uuid();
  await add({ entityUuid: other, accessibleEntities: [entityUuid, other] });
  for (const limit of [1, 2, 7, 15, 16, 1001]) {
    same(await list({ limit }), expected.slice(0, limit), `list with limit ${limit}`);
  }
}

/**
 * Gives two entities twelve keys each at the same times. Each listing must have its own twelve,
 * also behind a position in the listing of the other. What is nearly the id of the entity, or is
 * no text, must list nothing.
 *
 * Catches: another tenant's keys in a listing.
 */
export async function listsOneEntity(fixture: StoreFixture): Promise<void> {
  const { entityUuid, list } = fixture;
  const mine = await addTwelve(fixture);
  const other = uuid();
  const others = await addTwelve(fixture, { entityUuid: other });
  same(await list(), mine, 'the first entity');
  same(await list({ entityUuid: other }), others, 'the second entity');
  const after = others[5] ?? null;
  const following = mine.filter((row) => isBehind(row, after));
  same(await list({ after }), following, 'a page');
  same(await list({ entityUuid: uuid() }), [], 'an entity without keys');
  for (const odd of [...nearTexts(entityUuid), ...oddValues(entityUuid)]) {
    await misses(odd, () => list({ entityUuid: odd as string }));
  }
}

/**
 * Gives one entity keys of five prefixes that resemble each other, all in one millisecond. Each
 * listing must have those of its own prefix, also behind a position in the listing of another.
 *
 * Catches: keys of another keyring in a listing, a prefix that is compared as a pattern or by its
 * beginning, and pages that are filtered afterwards.
 */
export async function listsOnePrefix(fixture: StoreFixture): Promise<void> {
  const { prefix, add, list } = fixture;
  const guest = uuid();
  const owner = uuid();
  const prefixes = [prefix, `${prefix}0`, prefix.slice(0, -1), prefix.replace('_', 'a'), 't'];
  const made: KeyRecord[] = [];
  for (const each of prefixes) {
    for (const entityUuid of [owner, owner]) {
      const accessibleEntities = [entityUuid, guest];
      made.push(await add({ prefix: each, entityUuid, accessibleEntities }));
    }
  }
  const sorted = made.sort(newestFirst);
  const middle = sorted[4] ?? null;
  for (const each of prefixes) {
    const expected = sorted.filter((row) => row.prefix === each);
    const own = { prefix: each, entityUuid: owner };
    same(await list(own), expected, `the prefix ${each}`);
    const following = expected.filter((row) => isBehind(row, middle));
    same(await list({ ...own, after: middle }), following, `a page of the prefix ${each}`);
    const addressing = { prefix: each, entityUuid: guest, addressing: true };
    same(await list(addressing), expected, `the prefix ${each}, of keys that address`);
    for (const query of [own, addressing]) {
      same(await list({ ...query, limit: 1 }), expected.slice(0, 1), `one of the prefix ${each}`);
    }
  }
  same(await list({ prefix: 'none', entityUuid: owner }), [], 'a prefix that no key has');
}

/**
 * Lists a live, a suspended, a revoked, a retired and an expired key. All must be there: management
 * shows ended keys, and only the core knows what time it is.
 *
 * Catches: a listing of only live keys.
 */
export async function listsEndedOnes(fixture: StoreFixture): Promise<void> {
  const { add, list } = fixture;
  const live = await add({ createdAt: TIME + 5 });
  const suspended = await add({ createdAt: TIME + 4, suspendedAt: TIME + 5 });
  const revoked = await add({ createdAt: TIME + 3, revokedAt: TIME + 5 });
  const retired = await add({ createdAt: TIME + 2, retireAt: TIME + 5 });
  const expired = await add({ createdAt: TIME + 1, expiresAt: TIME + 2 });
  same(await list(), [live, suspended, revoked, retired, expired], 'ended keys in a listing');
}
