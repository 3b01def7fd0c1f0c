/** Tests of single `mark` calls: when they write, and which fields. */
import type { KeyRecord } from '../../core/record.js';
import type { Mark } from '../../core/store.js';
import { applyMark } from '../../stores/marks.js';
import { same, show } from '../assertions.js';
import { LAST, letteredUuid, randomHex, type StoreFixture, TIME, uuid } from './fixture.js';
import { FRAGMENTS, misses, nearTexts, oddValues } from './hostile-values.js';
import { INSTANTS } from './instants.js';
import { after, resumeAt, retireAt, revokeAt, suspendAt, withdrawAt } from './marks.js';

/** The fields that the conditions of marks depend on. */
type Marks = Pick<KeyRecord, 'revokedAt' | 'suspendedAt' | 'retireAt' | 'withdrawn' | 'seal'>;

/** The seal of half of the keys, and a different one. */
const SEAL = 'ab'.repeat(32);
const OTHER_SEAL = 'ba'.repeat(32);

/** An expiry and a mark later than all marks of the tests. */
const FUTURE = { expiresAt: LAST, changedAt: LAST };

/** Two entities that can withdraw. */
type Entities = readonly [first: string, second: string];

/** Every combination of marks that a key can have. */
function everyState([first, second]: Entities): readonly Marks[] {
  const times = [null, TIME + 1];
  const lists = [[], [first], [second, first]];
  return times.flatMap((revokedAt) =>
    times.flatMap((suspendedAt) =>
      times.flatMap((retireAt) =>
        lists.flatMap((withdrawn) =>
          [null, SEAL].map((seal) => ({ revokedAt, suspendedAt, retireAt, withdrawn, seal })),
        ),
      ),
    ),
  );
}

/** Every kind of mark, with every value that its condition depends on. */
function everyMark([first, second]: Entities): readonly Mark[] {
  const at = TIME + 9;
  const retire = retireAt(at);
  return [
    revokeAt(at),
    { ...revokeAt(at), replaces: null },
    { ...revokeAt(at), replaces: '' },
    { ...revokeAt(at), replaces: SEAL },
    { ...revokeAt(at), replaces: SEAL, by: null, reason: null, seal: null },
    { ...revokeAt(at), replaces: OTHER_SEAL, seal: null },
    { ...revokeAt(at), replaces: SEAL.toUpperCase() },
    suspendAt(at),
    resumeAt(at),
    retire,
    { ...retire, withdrawn: [], retireAt: TIME },
    { ...retire, withdrawn: [first] },
    { ...retire, withdrawn: [second, first], by: null, reason: null },
    { ...retire, withdrawn: [first, second] },
    withdrawAt(at, first),
    withdrawAt(at, second),
  ];
}

/**
 * Writes every mark to keys in every state. A mark may write only if its condition holds, and only
 * its own fields. Nothing else about the key may matter or change.
 *
 * Catches: missing or extra conditions, a revocation that ignores the seal that it replaces, leaves
 * the old seal or moves `revokedAt`, a `changedAt` that goes back, and writing other fields.
 */
export async function marksWhereItMay(fixture: StoreFixture): Promise<void> {
  const entities = [uuid(), uuid()] as const;
  const states = everyState(entities);
  await Promise.all(
    states.map(async (state, index) => {
      for (const mark of everyMark(entities)) {
        // Neither use nor a past or future expiry is a condition. Half of the keys were marked
        // before this mark; the others were marked by a faster clock.
        const isOlder = Math.floor(index / 2) % 2 === 0;
        const times = isOlder ? { expiresAt: 0, changedAt: TIME + 2 } : FUTURE;
        await marksOneWhereItMay(fixture, { ...state, ...times }, entities, mark);
      }
    }),
  );
}

async function marksOneWhereItMay(
  fixture: StoreFixture,
  state: Partial<KeyRecord>,
  entities: Entities,
  given: Mark,
): Promise<void> {
  const { store, entityId, add, holds } = fixture;
  const made = await add({
    ...state,
    accessibleEntities: [entityId, ...entities],
    endedBy: 'somebody',
    endReason: 'something',
    lastUsedAt: TIME,
    scopesUsed: { 'a:b': TIME },
  });
  const mark = sealedLike(made, given);
  const marked = applyMark(made, mark);
  const what = `mark ${show(mark)} on a key with ${show(state)}`;
  same(await store.mark(made.keyId, mark), marked !== null, `${what}: the answer`);
  await holds(marked ?? made, what);
}

/** Returns the mark without a seal if the key has none: a store may refuse to add a seal. */
function sealedLike({ seal }: KeyRecord, mark: Mark): Mark {
  return mark.kind === 'revoke' && seal === null ? { ...mark, seal } : mark;
}

/**
 * Writes each mark to one key repeatedly, with earlier, later and equal times. Only the first call
 * of each kind may write, and its time must stay until another mark undoes it.
 *
 * Catches: a later call that moves the time of the first, and treating 0 as no mark.
 */
export async function marksOnce(fixture: StoreFixture): Promise<void> {
  for (const at of [TIME, 0, 10 - LAST]) {
    await marksOneOnce(fixture, at);
  }
}

