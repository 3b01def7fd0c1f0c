/**
 * Tests that pages of `list` neither repeat nor skip a record while others write.
 */
import type { KeyRecord } from '../../core/record.js';
import type { Awaitable, ListPosition, ListQuery } from '../../core/store.js';
import { check, same } from '../assertions.js';
import { parallel } from './calls.js';
import { DAY, type StoreFixture, TIME, uuid } from './fixture.js';
import { addTwelve } from './list.js';
import { among, isBehind, newestFirst } from './order.js';

/** How to page through a listing. */
interface Paging {
  readonly limit: number;
  /** The greatest possible number of records. The test fails instead of paging forever. */
  readonly most: number;
  /** The listing. Default: the keys of this test's entity. */
  readonly query?: Partial<ListQuery>;
  /** The position before the first page. Default: before the newest record. */
  readonly from?: ListPosition;
  /** Runs between two pages. */
  readonly between?: () => Awaitable<unknown>;
}

/** Reads every record of a listing, page by page, as a service would. */
export async function readPages(
  fixture: StoreFixture,
  paging: Paging,
): Promise<readonly KeyRecord[]> {
  const { limit, most } = paging;
  const seen: KeyRecord[] = [];
  let after = paging.from ?? null;
  for (;;) {
    const rows = await fixture.list({ ...paging.query, after, limit });
    seen.push(...rows);
    check(rows.length <= limit, `list returned ${rows.length} records for a limit of ${limit}`);
    const enough = seen.length <= most;
    check(enough, `list: pages of ${limit} returned more than all ${most} records`);
    const last = rows.at(-1);
    if (last === undefined) return seen;
    after = { createdAt: last.createdAt, keyId: last.keyId };
    await paging.between?.();
  }
}

/**
 * Pages through a listing and adds a newer key after each page. The pages must contain every
 * original key once.
 *
 * Catches: paging by offset, or by time only.
 */
export async function pagesWhileKeysAreAdded(fixture: StoreFixture): Promise<void> {
  const all = await addTwelve(fixture);
  let added = 0;
  const between = () => {
    const createdAt = TIME + DAY + added;
    added += 1;
    return fixture.add({ createdAt });
  };
  for (const limit of [1, 2, 5]) {
    const seen = await readPages(fixture, { limit, most: all.length + added, between });
    same(among(seen, all), all, `list in pages of ${limit}, with keys added between them`);
    const different = new Set(seen.map(({ keyId }) => keyId));
    same(different.size, seen.length, `how many records in pages of ${limit} are different`);
  }
}

/**
 * Pages through a listing while two other callers add keys before, among and after the original
 * ones. The pages must contain every original key once, in order.
 *
 * Catches: a listing that is rebuilt, locked or incomplete while others insert.
 */
export async function pagesWhileInsertsRun(fixture: StoreFixture): Promise<void> {
  const all = await addTwelve(fixture);
  let running = true;
  // Before, among and after the twelve, and at their times, so that ids break ties.
  const offsets = [DAY, 0, 5000, 2500, -DAY];
  const addEveryOther = async (from: number) => {
    for (let index = from; index < 40 && running; index += 2) {
      await fixture.add({ createdAt: TIME + (offsets[index % 5] ?? 0) });
    }
  };
  const added = Promise.all([addEveryOther(0), addEveryOther(1)]);
  // Awaited below, which rethrows the error.
  added.catch(() => {});
  try {
    for (const limit of [3, 1, 100]) {
      const seen = await readPages(fixture, { limit, most: all.length + 40 });
      same(among(seen, all), all, `list in pages of ${limit}, during inserts`);
      const problem = `list: pages of ${limit} during inserts repeat a record or are unsorted`;
      check(isStrictlyOrdered(seen), problem);
    }
  } finally {
    running = false;
    await added;
  }
}

/** Whether each row follows the one before it. A repeated row does not. */
function isStrictlyOrdered(rows: readonly KeyRecord[]): boolean {
  return rows.every((row, index) => isBehind(row, rows[index - 1] ?? null));
}

/**
 * Pages through 26 keys, of which 24 were created in one millisecond, from a position before all of
 * them. Only the ids mark where a page ends.
 *
 * Catches: searching for the start of a page only among the first records of a millisecond.
 */
export async function pagesThroughTies(fixture: StoreFixture): Promise<void> {
  const tied = await parallel(24, () => fixture.add());
  const newer = await fixture.add({ createdAt: TIME + 1 });
  const older = await fixture.add({ createdAt: TIME - 1 });
  const all = [newer, ...tied, older].sort(newestFirst);
  const from = { createdAt: TIME * 2, keyId: uuid() };
  for (const limit of [1, 4, 25]) {
    const seen = await readPages(fixture, { limit, most: all.length, from });
    same(seen, all, `list in pages of ${limit}, with 24 keys created in one millisecond`);
  }
}

/**
 * Lists from positions of records and from positions before, between and after them. The answer
 * must be the records that follow in the order, even if no record has that position.
 *
 * Catches: looking up the cursor as a record.
 */
export async function listsBehindAnyPosition(fixture: StoreFixture): Promise<void> {
  const all = await addTwelve(fixture);
  // Every third record: alternately the first and the second of a millisecond.
  const some = all.filter((_, index) => index % 3 === 0);
  const positions = some.flatMap(({ createdAt, keyId }) => [
    { createdAt, keyId },
    // Positions without a record. Records are never deleted, but a client may invent a cursor.
    { createdAt: createdAt - 1, keyId },
    { createdAt: createdAt + 1, keyId },
    { createdAt, keyId: '00000000-0000-4000-8000-000000000000' },
    { createdAt, keyId: 'ffffffff-ffff-4fff-bfff-ffffffffffff' },
  ]);
  for (const after of positions) {
    const following = all.filter((row) => isBehind(row, after));
    same(await fixture.list({ after }), following, `list after ${after.createdAt} ${after.keyId}`);
  }
}
