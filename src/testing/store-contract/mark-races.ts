/** Tests of `mark` in parallel: each is one conditional write, so that one caller wins. */
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, Mark } from '../../core/store.js';
import { check, same, show } from '../assertions.js';
import { parallel } from './calls.js';
import { type StoreFixture, TIME, uuid } from './fixture.js';
import {
  after,
  replay,
  resumeAt,
  retireAt,
  revokeAt,
  type SentMark,
  suspendAt,
  withdrawAt,
} from './marks.js';
import { byDigest } from './order.js';

/**
 * Sends 20 marks of one kind to one key at once, for each kind. One call of the 20 must say that
 * it wrote, and what it sent must be what is stored.
 *
 * Catches: a check before the write: two rotations would both hand out a successor.
 */
export async function marksOnceInParallel(fixture: StoreFixture): Promise<void> {
  const guest = uuid();
  const kinds: readonly ((at: number) => Mark)[] = [
    revokeAt,
    suspendAt,
    retireAt,
    resumeAt,
    (at) => withdrawAt(at, guest),
  ];
  for (const markAt of kinds) {
    await oneOfTwentyMarks(fixture, markAt);
  }
}

async function oneOfTwentyMarks(
  { store, add, holds }: StoreFixture,
  markAt: (at: number) => Mark,
): Promise<void> {
  const marks = Array.from({ length: 20 }, (_, index) => markAt(TIME + index));
  const { kind } = markAt(TIME);
  const made = await add({ suspendedAt: kind === 'resume' ? TIME : null });
  const wrote = await Promise.all(marks.map(async (mark) => store.mark(made.keyId, mark)));
  const winners = marks.filter((_, index) => wrote[index] !== false);
  const answers = wrote.filter((answer) => answer !== false);
  same(answers, [true], `of 20 parallel marks of the kind ${kind} that wrote`);
  await holds(after(made, ...winners), `what the one ${kind} that wrote has sent`);
}

/**
 * Withdraws 20 entities from one key at once. All calls must write, and all entities must be
 * there.
 *
 * Catches: a list that is read, changed and written back.
 */
export async function withdrawsInParallel(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const guests = Array.from({ length: 20 }, uuid);
  const made = await add({ accessibleEntities: [fixture.entityUuid, ...guests] });
  const marks = guests.map((guest) => withdrawAt(TIME + 1, guest));
  const wrote = await Promise.all(marks.map(async (mark) => store.mark(made.keyId, mark)));
  const all = wrote.every((answer) => answer === true);
  check(all, 'of 20 entities that withdraw at once, some were told that they had before');
  const withdrawn = (await store.findById(made.keyId))?.withdrawn ?? [];
  same([...withdrawn].sort(), [...guests].sort(), 'withdrawn, after 20 parallel calls');
  await holds({ ...made, withdrawn, changedAt: TIME + 1 }, 'after 20 parallel calls');
}

/**
 * Sends ten calls to suspend and ten to resume one key, all at once. There must be as many of the
 * one kind that wrote as of the other, or one suspension more if the key is suspended now.
 *
 * Catches: a suspension that is resumed twice, or that is lost.
 */
export async function suspendsAndResumesInParallel(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const made = await add();
  const marks = Array.from({ length: 20 }, (_, index) =>
    index % 2 === 0 ? suspendAt(TIME + index) : resumeAt(TIME + index),
  );
  const wrote = await parallel(20, (index) => store.mark(made.keyId, marks[index] as Mark));
  const written = marks.filter((_, index) => wrote[index] === true);
  const suspensions = written.filter(({ kind }) => kind === 'suspend');
  const more = suspensions.length * 2 - written.length;
  const now = await store.findById(made.keyId);
  const isSuspended = now !== null && now.suspendedAt !== null;
  same(more, isSuspended ? 1 : 0, 'suspensions that wrote, less the calls to resume that did');
  // The newest mark is the last of its kind to be written: which, nobody knows from the outside.
  const kind = isSuspended ? 'suspend' : 'resume';
  const candidates = written.filter((mark) => mark.kind === kind);
  const newest = candidates.find(({ at }) => at === now?.changedAt);
  check(newest !== undefined, `changedAt is that of no ${kind} that wrote: ${show(now)}`);
  const ended = isSuspended ? after(made, newest) : { ...made, changedAt: newest.at };
  await holds(ended, 'after parallel calls to suspend and to resume');
}

// ── Races of two ────────────────────────────────────────────────────────────────────────────────

