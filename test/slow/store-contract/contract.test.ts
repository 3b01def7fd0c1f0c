/** That a right store passes the store contract, and that no test of it is there for show. */
import { storeContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { rightStore, withOwnClock, withoutReports } from './right-store.ts';
import { fails, findFirst, nearestFirst, TITLES } from './verdict.ts';
import type { WrongStores } from './wrong-store.ts';
import { WRONG_ADDRESSINGS } from './wrong-stores/addressing.ts';
import { WRONG_REPORTS } from './wrong-stores/all-entities.ts';
import { WRONG_OPTIONS } from './wrong-stores/call-options.ts';
import { WRONG_FIELDS } from './wrong-stores/fields.ts';
import { WRONG_LOOK_UPS } from './wrong-stores/find.ts';
import { WRONG_INSERTS } from './wrong-stores/insert.ts';
import { WRONG_LINEAGES } from './wrong-stores/lineage.ts';
import { WRONG_LISTS } from './wrong-stores/list.ts';
import { WRONG_MARKS } from './wrong-stores/mark.ts';
import { WRONG_SUMMARIES } from './wrong-stores/summarize.ts';
import { WRONG_TOUCHES } from './wrong-stores/touch.ts';
import { WRONG_WRITES_BACK } from './wrong-stores/write-back.ts';

const ALL: WrongStores = {
  ...WRONG_WRITES_BACK,
  ...WRONG_INSERTS,
  ...WRONG_FIELDS,
  ...WRONG_LOOK_UPS,
  ...WRONG_LISTS,
  ...WRONG_ADDRESSINGS,
  ...WRONG_LINEAGES,
  ...WRONG_MARKS,
  ...WRONG_TOUCHES,
  ...WRONG_SUMMARIES,
  ...WRONG_REPORTS,
  ...WRONG_OPTIONS,
};

/** The name of the first wrong store that the test fails on. */
async function firstNoticed(title: string): Promise<string | undefined> {
  const names = nearestFirst(title, Object.keys(ALL));
  return findFirst(names, async (name) => {
    const wrong = ALL[name];
    return wrong !== undefined && fails(title, wrong);
  });
}

describe('the store contract', () => {
  storeContract(test, rightStore);

  describe('takes a store without what only reports ask for', () => {
    storeContract(test, () => withoutReports(rightStore()));
  });

  // Refused by two tests, for it cannot be asked for another time than now.
  describe('takes a store whose summarize asks a clock of its own', () => {
    storeContract(test, () => withOwnClock(rightStore()));
  });

  test.each(TITLES)('needs its test "%s": some wrong store fails it', async (title) => {
    expect(await firstNoticed(title)).toBeDefined();
  });
});
