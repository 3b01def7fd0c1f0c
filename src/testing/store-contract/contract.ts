/** The suite that every store must pass: `storeContract`, and the list of tests. */
import { assert } from '../../core/input.js';
import type { Awaitable, KeyStore } from '../../core/store.js';
import type { RegisterTest } from '../register-test.js';
import { copiesWhatItIsGiven, handsOutCopies } from './copies.js';
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
import { listsEndedOnes, listsNewestFirst, listsOneEntity } from './list.js';
import {
  listsBehindAnyPosition,
  pagesThroughTies,
  pagesWhileInsertsRun,
  pagesWhileKeysAreAdded,
} from './list-pages.js';
import { holdsForManyKeys } from './many-keys.js';
import {
  endsByItsConditions,
  endsNothingUnknown,
  endsOnce,
  endsOnceInPairs,
  endsOnceInParallel,
  retiresAndRevokesInParallel,
  takesTimesAsGiven,
} from './mark.js';
import { leavesOthersAlone, writesSpareOthers } from './other-records.js';
import { summarizesByScheme, summarizesLiveKeys } from './summarize.js';
import {
  touchesEachScopeForward,
  touchesForward,
  touchesInParallel,
  touchesManyKeys,
  touchUndoesNoEnding,
} from './touch.js';

/** A store, and how to close it after its test. */
export interface ContractStore extends KeyStore {
  /** Called after each test, even if it failed. */
  close?(): Awaitable<void>;
}

/**
 * Registers some forty tests for the contract of `KeyStore`: every sentence of `store.ts`,
 * including concurrency and the other rows. Ids, digests, entities and peppers are random, so the
 * store need not be empty, and runs may follow each other on one database, but must not overlap.
 *
 * A store whose `summarize` declares no parameter (`summarize.length` is 0, as with a default value
 * or `...args`) may use its own clock: tests that ask for a time other than now are then left out.
 *
 * Not checked: that a write survives a crash; that two processes agree; that two databases are kept
 * apart; an entity with more than 150 keys; what happens when the database is gone; speed.
 *
 * @param test Registers one test: a name and an async function that throws if the store breaks a
 *   promise.
 * @param factory Makes a store for one test; its `close`, if it has one, is called afterwards.
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
    'storeContract: pass the function that registers a test, then one that makes a store',
  );
  assert(
    typeof factory === 'function',
    'storeContract: pass a function that makes a store, () => myStore(), not a store',
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

/** One test of the contract: what a store promises, and the function that checks it. */
type StoreTest = readonly [name: string, run: (fixture: StoreFixture) => Promise<void>];

const CONTRACT: readonly StoreTest[] = [
  ['insert keeps every field exactly', keepsEveryField],
  ['insert keeps 256 scopes and 1,000 entities', keepsLongLists],
  ['insert keeps hostile texts as they are, and so does touch', keepsHostileTexts],
  ['insert keeps a text whole or refuses the record', keepsTextsWholeOrNot],
  ['insert keeps every millisecond, whatever the calendar says', keepsEveryMillisecond],
  ['arguments are copied and left as they are', copiesWhatItIsGiven],
  ['insert refuses a second key id and leaves the first record', refusesSecondKeyId],
  ['insert refuses a second digest and leaves the first record', refusesSecondDigest],
  ['insert in parallel: one of 20 with the same digest or key id succeeds', insertsOnce],
  ['insert in parallel: 20 different keys are all there', insertsInParallel],
  ['answers are copies', handsOutCopies],
  ['findByDigest compares byte for byte', comparesDigestsExactly],
  ['findByDigest tells digests apart by case and by spaces', keepsDigestsApart],
  ['findByDigest takes any number of digests', findsSeveralDigests],
  ['findByDigest in parallel: each call gets its own records', answersEachLookUp],
  ['findByDigest sees what was acknowledged, whatever is under way', seesWhatWasAcknowledged],
  ['findById answers null for any other id', findsByIdExactly],
  ['list answers newest first, up to the limit', listsNewestFirst],
  ['list answers the keys of one entity', listsOneEntity],
  ['list answers ended keys too', listsEndedOnes],
  ['list neither repeats nor skips while keys are added', pagesWhileKeysAreAdded],
  ['list in parallel with inserts neither repeats nor skips', pagesWhileInsertsRun],
  ['list pages through keys of one millisecond', pagesThroughTies],
  ['list takes a position that no record has', listsBehindAnyPosition],
  ['markEnded writes where its condition holds, and nothing else', endsByItsConditions],
  ['markEnded is true to the one that wrote', endsOnce],
  ['markEnded in parallel: true to one of 20', endsOnceInParallel],
  ['markEnded in parallel: revoked once and retired at most once', retiresAndRevokesInParallel],
  ['markEnded in parallel: 100 races of two, one winner each', endsOnceInPairs],
  ['markEnded takes times as they are given, however far', takesTimesAsGiven],
  ['markEnded is false for any other id', endsNothingUnknown],
  ['touch writes lastUsedAt only forward', touchesForward],
  ['touch writes each scope only forward and leaves the others', touchesEachScopeForward],
  ['touch takes a batch and ignores unknown ids', touchesManyKeys],
  ['touch in parallel loses nothing', touchesInParallel],
  ['touch undoes no ending', touchUndoesNoEnding],
  ['summarize answers one row a digest scheme', summarizesByScheme],
  ['summarize counts the keys that are live at the time given', summarizesLiveKeys],
  ['a write leaves every other record as it is', leavesOthersAlone],
  ['writes in parallel leave each other’s records as they are', writesSpareOthers],
  ['150 keys are listed, found, touched and summarized as one is', holdsForManyKeys],
];
