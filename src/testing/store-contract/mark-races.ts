/** Tests that each `mark` is one conditional write, so that exactly one parallel caller wins. */
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

/** The marks of a suspended key, and of a revoked one that may be revoked again. */
const SUSPENDED = { suspendedAt: TIME, endedBy: 'doubter', changedAt: TIME };
const REVOKED = { revokedAt: TIME, endedBy: 'stranger', changedAt: TIME, seal: 'ab'.repeat(32) };

/** Revokes a key with the marks {@link REVOKED} again. */
function replaceAt(at: number): Mark {
  return { ...revokeAt(at), replaces: REVOKED.seal };
}

/**
 * Sends 20 marks of one kind to one key at once, for each kind. Exactly one call must return true,
 * and the record must contain its mark.
 *
 * Catches: checking before the write, which would let two rotations both create a successor.
 */
export async function marksOnceInParallel(fixture: StoreFixture): Promise<void> {
  const guest = uuid();
  await oneOfTwentyMarks(fixture, {}, revokeAt);
  await oneOfTwentyMarks(fixture, {}, suspendAt);
  await oneOfTwentyMarks(fixture, {}, retireAt);
  await oneOfTwentyMarks(fixture, {}, (at) => withdrawAt(at, guest));
  await oneOfTwentyMarks(fixture, SUSPENDED, resumeAt);
  await oneOfTwentyMarks(fixture, REVOKED, replaceAt);
}

async function oneOfTwentyMarks(
  { store, add, holds }: StoreFixture,
  given: Partial<KeyRecord>,
  markAt: (at: number) => Mark,
): Promise<void> {
  const marks = Array.from({ length: 20 }, (_, index) => markAt(TIME + index));
  const { kind } = markAt(TIME);
  const made = await add(given);
  const wrote = await Promise.all(marks.map(async (mark) => store.mark(made.keyId, mark)));
  const winners = marks.filter((_, index) => wrote[index] !== false);
  const answers = wrote.filter((answer) => answer !== false);
  same(answers, [true], `the answers other than false to 20 parallel ${kind} marks`);
  await holds(after(made, ...winners), `after 20 parallel ${kind} marks`);
}

/**
 * Withdraws 20 entities from one key at once. All calls must write, and the record must list all
 * entities.
 *
 * Catches: reading, changing and writing back the list.
 */
export async function withdrawsInParallel(fixture: StoreFixture): Promise<void> {
  const { store, add, holds } = fixture;
  const guests = Array.from({ length: 20 }, uuid);
  const made = await add({ accessibleEntities: [fixture.entityId, ...guests] });
  const marks = guests.map((guest) => withdrawAt(TIME + 1, guest));
  const wrote = await Promise.all(marks.map(async (mark) => store.mark(made.keyId, mark)));
  const all = wrote.every((answer) => answer === true);
  check(all, 'mark returned false for some of 20 entities that withdrew at once');
  const withdrawn = (await store.findById(made.keyId))?.withdrawn ?? [];
  same([...withdrawn].sort(), [...guests].sort(), 'withdrawn, after 20 parallel withdrawals');
  await holds({ ...made, withdrawn, changedAt: TIME + 1 }, 'after 20 parallel withdrawals');
}

/**
 * Sends ten calls to suspend and ten to resume one key, all at once. Equally many of both kinds
 * must write, or one more suspension if the key ends up suspended.
 *
 * Catches: resuming one suspension twice, or losing one.
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
  same(more, isSuspended ? 1 : 0, 'the suspensions that wrote, minus the resumptions that wrote');
  // From outside, any suspension that wrote may be the last one.
  const last = suspensions.find(({ at }) => at === now?.suspendedAt);
  const isKnown = last !== undefined || !isSuspended;
  check(isKnown, `suspendedAt is not the time of a suspension that wrote: ${show(now)}`);
  const ended = last === undefined ? made : after(made, last);
  const changedAt = Math.max(...written.map(({ at }) => at));
  await holds({ ...ended, changedAt }, 'after parallel suspensions and resumptions');
}

// ── Races of two ────────────────────────────────────────────────────────────────────────────────

/** Two marks to send to one key at once. */
interface Race {
  /** The key, for messages, and the marks that it has already. */
  readonly key: string;
  readonly given: Partial<KeyRecord>;
  readonly marks: readonly [first: Mark, second: Mark];
}

