/** The suite that every store must pass: `storeContract`, and the list of tests. */
import { assert } from '../../core/input.js';
import type { Awaitable, KeyStore } from '../../core/store.js';
import type { RegisterTest } from '../assertions.js';
import {
  isFoundByManyEntities,
  listsAddressing,
  listsAddressingWhateverTheirState,
  listsWhatIsFound,
  pagesThroughAddressing,
} from './addressing.js';
import { listsAll, listsChanged, listsExpiring, pagesThroughChanged } from './all-entities.js';
import { abortsWholly, takesOptions } from './call-options.js';
import { copiesWhatItIsGiven, handsOutCopies } from './copies.js';
import { keepsIdsOfEntities, withdrawsIdsOfEntities } from './entity-ids.js';
import { keepsEveryField, keepsEveryMillisecond, keepsLongLists } from './fields.js';
import {
  answersEachLookUp,
  comparesDigestsExactly,
  findsByIdExactly,
  findsSeveralDigests,
  keepsDigestsApart,
  seesWhatWasAcknowledged,
} from './find.js';
import { createStoreFixture, type StoreFixture } from './fixture.js';
import { keepsHostileTexts, keepsTextsWholeOrNot } from './hostile.js';
import {
  insertsInParallel,
  insertsOnce,
  refusesSecondDigest,
  refusesSecondKeyId,
} from './insert.js';
import { listsLineage, listsLineageInParts, listsLineageWhileItGrows } from './lineage.js';
import { listsEndedOnes, listsNewestFirst, listsOneEntity, listsOnePrefix } from './list.js';
import {
  listsBehindAnyPosition,
  pagesThroughTies,
  pagesWhileInsertsRun,
  pagesWhileKeysAreAdded,
} from './list-pages.js';
import { holdsForManyKeys } from './many-keys.js';
import {
  keepsWhatMarksSay,
  marksNothingUnknown,
  marksOnce,
  marksWhereItMay,
  takesTimesAsGiven,
} from './mark.js';
import { marksByTheRule } from './mark-law.js';
import {
  marksInOneWrite,
  marksInPairs,
  marksOnceInParallel,
  suspendsAndResumesInParallel,
  withdrawsInParallel,
} from './mark-races.js';
import { leavesOthersAlone, writesSpareOthers } from './other-records.js';
import {
  summarizesAtAnyTime,
  summarizesByScheme,
  summarizesLiveKeys,
  summarizesNowByDefault,
} from './summarize.js';
import {
  touchesEachScopeForward,
  touchesForward,
  touchesInParallel,
  touchesManyKeys,
  touchUndoesNoMark,
} from './touch.js';

/** A store that the suite can close after each test. */
export interface ContractStore extends KeyStore {
  /** The suite calls it after each test, even if the test failed. */
  close?(): Awaitable<void>;
}

/**
 * Registers about sixty tests that cover every sentence of the `KeyStore` contract in `store.ts`,
 * including concurrency and effects on other rows. Ids, digests, entities and peppers are random,
 * so the store may already have rows. You can run the suite repeatedly on one database, but not
 * twice at once.
 *
 * `summarize`, `listExpiring`, `listAll` and `listChanged` are optional: their tests say so in
 * their names and pass if the method is missing. A `summarize` that declares no parameter
 * (`summarize.length` is 0, which includes a default value or `...args`) may use its own clock; the
 * suite then skips times other than now.
 *
 * Not checked: that a write survives a crash; that two processes agree; that two databases are
 * separate; an entity or a lineage with more than 150 keys; damaged rows; that an aborted call ends
 * sooner or a fresh one bypasses a cache; behavior when the database is gone; speed.
 *
 * @param test Registers one test, given a name and an async function that throws if the store
 *   breaks a promise.
 * @param factory Makes a store for one test. The suite calls its `close`, if present, after the
 *   test.
 * @throws TypeError if either argument is not a function.
 * @example
 * storeContract(test, async () => {
 *   const pool = await openPool();
 *   return Object.assign(myStore(pool), { close: () => pool.end() });
 * });
 */
export function storeContract(test: RegisterTest, factory: () => Awaitable<ContractStore>): void {
  assert(
    typeof test === 'function',
    "storeContract: test is not a function. Pass your runner's test function first",
  );
  assert(
    typeof factory === 'function',
    'storeContract: factory is not a function. Pass () => myStore() instead of a store',
  );
  for (const [name, run] of CONTRACT) {
    test(name, async () => {
      const store = await factory();
      try {
        await run(createStoreFixture(store));
      } finally {
        await store.close?.();
      }
    });
  }
}

/** A test of the contract: the promise, and the function that checks it. */
type StoreTest = readonly [name: string, run: (fixture: StoreFixture) => Promise<void>];