async function marksOneOnce({ store, add, holds }: StoreFixture, at: number): Promise<void> {
  const guest = uuid();
  let expected = await add();
  const { keyId } = expected;
  const rounds: readonly (readonly [first: Mark, ...others: Mark[]])[] = [
    [withdrawAt(at, guest), withdrawAt(at + 5, guest), withdrawAt(at - 5, guest)],
    [retiring(at, guest), retiring(at + 10, guest), retiring(at - 10, guest)],
    [suspendAt(at), suspendAt(at + 4), suspendAt(at - 4), retiring(at, guest)],
    [resumeAt(at), resumeAt(at + 3), retiring(at + 3, guest)],
    [suspendAt(at + 1), suspendAt(at + 2), withdrawAt(at, guest)],
    [revokeAt(at), revokeAt(at + 4), revokeAt(at - 4), suspendAt(at), resumeAt(at + 9)],
  ];
  for (const [first, ...others] of rounds) {
    same(await store.mark(keyId, first), true, `mark ${show(first)}, the first of its kind`);
    expected = after(expected, first);
    for (const other of others) {
      same(await store.mark(keyId, other), false, `mark ${show(other)}, after ${show(first)}`);
    }
    await holds(expected, `after mark ${show(first)} and ${others.length} late ones`);
  }
}

function retiring(at: number, guest: string): Mark {
  return { ...retireAt(at), withdrawn: [guest] };
}

/**
 * Writes marks with hostile, empty, missing and the longest texts, with and without a seal. A key
 * from which 999 entities withdraw must keep all of them, in their order.
 *
 * Catches: texts concatenated into a statement, empty texts that become null, short columns, and a
 * list kept as a set.
 */
export async function keepsWhatMarksSay(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const texts = [null, '', ' ', 'null', '🦊'.repeat(200), 'Zu\u0308rich', '\ufeff', ...FRAGMENTS];
  for (const [index, by] of texts.entries()) {
    const reason = texts[(index + 1) % texts.length] ?? null;
    const made = await add({ endedBy: 'before', endReason: 'before' });
    const { keyId } = made;
    const retire: Mark = { ...retireAt(TIME + 1), by, reason };
    const suspend: Mark = { ...suspendAt(TIME + 2), by: reason, reason: by };
    const seal = index % 2 === 0 ? null : randomHex();
    const revoke: Mark = { ...revokeAt(TIME + 3), by, reason, seal, replaces: undefined };
    const marks = [retire, suspend, revoke];
    for (const [place, mark] of marks.entries()) {
      same(await store.mark(keyId, mark), true, `mark ${show(mark)}`);
      await holds(after(made, ...marks.slice(0, place + 1)), `after ${show(mark)}`);
    }
  }
  await keepsEveryWithdrawal(fixture);
}

async function keepsEveryWithdrawal(fixture: StoreFixture): Promise<void> {
  const { store, entityId, add, holds } = fixture;
  const guests = Array.from({ length: 999 }, uuid);
  const accessibleEntities = [...guests, entityId].reverse();
  const made = await add({ accessibleEntities, withdrawn: guests.slice(0, -3) });
  const marks = guests.slice(-3).map((guest, index) => withdrawAt(TIME + index, guest));
  for (const mark of marks) {
    same(await store.mark(made.keyId, mark), true, `mark ${show(mark)}, after 996 withdrawals`);
  }
  await holds(after(made, ...marks), 'a key from which 999 entities withdrew');
  const retire: Mark = { ...retireAt(TIME + 3), withdrawn: guests };
  const fewer: Mark = { ...retire, withdrawn: guests.slice(1) };
  same(await store.mark(made.keyId, fewer), false, 'retire on condition of 998 of 999 withdrawals');
  same(await store.mark(made.keyId, retire), true, 'retire on condition of all 999 withdrawals');
}

/**
 * Writes marks of every kind at every time of {@link INSTANTS}. The store must keep the times
 * unchanged, however distant.
 *
 * Catches: replacing the time of a mark with the store's own time, or comparing the two.
 */
export async function takesTimesAsGiven(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  for (const [index, at] of INSTANTS.entries()) {
    // The next time in the list, so that the two differ.
    const other = INSTANTS[(index + 1) % INSTANTS.length] ?? 0;
    const made = await add({ createdAt: at, expiresAt: at });
    const marks: readonly Mark[] = [
      { ...retireAt(at), retireAt: other },
      withdrawAt(at, uuid()),
      suspendAt(at),
      resumeAt(other),
      suspendAt(other),
      revokeAt(at),
    ];
    for (const [place, mark] of marks.entries()) {
      same(await store.mark(made.keyId, mark), true, `mark ${show(mark)}`);
      await holds(after(made, ...marks.slice(0, place + 1)), `marked at ${at}`);
    }
  }
}

/**
 * Marks unknown ids, ids that almost match, and values that are not text. The call must return
 * false or, if the value is not a valid id, throw. No record may change or appear.
 *
 * Catches: an upsert, throwing on an unknown id, and values that a driver reads as a condition.
 */
export async function marksNothingUnknown(fixture: StoreFixture): Promise<void> {
  const { store, entityId, add, holds, list } = fixture;
  const live = await add({ keyId: letteredUuid(), createdAt: TIME + 1 });
  const suspended = await add({ keyId: letteredUuid(), suspendedAt: TIME });
  const marks = [
    revokeAt(TIME),
    suspendAt(TIME),
    retireAt(TIME),
    resumeAt(TIME),
    withdrawAt(TIME, uuid()),
  ];
  for (const mark of marks) {
    same(await store.mark(uuid(), mark), false, `mark ${mark.kind} on an unknown key id`);
    const { keyId, digest } = mark.kind === 'resume' ? suspended : live;
    for (const value of [...nearTexts(keyId), ...oddValues(keyId), digest, entityId]) {
      await misses(value, () => store.mark(value as string, mark));
    }
  }
  await holds(live, 'a live key, after marks on other ids');
  await holds(suspended, 'a suspended key, after marks on other ids');
  same(await list(), [live, suspended], 'list, after marks on other ids');
}
