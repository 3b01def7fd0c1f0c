/** Tests of `markEnded`: one conditional write, true only for the one caller that wrote. */
import type { KeyRecord } from '../../core/record.js';
import type { Ending, KeyStore, SchemeSummary } from '../../core/store.js';
import { check, same, show } from '../assertions.js';
import { parallel } from './calls.js';
import { letteredUuid, type StoreFixture, TIME, uuid } from './fixture.js';
import { misses, nearTexts, oddValues } from './hostile-values.js';
import { INSTANTS } from './instants.js';
import { byDigest } from './order.js';
import { takesTime } from './summarize.js';

/**
 * Calls `markEnded` on keys with every combination of the two marks. It may write only where its
 * condition holds: to revoke, `revokedAt` must be null, and to retire, both marks. Nothing else
 * about the key may matter or change.
 *
 * Catches: any condition other than the two marks, and any other field that is written.
 */
export async function endsByItsConditions(fixture: StoreFixture): Promise<void> {
  for (const revokedAt of [null, TIME + 1]) {
    for (const retireAt of [null, TIME + 1]) {
      await endsWhereItMay(fixture, { revokedAt, retireAt }, { revokedAt: TIME + 9 });
      await endsWhereItMay(fixture, { revokedAt, retireAt }, { retireAt: TIME + 9 });
    }
  }
}

async function endsWhereItMay(
  fixture: StoreFixture,
  marks: Pick<KeyRecord, 'revokedAt' | 'retireAt'>,
  ending: Ending,
): Promise<void> {
  const { store, add, holds } = fixture;
  const may = marks.revokedAt === null && ('revokedAt' in ending || marks.retireAt === null);
  const when = `markEnded ${show(ending)} where the marks are ${show(marks)}`;
  // Used, with a past or future expiry: neither is a condition, and nothing else is written.
  for (const expiresAt of [0, Number.MAX_SAFE_INTEGER]) {
    const made = await add({ ...marks, expiresAt, lastUsedAt: TIME, scopesUsed: { 'a:b': TIME } });
    same(await store.markEnded(made.keyId, ending), may, when);
    await holds(may ? { ...made, ...ending } : made, when);
  }
}

/**
 * Ends one key again and again, with earlier, later and equal times. Only the first call of each
 * kind may write, and its time must stay. A key that is retired can still be revoked.
 *
 * Catches: a later call that moves the time of the first, and 0 taken for no mark.
 */
export async function endsOnce(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  for (const time of [TIME, 0]) {
    const made = await add();
    const end = (ending: Ending) => store.markEnded(made.keyId, ending);
    same(await end({ retireAt: time }), true, 'the first to retire');
    same(await end({ retireAt: time - 10 }), false, 'the second to retire');
    same(await end({ retireAt: time + 10 }), false, 'the third to retire');
    await holds({ ...made, retireAt: time }, 'retired three times');
    same(await end({ revokedAt: time }), true, 'the first to revoke, after it was retired');
    same(await end({ revokedAt: time - 4 }), false, 'the second to revoke');
    same(await end({ revokedAt: time }), false, 'to revoke again at the very same time');
    same(await end({ retireAt: time + 1 }), false, 'to retire what is revoked');
    await holds({ ...made, retireAt: time, revokedAt: time }, 'retired and revoked twice');
  }
}

function revokeAt(time: number): Ending {
  return { revokedAt: time };
}

function retireAt(time: number): Ending {
  return { retireAt: time };
}

/**
 * Revokes one key 20 times at once, and retires another one 20 times. One call of each 20 must say
 * that it wrote, and its time must be the one that is stored.
 *
 * Catches: a check before the write: two rotations would both hand out a successor.
 */
export async function endsOnceInParallel(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  for (const endAt of [revokeAt, retireAt]) {
    const made = await add();
    const wrote = await parallel(20, (index) => store.markEnded(made.keyId, endAt(TIME + index)));
    const winners = wrote.filter((answer) => answer !== false);
    same(winners, [true], `of 20 parallel calls with ${show(endAt(TIME))} that wrote`);
    const written = endAt(TIME + wrote.indexOf(true));
    await holds({ ...made, ...written }, 'the time is that of the call that wrote');
  }
}

/**
 * Sends ten calls to retire and ten to revoke one key, all at once. One revocation must win
 * whatever happens, and at most one retirement may have come before it.
 *
 * Catches: a retirement that undoes a revocation, or prevents it.
 */
export async function retiresAndRevokesInParallel(fixture: StoreFixture): Promise<void> {
  for (const round of [0, 1, 2, 3, 4]) {
    // Every other call retires and the others revoke; the rounds alternate in which is first.
    await tenRetireAndTenRevoke(fixture, (index) => index % 2 === round % 2);
  }
}

async function tenRetireAndTenRevoke(
  fixture: StoreFixture,
  retires: (index: number) => boolean,
): Promise<void> {
  const { store, add, holds } = fixture;
  const made = await add();
  const wrote = await parallel(20, (index) => {
    const endAt = retires(index) ? retireAt : revokeAt;
    return store.markEnded(made.keyId, endAt(TIME + index));
  });
  const winners = [...wrote.keys()].filter((index) => wrote[index]);
  const revoked = winners.filter((index) => !retires(index)).map((index) => TIME + index);
  const retired = winners.filter((index) => retires(index)).map((index) => TIME + index);
  same(revoked.length, 1, 'of 10 parallel calls to revoke that wrote');
  check(retired.length <= 1, 'at most one of 10 parallel calls retires');
  const marks = { revokedAt: revoked[0] ?? null, retireAt: retired[0] ?? null };
  await holds({ ...made, ...marks }, 'after parallel calls');
}

