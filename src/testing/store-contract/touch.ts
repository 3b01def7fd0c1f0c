/** Tests of `touch`: it moves times forward, loses nothing in parallel and undoes no mark. */
import type { Awaitable, Mark, UsageEntry } from '../../core/store.js';
import { same } from '../assertions.js';
import { overlap, succeeds } from './calls.js';
import { LAST, letteredUuid, type StoreFixture, TIME, uuid } from './fixture.js';
import { nearTexts, oddValues } from './hostile-values.js';
import { after, retireAt, revokeAt, suspendAt, withdrawAt } from './marks.js';

/**
 * Touches one key at times that go forward and back. What is stored must be the latest of them,
 * and a call that changes nothing must succeed all the same.
 *
 * Catches: late batches that move a time back, and times compared as text.
 */
export async function touchesForward(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const made = await add();
  const { keyId } = made;
  const steps = [
    // A time like any other, and later than never.
    { touchedAt: 0, expected: 0 },
    { touchedAt: TIME + 50, expected: TIME + 50 },
    { touchedAt: TIME + 40, expected: TIME + 50 },
    { touchedAt: TIME + 50, expected: TIME + 50 },
    { touchedAt: TIME + 51, expected: TIME + 51 },
    { touchedAt: 0, expected: TIME + 51 },
    { touchedAt: 9, expected: TIME + 51 },
    { touchedAt: TIME * 5, expected: TIME * 5 },
  ];
  for (const { touchedAt, expected } of steps) {
    const entry = { keyId, lastUsedAt: touchedAt, scopesUsed: {} };
    same(await succeeds(() => store.touch([entry])), true, 'touch succeeds');
    await holds({ ...made, lastUsedAt: expected }, `lastUsedAt after touch at ${touchedAt}`);
  }
}

/**
 * Touches one key with older, newer and new entries of `scopesUsed`. Each entry must move forward
 * by itself, and scopes that are not mentioned must stay.
 *
 * Catches: a table of scopes that is replaced, and one condition for all of them.
 */
export async function touchesEachScopeForward(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const before = { 'a:read': TIME + 10, 'b:read': TIME + 5 };
  const made = await add({ lastUsedAt: TIME + 10, scopesUsed: before });
  const { keyId } = made;
  const mixed = { 'a:read': TIME + 8, 'b:read': TIME + 8, 'c:read': TIME + 1 };
  await store.touch([{ keyId, lastUsedAt: TIME + 8, scopesUsed: mixed }]);
  const once = { 'a:read': TIME + 10, 'b:read': TIME + 8, 'c:read': TIME + 1 };
  const first = { ...made, scopesUsed: once };
  await holds(first, 'older for one scope, newer for another, new for a third');

  const others = { 'constructor:read': 9, 'z:z': 0 };
  await store.touch([{ keyId, lastUsedAt: TIME + 20, scopesUsed: others }]);
  const twice = { ...once, ...others };
  const second = { ...made, lastUsedAt: TIME + 20, scopesUsed: twice };
  await holds(second, 'scopes that are not mentioned stay');

  const longer = { 'constructor:read': 10, 'x:y': LAST };
  await store.touch([{ keyId, lastUsedAt: TIME + 21, scopesUsed: longer }]);
  const third = { ...made, lastUsedAt: TIME + 21, scopesUsed: { ...twice, ...longer } };
  await holds(third, 'times are numbers, not texts');
}

function entryOf(
  keyId: string,
  lastUsedAt: number,
  scopesUsed: UsageEntry['scopesUsed'] = {},
): UsageEntry {
  return { keyId, lastUsedAt, scopesUsed };
}

/**
 * Touches in one batch a key twice, another key once and an unknown key. Each known key must have
 * the latest of its times, and the unknown one must be ignored. Then it touches ids that are
 * nearly a known one, which must change nothing.
 *
 * Catches: a batch that fails because of one unknown key, and one that takes the last of two
 * entries.
 */
