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
import { listsLineage, listsLineageWhileItGrows } from './lineage.js';
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

/** A store, and how to close it after its test. */
export interface ContractStore extends KeyStore {
  /** Called after each test, even if it failed. */
  close?(): Awaitable<void>;
}

/**
 * Registers some sixty tests for the contract of `KeyStore`: every sentence of `store.ts`,
 * including concurrency and the other rows. Ids, digests, entities and peppers are random, so the
 * store need not be empty, and runs may follow each other on one database, but must not overlap.
 *
 * Tests of `summarize`, `listExpiring`, `listAll` and `listChanged` pass if the store does not have
 * the method; their names say so. A store whose `summarize` declares no parameter
 * (`summarize.length` is 0, as with a default value or `...args`) may use its own clock: tests that
 * ask for a time other than now are then left out.
 *
 * Not checked: that a write survives a crash; that two processes agree; that two databases are kept
 * apart; an entity with more than 150 keys; damaged rows; that an aborted call ends sooner, or a
 * fresh one asks no cache; what happens when the database is gone; speed.
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
  ['list answers the keys of one prefix', listsOnePrefix],
  ['list answers ended keys too', listsEndedOnes],
  ['list neither repeats nor skips while keys are added', pagesWhileKeysAreAdded],
  ['list in parallel with inserts neither repeats nor skips', pagesWhileInsertsRun],
  ['list pages through keys of one millisecond', pagesThroughTies],
  ['list takes a position that no record has', listsBehindAnyPosition],
  ['list with addressing answers keys of others, and no own ones', listsAddressing],
  ['list with addressing answers every state', listsAddressingWhateverTheirState],
  ['list with addressing neither repeats nor skips', pagesThroughAddressing],
  ['list with addressing finds a key by any of 1,000 entities', isFoundByManyEntities],
  ['listings have what findById finds', listsWhatIsFound],
  ['listLineage answers every key of a root, and no other', listsLineage],
  ['listLineage in parallel with inserts has what was acknowledged', listsLineageWhileItGrows],
  ['mark writes where its condition holds, and nothing else', marksWhereItMay],
  ['mark is true to the one that wrote', marksOnce],
  ['mark keeps who, why and every withdrawal', keepsWhatMarksSay],
  ['mark takes times as they are given, however far', takesTimesAsGiven],
  ['mark does what the rule says, whatever was before', marksByTheRule],
  ['mark in parallel: true to one of 20, for each kind', marksOnceInParallel],
  ['mark in parallel: 20 entities withdraw, and all of them have', withdrawsInParallel],
  ['mark in parallel: as many suspensions as resumptions', suspendsAndResumesInParallel],
  ['mark in parallel: every two kinds meet, one after the other', marksInPairs],
  ['mark in parallel with look-ups is seen whole', marksInOneWrite],
  ['mark is false for any other id', marksNothingUnknown],
  ['touch writes lastUsedAt only forward', touchesForward],
  ['touch writes each scope only forward and leaves the others', touchesEachScopeForward],
  ['touch takes a batch and ignores unknown ids', touchesManyKeys],
  ['touch in parallel loses nothing', touchesInParallel],
  ['touch undoes no mark', touchUndoesNoMark],
  ['summarize, if there is one, answers one row a digest scheme', summarizesByScheme],
  ['summarize, if there is one, counts what is live at the time given', summarizesLiveKeys],
  ['summarize, if it takes a time, takes any', summarizesAtAnyTime],
  ['summarize, if there is one, is as of now by default', summarizesNowByDefault],
  ['listExpiring, if there is one, answers what expires, soonest first', listsExpiring],
  ['listAll, if there is one, answers every record once', listsAll],
  ['listChanged, if there is one, answers what was marked, oldest first', listsChanged],
  ['listChanged, if there is one, pages through keys of one millisecond', pagesThroughChanged],
  ['every method takes a signal, and whether to be fresh', takesOptions],
  ['an aborted call answers rightly or throws, and writes all or nothing', abortsWholly],
  ['a write leaves every other record as it is', leavesOthersAlone],
  ['writes in parallel leave each other’s records as they are', writesSpareOthers],
  ['150 keys are listed, found, touched and summarized as one is', holdsForManyKeys],
];