/** How often each pair of marks races; every other time the second mark is called first. */
const ROUNDS = 2;

/** Every pair of marks, at least one of which can be written, including pairs of one kind. */
function everyRace(): readonly Race[] {
  // Two marks of one kind write the same value: a store must not report success because the row has
  // it already. Marks of different kinds write different names, which reveal the last one.
  const ofLiveKeys = [
    revokeAt(TIME + 1),
    suspendAt(TIME + 2),
    retireAt(TIME + 3),
    withdrawAt(TIME + 4, uuid()),
    withdrawAt(TIME + 5, uuid()),
  ];
  const ofSuspendedKeys = [...ofLiveKeys, resumeAt(TIME + 6)];
  const ofRevokedKeys = [replaceAt(TIME + 7), replaceAt(TIME + 8), withdrawAt(TIME + 9, uuid())];
  return [
    ...racesOf('a live key', {}, ofLiveKeys),
    ...racesOf('a suspended key', SUSPENDED, ofSuspendedKeys),
    ...racesOf('a revoked key', REVOKED, ofRevokedKeys),
  ];
}

function racesOf(key: string, given: Partial<KeyRecord>, marks: readonly Mark[]): readonly Race[] {
  return marks.flatMap((first, index) =>
    marks.slice(index).map((second) => ({ key, given, marks: [first, second] }) as const),
  );
}

/**
 * Races every two kinds of marks on a live, a suspended and a revoked key, either one first. The
 * answers and the record must fit writing one mark after the other, in one of the two orders.
 *
 * Catches: a retirement that misses a concurrent suspension or withdrawal, a resumption that undoes
 * a revocation, and reporting success because the row already has the value.
 */
export async function marksInPairs(fixture: StoreFixture): Promise<void> {
  const { store, add } = fixture;
  const races = everyRace();
  for (let round = 0; round < ROUNDS; round++) {
    const keys = await Promise.all(races.map(({ given }) => add(given)));
    const ended = await Promise.all(
      races.map((each, index) => race(store, keys[index] as KeyRecord, each, round)),
    );
    // One look-up for all races.
    const found = await store.findByDigest(keys.map(({ digest }) => digest));
    const rows = byDigest(found);
    for (const [index, row] of rows.entries()) {
      const possible = ended.flat().filter(({ keyId }) => keyId === row.keyId);
      const isOne = possible.some((record) => show(record) === show(row));
      if (!isOne) same(row, possible[0], `the record after race ${index} of two marks`);
    }
    same(rows.length, races.length, 'how many records exist after the races');
  }
}

/** Sends two marks at once and returns the records that the answers allow. */
async function race(
  store: KeyStore,
  made: KeyRecord,
  { key, marks }: Race,
  round: number,
): Promise<readonly KeyRecord[]> {
  const called = round % 2 === 0 ? marks : [...marks].reverse();
  const sent: readonly SentMark[] = await Promise.all(
    called.map(async (mark) => ({ mark, wrote: await store.mark(made.keyId, mark) })),
  );
  const orders = [sent, [...sent].reverse()];
  const possible = orders.flatMap((order) => replay(made, order) ?? []);
  check(possible.length > 0, `on ${key}, the answers fit no order of the marks: ${show(sent)}`);
  return possible;
}

// ── Look-ups during a mark ──────────────────────────────────────────────────────────────────────

/**
 * Looks a key up during a mark. Each answer must be the record before or after the mark, and once
 * a look-up has seen the mark, all later ones must see it.
 *
 * Catches: writing the seal of a revocation later, and marks that take several statements.
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
    // Awaited below, which rethrows the error.
    written.catch(() => {});
    let seen = made;
    for (let looks = 0; writing && looks < 200; looks++) {
      const expected = [seen, marked].map(show);
      const row = await store.findById(made.keyId);
      check(row !== null, `findById returned null during a ${mark.kind} mark`);
      if (!expected.includes(show(row))) same(row, seen, `findById, during a ${mark.kind} mark`);
      seen = row;
    }
    await written;
  }
}