export async function touchesManyKeys(fixture: StoreFixture): Promise<void> {
  const { store, add, holds, list } = fixture;
  const made = await add({ keyId: letteredUuid() });
  const other = await add();
  const { keyId } = made;
  const unknown = uuid();
  await store.touch([]);
  await store.touch([
    entryOf(unknown, TIME + 1, { 'a:b': TIME }),
    entryOf(keyId, TIME + 3, { 'a:b': TIME + 3, 'c:d': TIME }),
    entryOf(unknown, TIME + 2),
    entryOf(other.keyId, TIME + 7, { 'a:b': TIME + 7 }),
    // Twice in one batch, the older one last.
    entryOf(keyId, TIME + 2, { 'a:b': TIME + 2, 'e:f': TIME + 2 }),
  ]);
  const scopesUsed = { 'a:b': TIME + 3, 'c:d': TIME, 'e:f': TIME + 2 };
  const touched = { ...made, lastUsedAt: TIME + 3, scopesUsed };
  await holds(touched, 'a batch');
  await holds({ ...other, lastUsedAt: TIME + 7, scopesUsed: { 'a:b': TIME + 7 } }, 'a batch');
  for (const odd of [...nearTexts(keyId), ...oddValues(keyId), made.digest]) {
    await succeeds(() => store.touch([entryOf(odd as string, TIME + 9)]));
  }
  await holds(touched, 'ids like it');
  same(await store.findById(unknown), null, 'an unknown key id in a batch');
  same((await list()).length, 2, 'records after a batch');
}

/**
 * Touches one key 20 times at once, each time with a scope of its own and one that all have. All
 * scopes must be there, and the shared one must have the latest time.
 *
 * Catches: a table of scopes that is read, changed and written back.
 */
export async function touchesInParallel(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const made = await add();
  const { keyId } = made;
  // 0 to 19 in no particular order: the newest is neither the first nor the last.
  const offsets = [7, 3, 19, 0, 11, 15, 1, 18, 5, 13, 9, 2, 17, 4, 16, 6, 14, 8, 12, 10];
  const entries = offsets.map((offset, index) => {
    const time = TIME + offset;
    return entryOf(keyId, time, { 'a:b': time, [`only:s${index}`]: time });
  });
  await Promise.all(entries.map(async (entry) => store.touch([entry])));
  const own = offsets.map((offset, index) => [`only:s${index}`, TIME + offset] as const);
  const scopesUsed = { 'a:b': TIME + 19, ...Object.fromEntries(own) };
  await holds({ ...made, lastUsedAt: TIME + 19, scopesUsed }, '20 parallel calls');
}

/** What happens to a key while other things happen to it; a pause is nothing, for a moment. */
type Step = 'touch' | 'mark' | 'pause';

/**
 * How touches and a mark of one key meet. Mostly with nothing after them: a later touch that
 * reads the mark would write it back.
 */
const MEETINGS: readonly (readonly Step[])[] = [
  ['touch', 'mark'],
  ['touch', 'touch', 'mark'],
  ['touch', 'touch', 'touch', 'touch', 'mark'],
  ['mark', 'touch'],
  ['mark', 'pause', 'touch'],
  ['mark', 'pause', 'pause', 'pause', 'touch'],
  ['touch', 'touch', 'mark', 'touch', 'touch'],
];

/**
 * Lets touches and a mark of one key meet in several orders, for each kind of mark. The mark must
 * be there afterwards, and so must the use.
 *
 * Catches: a whole record, or a mark, that is read and then written back over a revocation.
 */
export async function touchUndoesNoMark(fixture: StoreFixture): Promise<void> {
  // Not all at once: if calls wait for a free connection, they no longer meet.
  for (const meeting of MEETINGS) {
    await Promise.all([
      meet(fixture, meeting, revokeAt(TIME + 5)),
      meet(fixture, meeting, retireAt(TIME + 5)),
      meet(fixture, meeting, suspendAt(TIME + 5)),
      meet(fixture, meeting, withdrawAt(TIME + 5, uuid())),
    ]);
  }
}

async function meet(
  { store, add, holds }: StoreFixture,
  meeting: readonly Step[],
  mark: Mark,
): Promise<void> {
  const made = await add();
  const { keyId } = made;
  const scopesUsed = { 'a:b': TIME + 6 };
  const calls: Readonly<Record<Step, () => Awaitable<unknown>>> = {
    touch: () => store.touch([{ keyId, lastUsedAt: TIME + 6, scopesUsed }]),
    mark: () => store.mark(keyId, mark),
    pause: () => undefined,
  };
  const steps = meeting.map((step) => calls[step]);
  await overlap(store, steps);
  const marked = { ...after(made, mark), lastUsedAt: TIME + 6, scopesUsed };
  await holds(marked, `use recorded during ${mark.kind}, ${meeting.join(', ')}`);
  await store.touch([{ keyId, lastUsedAt: TIME + 7, scopesUsed }]);
  await holds({ ...marked, lastUsedAt: TIME + 7 }, `use recorded after ${mark.kind}`);
}
