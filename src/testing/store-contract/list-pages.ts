/**
 * Tests of `list` in pages: none repeats or skips a record, whatever is written in the meantime.
 */
import type { KeyRecord } from '../../core/record.js';
import type { Awaitable, ListPosition, ListQuery } from '../../core/store.js';
import { check, same } from '../assertions.js';
import { parallel } from './calls.js';
import { DAY, type StoreFixture, TIME, uuid } from './fixture.js';
import { addTwelve } from './list.js';
import { among, isBehind, newestFirst } from './order.js';

/** How to go through a listing. */
interface Paging {
  readonly limit: number;
  /** How many records there are at most: a listing without an end would be a test without one. */
  readonly most: number;
  /** Which listing. Default: the keys of this test's entity. */
  readonly query?: Partial<ListQuery>;
  /** Where the first page begins. Default: with the newest record. */
  readonly from?: ListPosition;
  /** What happens between two pages. */
  readonly between?: () => Awaitable<unknown>;
}

/** Every record of a listing, page by page, as a service goes through it. */
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
    check(rows.length <= limit, `list answered ${rows.length} records to a limit of ${limit}`);
    const enough = seen.length <= most;
    check(enough, `pages of ${limit} hold more than the ${most} records that there are`);
    const last = rows.at(-1);
    if (last === undefined) return seen;
    after = { createdAt: last.createdAt, keyId: last.keyId };
    await paging.between?.();
  }
}

/**
 * Goes through a listing in pages, and adds a newer key after each page. Every key that was there
 * at the beginning must be seen once.
 *
 * Catches: paging by offset, and by time only.
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
    same(among(seen, all), all, `pages of ${limit} while keys are added`);
    const different = new Set(seen.map(({ keyId }) => keyId));
    same(different.size, seen.length, `different records in pages of ${limit}`);
  }
}

/**
 * Goes through a listing in pages while two other callers add keys before, among and after the
 * ones that were there. These must be seen once each, in order.
 *
 * Catches: a listing that is rebuilt, locked or without its rows while keys are added.
 */
export async function pagesWhileInsertsRun(fixture: StoreFixture): Promise<void> {
  const all = await addTwelve(fixture);
  let running = true;
  // Before, among and after the twelve; and at their times, so that ids decide.
  const offsets = [DAY, 0, 5000, 2500, -DAY];
  const addEveryOther = async (from: number) => {
    for (let index = from; index < 40 && running; index += 2) {
      await fixture.add({ createdAt: TIME + (offsets[index % 5] ?? 0) });
    }
  };
  const added = Promise.all([addEveryOther(0), addEveryOther(1)]);
  // Awaited below, where it throws.
  added.catch(() => {});
  try {
    for (const limit of [3, 1, 100]) {
      const seen = await readPages(fixture, { limit, most: all.length + 40 });
      same(among(seen, all), all, `pages of ${limit} while inserts run`);
      const problem = `pages of ${limit} while inserts run repeat a record or are out of order`;
      check(isStrictlyOrdered(seen), problem);
    }
  } finally {
    running = false;
    await added;
  }
}

/** Whether each row is behind the one before it, which no record can be that is repeated. */
function isStrictlyOrdered(rows: readonly KeyRecord[]): boolean {
  return rows.every((row, index) => isBehind(row, rows[index - 1] ?? null));
}

/**
 * Goes through 26 keys, of which 24 were created in the same millisecond, from a position before
 * all of them. Only their ids tell where a page ends.
 *
 * Catches: a page that looks for its start among the first few records of a millisecond.
 */
export async function pagesThroughTies(fixture: StoreFixture): Promise<void> {
  const tied = await parallel(24, () => fixture.add());
  const newer = await fixture.add({ createdAt: TIME + 1 });
  const older = await fixture.add({ createdAt: TIME - 1 });
  const all = [newer, ...tied, older].sort(newestFirst);
  const from = { createdAt: TIME * 2, keyId: uuid() };
  for (const limit of [1, 4, 25]) {
    const seen = await readPages(fixture, { limit, most: all.length, from });
    same(seen, all, `pages of ${limit} through 24 keys of one millisecond`);
  }
}

/**
 * Lists from positions of records and from positions that no record has, before, between and
 * behind them. What follows in the order must come, whether there is a record at the position or
 * not.
 *
 * Catches: a cursor that is looked up as a record.
 */
export async function listsBehindAnyPosition(fixture: StoreFixture): Promise<void> {
  const all = await addTwelve(fixture);
  // Every third: alternately the first and the second of a millisecond.
  const some = all.filter((_, index) => index % 3 === 0);
  const positions = some.flatMap(({ createdAt, keyId }) => [
    { createdAt, keyId },
    // Positions that no record has: records are never deleted, but a cursor may be made up.
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