/** How many races the next test runs at once. */
const RACES = 100;

/**
 * Runs a hundred races of two calls that write the same time. Of two that retire, one must win;
 * against a retirement, a revocation must always be written.
 *
 * Catches: a write that counts as done because the row has its value already, as in two
 * simultaneous rotations.
 */
export async function endsOnceInPairs(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  const keys = await parallel(RACES, () => add());
  const races = keys.map((key, index) => race(store, key, ...rivalsOf(index)));
  const ended = await Promise.all(races);
  // One look-up instead of two hundred.
  const found = await store.findByDigest(keys.map(({ digest }) => digest));
  same(byDigest(found), byDigest(ended), `after ${RACES} races`);
}

/**
 * The two calls of a race. In half of the races both retire; in the other half one retires and one
 * revokes, and they alternate in being called first.
 */
function rivalsOf(index: number): readonly [first: Ending, second: Ending] {
  const retire = retireAt(TIME + 1);
  const revoke = revokeAt(TIME + 1);
  if (index < RACES / 2) return [retire, retire];
  return index % 2 === 0 ? [retire, revoke] : [revoke, retire];
}

/** Sends two endings at once, and returns the record as the answers say that it is now. */
async function race(
  store: KeyStore,
  key: KeyRecord,
  first: Ending,
  second: Ending,
): Promise<KeyRecord> {
  const endings = [first, second];
  const wrote = await Promise.all(endings.map(async (each) => store.markEnded(key.keyId, each)));
  const written = endings.filter((_, side) => wrote[side] === true);
  const what = `${show(first)} against ${show(second)}`;
  if (first === second) {
    same(written.length, 1, `${what}: calls that wrote`);
  } else {
    const revoked = written.some((ending) => 'revokedAt' in ending);
    check(revoked, `${what}: a retirement kept the revocation out`);
  }
  let ended = key;
  for (const ending of written) {
    ended = { ...ended, ...ending };
  }
  return ended;
}

/**
 * Retires keys at every instant, and revokes keys that expire at every instant. The times must be
 * stored as they are, and a summary must go by the time that it is given, however far from now
 * these are.
 *
 * Catches: a deadline that is moved to the store's own time, or compared with it.
 */
export async function takesTimesAsGiven(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const times = INSTANTS.filter((_, index) => index % 2 === 0);
  const expiring = await Promise.all(
    times.map((time) => add({ createdAt: -time, expiresAt: time })),
  );
  for (const time of times) {
    const made = await add({ createdAt: time });
    const { keyId } = made;
    same(await store.markEnded(keyId, { retireAt: time }), true, `to retire at ${time}`);
    const used = { lastUsedAt: time, scopesUsed: { 'a:b': time } };
    await store.touch([{ keyId, ...used }]);
    await holds({ ...made, ...used, retireAt: time }, `ended at ${time}`);
  }
  for (const made of expiring) {
    await holds(made, `with an expiry at ${made.expiresAt}`);
  }
  if (takesTime(store)) await countsWhatEndsLater(fixture, times);
  for (const { keyId } of expiring) {
    const revoked = await store.markEnded(keyId, { revokedAt: TIME });
    same(revoked, true, 'to revoke what is long over');
  }
}

/**
 * At each of `times`, one of this test's keys expires and another is retired, which was last used
 * then. The newest use is that of live keys, however far the clock that asks is from the one that
 * wrote.
 */
async function countsWhatEndsLater(
  { scheme, summaryOf }: StoreFixture,
  times: readonly number[],
): Promise<void> {
  const clocks = [
    ...times.map((time, index) => time - (index % 2)),
    -Number.MAX_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER,
  ];
  for (const now of clocks) {
    const later = times.filter((time) => time > now);
    const expected: SchemeSummary[] = [];
    if (later.length > 0) {
      expected.push({ scheme, live: 2 * later.length, lastUsedAt: Math.max(...later) });
    }
    same(await summaryOf(now), expected, `live at ${now}`);
  }
}

/**
 * Calls `markEnded` with ids that no key has, with what is nearly an id, and with what is no text.
 * The answer must be false, or an error, and no record may change or be made.
 *
 * Catches: an upsert, a throw, and values that a driver reads as a condition.
 */
export async function endsNothingUnknown(fixture: StoreFixture): Promise<void> {
  const { store, entityUuid, add, holds, list } = fixture;
  const made = await add({ keyId: letteredUuid() });
  const { keyId, digest } = made;
  for (const ending of [revokeAt(TIME), retireAt(TIME)]) {
    same(await store.markEnded(uuid(), ending), false, 'markEnded of an unknown key id');
    for (const value of [...nearTexts(keyId), ...oddValues(keyId), digest, entityUuid]) {
      await misses(value, () => store.markEnded(value as string, ending));
    }
  }
  await holds(made, 'after others were to be ended');
  same(await list(), [made], 'no record was made');
}