/** Two marks that are sent to one key at once. */
interface Race {
  /** Whether the key is suspended before. */
  readonly suspended: boolean;
  readonly marks: readonly [first: Mark, second: Mark];
}

/** How often each pair of marks meets; every other time the second is called first. */
const ROUNDS = 2;

/** Every pair of marks of which at least one may be written, those of one kind included. */
function everyRace(): readonly Race[] {
  // Those of one kind write the same: a write must not count as done because the row has its value.
  // Those of two kinds write different times, which tell which one was the last.
  const ofLiveKeys = [
    revokeAt(TIME + 1),
    suspendAt(TIME + 2),
    retireAt(TIME + 3),
    withdrawAt(TIME + 4, uuid()),
    withdrawAt(TIME + 5, uuid()),
  ];
  const ofSuspendedKeys = [...ofLiveKeys, resumeAt(TIME + 6)];
  return [...racesOf(ofLiveKeys, false), ...racesOf(ofSuspendedKeys, true)];
}

function racesOf(marks: readonly Mark[], suspended: boolean): readonly Race[] {
  return marks.flatMap((first, index) =>
    marks.slice(index).map((second) => ({ suspended, marks: [first, second] }) as const),
  );
}

/**
 * Lets every two kinds of marks meet on a live key and on a suspended one, either one first. The
 * answers and the record must be those of one mark written after the other, in either order.
 *
 * Catches: a retirement beside a suspension or a withdrawal that it did not see, a resumption that
 * undoes a revocation, and a write that counts as done because the row has its value already.
 */
export async function marksInPairs(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  const races = everyRace();
  for (let round = 0; round < ROUNDS; round++) {
    const keys = await Promise.all(races.map(({ suspended }) => addForRace(add, suspended)));
    const ended = await Promise.all(
      races.map(({ marks }, index) => race(store, keys[index] as KeyRecord, marks, round)),
    );
    // One look-up instead of as many as there are races.
    const found = await store.findByDigest(keys.map(({ digest }) => digest));
    const rows = byDigest(found);
    for (const [index, row] of rows.entries()) {
      const possible = ended.flat().filter(({ keyId }) => keyId === row.keyId);
      const isOne = possible.some((record) => show(record) === show(row));
      if (!isOne) same(row, possible[0], `after race ${index} of two marks`);
    }
    same(rows.length, races.length, 'records after the races');
  }
}

function addForRace(add: StoreFixture['add'], suspended: boolean): Promise<KeyRecord> {
  if (!suspended) return add();
  return add({ suspendedAt: TIME, endedBy: 'doubter', endReason: 'in doubt', changedAt: TIME });
}

/** Sends two marks at once, and returns the records that can be there according to the answers. */
async function race(
  store: KeyStore,
  key: KeyRecord,
  marks: Race['marks'],
  round: number,
): Promise<readonly KeyRecord[]> {
  const called = round % 2 === 0 ? marks : [...marks].reverse();
  const sent: readonly SentMark[] = await Promise.all(
    called.map(async (mark) => ({ mark, wrote: await store.mark(key.keyId, mark) })),
  );
  const orders = [sent, [...sent].reverse()];
  const possible = orders.flatMap((order) => replay(key, order) ?? []);
  const state = key.suspendedAt === null ? 'a live key' : 'a suspended key';
  check(possible.length > 0, `on ${state}, no order of the marks gives ${show(sent)}`);
  return possible;
}

// ── What others see meanwhile ───────────────────────────────────────────────────────────────────

/**
 * Looks a key up while it is marked. Each answer must be the record before the mark or the one
 * after it, and none may be the one before once another was the one after.
 *
 * Catches: a revocation whose seal is written afterwards, and marks of several statements.
 */
export async function marksInOneWrite(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  const guest = uuid();
  const marks = [withdrawAt(TIME, guest), suspendAt(TIME), revokeAt(TIME)];
  for (const mark of marks) {
    const made = await add();
    const marked = after(made, mark);
    let writing = true;
    const written = (async () => store.mark(made.keyId, mark))().finally(() => {
      writing = false;
    });
    // Awaited below, where it throws.
    written.catch(() => {});
    let seen = made;
    for (let looks = 0; writing && looks < 200; looks++) {
      const expected = [seen, marked].map(show);
      const row = await store.findById(made.keyId);
      check(row !== null, `a key cannot be found while it is marked, ${mark.kind}`);
      if (!expected.includes(show(row))) same(row, seen, `during ${mark.kind}`);
      seen = row;
    }
    await written;
  }
}