const CONTRACT: readonly StoreTest[] = [
  ['insert keeps every field exactly', keepsEveryField],
  ['insert keeps 256 scopes and 1,000 entities', keepsLongLists],
  ['insert and touch keep hostile texts unchanged', keepsHostileTexts],
  ['insert keeps a text whole or throws', keepsTextsWholeOrNot],
  ['insert keeps times to the millisecond, calendar edges included', keepsEveryMillisecond],
  ['every method copies its arguments and leaves them unchanged', copiesWhatItIsGiven],
  ['insert rejects a duplicate key id and keeps the first record', refusesSecondKeyId],
  ['insert rejects a duplicate digest and keeps the first record', refusesSecondDigest],
  ['insert in parallel succeeds for one of 20 with the same digest or key id', insertsOnce],
  ['insert in parallel stores all of 20 different keys', insertsInParallel],
  ['every method returns copies', handsOutCopies],
  ['findByDigest compares byte for byte', comparesDigestsExactly],
  ['findByDigest distinguishes digests by case and spaces', keepsDigestsApart],
  ['findByDigest accepts any number of digests', findsSeveralDigests],
  ['findByDigest in parallel gives each call its own records', answersEachLookUp],
  ['findByDigest sees every acknowledged write, even while look-ups run', seesWhatWasAcknowledged],
  ['findById returns null for any other id', findsByIdExactly],
  ['list returns keys newest first, up to the limit', listsNewestFirst],
  ['list returns the keys of one entity only', listsOneEntity],
  ['list returns the keys of one prefix only', listsOnePrefix],
  ['list returns ended keys too', listsEndedOnes],
  ['list neither repeats nor skips keys while more are added', pagesWhileKeysAreAdded],
  ['list in parallel with inserts neither repeats nor skips keys', pagesWhileInsertsRun],
  ['list pages through keys created in one millisecond', pagesThroughTies],
  ['list accepts a position that matches no record', listsBehindAnyPosition],
  ['list with addressing returns keys of other entities only', listsAddressing],
  ['list with addressing returns keys in every state', listsAddressingWhateverTheirState],
  ['list with addressing neither repeats nor skips keys', pagesThroughAddressing],
  ['list with addressing finds a key by any of 1,000 entities', isFoundByManyEntities],
  ['list and listLineage include every record that findById finds', listsWhatIsFound],
  ['list distinguishes ids of entities that are not UUIDs', keepsIdsOfEntities],
  ['mark withdraws entities whose ids are not UUIDs', withdrawsIdsOfEntities],
  ['listLineage returns every key of a root and no other', listsLineage],
  ['listLineage in parts neither repeats nor skips keys', listsLineageInParts],
  [
    'listLineage in parallel with inserts includes every acknowledged one',
    listsLineageWhileItGrows,
  ],
  ['mark writes only if its condition holds, and only its own fields', marksWhereItMay],
  ['mark returns true only to the call that wrote', marksOnce],
  ['mark keeps who ended a key, why, and every withdrawal', keepsWhatMarksSay],
  ['mark keeps the given times, however distant', takesTimesAsGiven],
  ['mark follows the rule after any sequence of marks', marksByTheRule],
  ['mark in parallel returns true to one of 20 calls, for each kind', marksOnceInParallel],
  ['mark in parallel records the withdrawals of all 20 entities', withdrawsInParallel],
  ['mark in parallel alternates suspensions and resumptions', suspendsAndResumesInParallel],
  ['mark in parallel orders any two marks one after the other', marksInPairs],
  ['mark in parallel with look-ups never shows a partial write', marksInOneWrite],
  ['mark returns false for any other id', marksNothingUnknown],
  ['touch moves lastUsedAt only forward', touchesForward],
  ['touch moves each scope only forward and leaves the others unchanged', touchesEachScopeForward],
  ['touch accepts a batch and ignores unknown ids', touchesManyKeys],
  ['touch in parallel loses no update', touchesInParallel],
  ['touch never undoes a mark', touchUndoesNoMark],
  ['summarize, if present, returns one row per digest scheme', summarizesByScheme],
  ['summarize, if present, counts the keys that are live at the given time', summarizesLiveKeys],
  ['summarize, if it takes a time, accepts any time', summarizesAtAnyTime],
  ['summarize, if present, defaults to the current time', summarizesNowByDefault],
  ['listExpiring, if present, returns expiring keys, soonest first', listsExpiring],
  ['listAll, if present, returns every record once', listsAll],
  ['listChanged, if present, returns marked keys, oldest change first', listsChanged],
  ['listChanged, if present, pages through keys changed in one millisecond', pagesThroughChanged],
  ['every method accepts the options signal and fresh', takesOptions],
  ['an aborted call answers correctly or throws, and writes all or nothing', abortsWholly],
  ['a write leaves every other record unchanged', leavesOthersAlone],
  ['parallel writes leave each other’s records unchanged', writesSpareOthers],
  ['list, findByDigest, touch and summarize work for 150 keys', holdsForManyKeys],
];
