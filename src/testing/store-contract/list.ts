/** Tests of the records that `list` returns, and of their order. */
import type { KeyRecord } from '../../core/record.js';
import { same } from '../assertions.js';
import { type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { isBehind, newestFirst } from './order.js';

/**
 * Adds twelve keys at six times in mixed order, so that key ids break the ties.
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
 * Lists 15 keys with limits below, at and above their number. The answer must be sorted, as long as
 * the limit allows, and contain only keys of this entity.
 *
 * Catches: unsorted ties, times sorted as text, and a limit that is ignored or capped.
 */
export async function listsNewestFirst(fixture: StoreFixture): Promise<void> {
  const { entityId, add, list } = fixture;
  const expected = [...(await addTwelve(fixture))];
  // Times that sort differently as text.
  for (const createdAt of [10, 9, -5]) {
    expected.push(await add({ createdAt }));
  }
  // A key of another entity that addresses this one must not be listed.
  const other = uuid();
  await add({ entityId: other, accessibleEntities: [entityId, other] });
  for (const limit of [1, 2, 7, 15, 16, 1001]) {
    same(await list({ limit }), expected.slice(0, limit), `list with limit ${limit}`);
  }
}

/**
 * Gives two entities twelve keys each at the same times. Each listing must contain its own twelve,
 * also after a position from the other listing. Ids that almost match, and values that are not
 * text, must list nothing.
 *
 * Catches: another tenant's keys in a listing.
 */
export async function listsOneEntity(fixture: StoreFixture): Promise<void> {
  const { entityId, list } = fixture;
  const mine = await addTwelve(fixture);
  const other = uuid();
  const others = await addTwelve(fixture, { entityId: other });
  same(await list(), mine, 'list, for the first entity');
  same(await list({ entityId: other }), others, 'list, for the second entity');
  const after = others[5] ?? null;
  const following = mine.filter((row) => isBehind(row, after));
  same(await list({ after }), following, 'list after a position of another entity');
  same(await list({ entityId: uuid() }), [], 'list, for an entity without keys');
  for (const odd of [...nearTexts(entityId), ...oddValues(entityId)]) {
    await misses(odd, () => list({ entityId: odd as string }));
  }
}

/**
 * Gives one entity keys of five similar prefixes, all in one millisecond. Each listing must contain
 * the keys of its prefix only, also after a position from another listing.
 *
 * Catches: keys of another keyring in a listing, comparing the prefix as a pattern or by its
 * beginning, and filtering a page after reading it.
 */
export async function listsOnePrefix(fixture: StoreFixture): Promise<void> {
  const { prefix, add, list } = fixture;
  const guest = uuid();
  const owner = uuid();
  const prefixes = [prefix, `${prefix}0`, prefix.slice(0, -1), prefix.replace('_', 'a'), 't'];
  const made: KeyRecord[] = [];
  for (const each of prefixes) {
    for (const entityId of [owner, owner]) {
      const accessibleEntities = [entityId, guest];
      made.push(await add({ prefix: each, entityId, accessibleEntities }));
    }
  }
  const sorted = made.sort(newestFirst);
  const middle = sorted[4] ?? null;
  for (const each of prefixes) {
    const expected = sorted.filter((row) => row.prefix === each);
    const own = { prefix: each, entityId: owner };
    same(await list(own), expected, `list, for the prefix ${each}`);
    const following = expected.filter((row) => isBehind(row, middle));
    const page = await list({ ...own, after: middle });
    same(page, following, `list after a position, for the prefix ${each}`);
    const addressing = { prefix: each, entityId: guest, addressing: true };
    same(await list(addressing), expected, `list with addressing, for the prefix ${each}`);
    for (const query of [own, addressing]) {
      const first = await list({ ...query, limit: 1 });
      same(first, expected.slice(0, 1), `list with limit 1, for the prefix ${each}`);
    }
  }
  same(await list({ prefix: 'none', entityId: owner }), [], 'list, for an unknown prefix');
}

/**
 * Lists a live, a suspended, a revoked, a retired and an expired key. The listing must contain all
 * of them: management shows ended keys, and only the core decides by the clock.
 *
 * Catches: listing live keys only.
 */
export async function listsEndedOnes(fixture: StoreFixture): Promise<void> {
  const { add, list } = fixture;
  const live = await add({ createdAt: TIME + 5 });
  const suspended = await add({ createdAt: TIME + 4, suspendedAt: TIME + 5 });
  const revoked = await add({ createdAt: TIME + 3, revokedAt: TIME + 5 });
  const retired = await add({ createdAt: TIME + 2, retireAt: TIME + 5 });
  const expired = await add({ createdAt: TIME + 1, expiresAt: TIME + 2 });
  same(await list(), [live, suspended, revoked, retired, expired], 'list, with ended keys');
}
