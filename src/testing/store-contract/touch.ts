/** Tests that `touch` moves times forward, loses no update and never undoes a mark. */
import type { Awaitable, Mark, UsageEntry } from '../../core/store.js';
import { same } from '../assertions.js';
import { overlap, succeeds } from './calls.js';
import { LAST, letteredUuid, type StoreFixture, TIME, uuid } from './fixture.js';
import { nearTexts, oddValues } from './hostile-values.js';
import { after, retireAt, revokeAt, suspendAt, withdrawAt } from './marks.js';

/**
 * Touches one key at times that go forward and back. The store must keep the latest one, and a call
 * that changes nothing must succeed too.
 *
 * Catches: late batches that move a time back, and times compared as text.
 */
export async function touchesForward(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const made = await add();
  const { keyId } = made;
  const steps = [
    // 0 is a time like any other, and later than null.
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
    const done = await succeeds(() => store.touch([entry]));
    same(done, true, `whether touch at ${touchedAt} succeeds`);
    await holds({ ...made, lastUsedAt: expected }, `after touch at ${touchedAt}`);
  }
}

/**
 * Touches one key with older, newer and new entries of `scopesUsed`. Each entry must move forward
 * on its own, and unmentioned scopes must stay.
 *
 * Catches: replacing the whole table of scopes, and using one condition for all scopes.
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
  await holds(first, 'after touch with an older, a newer and a new scope');

  const others = { 'constructor:read': 9, 'z:z': 0 };
  await store.touch([{ keyId, lastUsedAt: TIME + 20, scopesUsed: others }]);
  const twice = { ...once, ...others };
  const second = { ...made, lastUsedAt: TIME + 20, scopesUsed: twice };
  await holds(second, 'after touch with other scopes');

  const longer = { 'constructor:read': 10, 'x:y': LAST };
  await store.touch([{ keyId, lastUsedAt: TIME + 21, scopesUsed: longer }]);
  const third = { ...made, lastUsedAt: TIME + 21, scopesUsed: { ...twice, ...longer } };
  await holds(third, 'after touch with times that sort differently as text');
}

function entryOf(
  keyId: string,
  lastUsedAt: number,
  scopesUsed: UsageEntry['scopesUsed'] = {},
): UsageEntry {
  return { keyId, lastUsedAt, scopesUsed };
}

/**
 * Touches one key twice, another key once and an unknown key in one batch. Each known key must have
 * the latest of its times; the store must ignore the unknown key. Then it touches ids that almost
 * match a known one, which must change nothing.
 *
 * Catches: a batch that fails because of one unknown key, and one that keeps the last of two
 * entries instead of the latest.
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
  await holds(touched, 'a key touched twice in a batch');
  const used = { lastUsedAt: TIME + 7, scopesUsed: { 'a:b': TIME + 7 } };
  await holds({ ...other, ...used }, 'a key touched once in a batch');
  for (const odd of [...nearTexts(keyId), ...oddValues(keyId), made.digest]) {
    await succeeds(() => store.touch([entryOf(odd as string, TIME + 9)]));
  }
  await holds(touched, 'after touching similar key ids');
  same(await store.findById(unknown), null, 'findById with an unknown key id from a batch');
  same((await list()).length, 2, 'how many records list returns after a batch');
}

/**
 * Touches one key 20 times at once, each time with a new scope and a shared one. The store must
 * keep all scopes, and the latest time of the shared one.
 *
 * Catches: reading, changing and writing back the table of scopes.
 */
export async function touchesInParallel(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const made = await add();
  const { keyId } = made;
  // 0 to 19 in mixed order: the newest is neither the first nor the last.
  const offsets = [7, 3, 19, 0, 11, 15, 1, 18, 5, 13, 9, 2, 17, 4, 16, 6, 14, 8, 12, 10];
  const entries = offsets.map((offset, index) => {
    const time = TIME + offset;
    return entryOf(keyId, time, { 'a:b': time, [`only:s${index}`]: time });
  });
  await Promise.all(entries.map(async (entry) => store.touch([entry])));
  const own = offsets.map((offset, index) => [`only:s${index}`, TIME + offset] as const);
  const scopesUsed = { 'a:b': TIME + 19, ...Object.fromEntries(own) };
  await holds({ ...made, lastUsedAt: TIME + 19, scopesUsed }, 'after 20 parallel calls of touch');
}

/** A step in a sequence of overlapping calls; a pause does nothing. */
type Step = 'touch' | 'mark' | 'pause';

/**
 * Sequences of touches and a mark. Most end with the mark, because a later touch that reads the
 * mark would restore it.
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
 * Overlaps touches and a mark of one key in several orders, for each kind of mark. The record must
 * keep both the mark and the use.
 *
 * Catches: reading a record and writing it back over a revocation.
 */
export async function touchUndoesNoMark(fixture: StoreFixture): Promise<void> {
  // Not all at once: calls that wait for a free connection no longer overlap.
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
  await holds(marked, `after overlapping ${meeting.join(', ')}, with a ${mark.kind} mark`);
  await store.touch([{ keyId, lastUsedAt: TIME + 7, scopesUsed }]);
  await holds({ ...marked, lastUsedAt: TIME + 7 }, `touch after a ${mark.kind} mark`);
}
