/** A correct store passes the store contract; each wrong one fails, and each test fails some. */
import { storeContract } from 'keyscope/testing';
import { describe, expect, test } from 'vitest';
import { rightStore, withOwnClock, withoutReports } from './right-store.ts';
import { fails, findFirst, nearestFirst, TITLES } from './verdict.ts';
import type { WrongStores } from './wrong-store.ts';
import { WRONG_ADDRESSINGS } from './wrong-stores/addressing.ts';
import { WRONG_REPORTS } from './wrong-stores/all-entities.ts';
import { WRONG_OPTIONS } from './wrong-stores/call-options.ts';
import { WRONG_ENTITY_IDS } from './wrong-stores/entity-ids.ts';
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
  ...WRONG_ENTITY_IDS,
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

describe('storeContract', () => {
  storeContract(test, rightStore);

  describe('passes a store without the optional methods', () => {
    storeContract(test, () => withoutReports(rightStore()));
  });

  // Regression: two tests failed such a store, which cannot summarize at another time than now.
  describe('passes a store whose summarize uses its own clock', () => {
    storeContract(test, () => withOwnClock(rightStore()));
  });

  test.each(Object.entries(ALL))('fails a store where %s', async (name, wrong) => {
    const titles = nearestFirst(name, TITLES);
    expect(await findFirst(titles, (title) => fails(title, wrong))).toBeDefined();
  });

  test.each(TITLES)('needs its test "%s", which some wrong store fails', async (title) => {
    expect(await firstNoticed(title)).toBeDefined();
  });
});
