/**
 * Rounds of two processes that race, on any store that an address names. A round throws if anything
 * is wrong, and counts what it saw.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { KeyRecord, KeyStore } from 'keyscope';
import { isAccessError } from 'keyscope';
import { PLAIN } from './keyring.ts';
import { keyringOver, type PatientKeyring } from './patient-keyring.ts';
import { type Child, type Handed, isHanded, timesOf } from './store-process.ts';

export const HOUR = 3_600_000;

/** The setting of the rounds: a store of this process, and two processes on the same address. */
export interface Arena {
  readonly store: KeyStore;
  readonly children: readonly [Child, Child];
}

/** The number of simultaneous rounds, each on a separate key and entity. */
export const AT_ONCE = 50;

export interface Races {
  readonly rounds: number;
  /** Rounds in which one call won, and the other got nothing. */
  readonly oneWinner: number;
  /**
   * Rounds in which both had looked before either had written, so that only the conditional write
   * decided.
   */
  readonly metAtTheWrite: number;
}

/** The key of a round. */
export interface Raced {
  readonly entityId: string;
  readonly old: Handed;
}

/** A finished round. */
interface Round extends Raced {
  /** In the order of the tasks. */
  readonly answers: readonly [unknown, unknown];
}

interface Task {
  readonly name: 'rotate' | 'revoke';
  /** The overlap of a rotation, or the number of look-ups before a revocation. */
  readonly given: number;
}

type Tasks = readonly [Task, Task];

const ROTATE: Task = { name: 'rotate', given: HOUR };

/** Gives both processes their tasks at once, in alternating order. */
async function race(arena: Arena, count: number, tasksOf: (i: number) => Tasks): Promise<Round[]> {
  const keyring = keyringOver(arena.store);
  const reversed = arena.children.toReversed();

  async function prepare(i: number): Promise<() => Promise<Round>> {
    const entityId = randomUUID();
    const { key, info } = await keyring.issue(PLAIN, { entityId, scopes: 'all' });
    const { keyId } = info;
    const tasks = tasksOf(i);
    const children = i % 2 === 0 ? arena.children : reversed;
    return async () => {
      const asked = children.map((child, which) => {
        const { name, given } = tasks[which] as Task;
        return child.ask(name, entityId, keyId, given);
      });
      const answers = (await Promise.all(asked)) as [unknown, unknown];
      return { entityId, old: { key, keyId }, answers };
    };
  }

  const done: Round[] = [];
  for (let from = 0; from < count; from += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - from);
    const numbers = Array.from({ length: size }, (_, i) => from + i);
    const starts = await Promise.all(numbers.map(prepare));
    done.push(...(await Promise.all(starts.map((start) => start()))));
  }
  return done;
}

/** The result of a round, as this process sees it. */
export interface Left {
  /** The key before the race. */
  readonly before: KeyRecord;
  /** The successors that were made. */
  readonly made: readonly KeyRecord[];
  /** The ids of the successors that are not revoked. */
  readonly live: readonly string[];
}

export async function readLeft(store: KeyStore, { entityId, old }: Raced): Promise<Left> {
  const rows = await store.list({ prefix: 'acme', entityId, after: null, limit: 100 });
  const made = rows.filter(({ rotatedFrom }) => rotatedFrom === old.keyId);
  const before = rows.find(({ keyId }) => keyId === old.keyId);
  assert.ok(before, 'the predecessor is not listed');
  assert.equal(rows.length, made.length + 1, 'keys that nobody asked for');
  const live = made.filter(({ revokedAt }) => revokedAt === null).map(({ keyId }) => keyId);
  return { before, made, live };
}

/** Returns the id of a key that `verify` accepts, or the reason why it is refused. */
export function verdict(keyring: PatientKeyring, key: string): Promise<unknown> {
  return keyring.verify(key).then(
    (principal) => principal.keyId,
    (error: unknown) => (isAccessError(error) ? error.reason : error),
  );
}

/**
 * Lets two processes rotate one key at once. One gets its successor, the other a conflict, and the
 * key that it had made ends.
 */
export async function rotateAgainstRotate(arena: Arena, rounds: number): Promise<Races> {
  const keyring = keyringOver(arena.store);
  let oneWinner = 0;
  let metAtTheWrite = 0;
  for (const round of await race(arena, rounds, () => [ROTATE, ROTATE])) {
    const { old, answers } = round;
    const winners = answers.filter(isHanded);
    const others = answers.filter((answer) => !isHanded(answer));
    assert.deepEqual(others, ['conflict'], 'of two rotations one is refused');
    const { before, made, live } = await readLeft(arena.store, round);
    const handedOut = winners.map(({ keyId }) => keyId);
    assert.deepEqual(live, handedOut, 'the successors that live are those that were handed out');
    for (const { key, keyId } of winners) assert.equal(await verdict(keyring, key), keyId);
    assert.notEqual(before.retireAt, null, 'the predecessor is retiring');
    assert.equal(before.revokedAt, null, 'the predecessor is not revoked');
    assert.equal(await verdict(keyring, old.key), old.keyId, 'and works in its overlap');
    oneWinner += winners.length;
    metAtTheWrite += made.length - 1;
  }
  return { rounds, oneWinner, metAtTheWrite };
}

export interface RevocationRaces extends Races {
  /** Rounds in which the rotation came first. */
  readonly rotations: number;
}

/**
 * Lets one process revoke a key while the other rotates it. In any order, the key is revoked. If
 * the rotation came first, its successor lives: it is another key, and the answer named it. If the
 * revocation came first, no usable key was made.
 */
export async function revokeAgainstRotate(arena: Arena, rounds: number): Promise<RevocationRaces> {
  const keyring = keyringOver(arena.store);
  let metAtTheWrite = 0;
  let rotations = 0;
  // Each is asked first in turn, and the revocation is delayed by up to three look-ups.
  const isRevokedFirst = (i: number) => i % 4 < 2;
  const raced = await race(arena, rounds, (i) => {
    const revoke: Task = { name: 'revoke', given: Math.floor(i / 4) % 4 };
    return isRevokedFirst(i) ? [revoke, ROTATE] : [ROTATE, revoke];
  });
  for (const [i, round] of raced.entries()) {
    const revoked = round.answers[isRevokedFirst(i) ? 0 : 1];
    const rotated = round.answers[isRevokedFirst(i) ? 1 : 0];
    const { revoked: isRevoked, to } = timesOf(revoked);
    assert.equal(isRevoked, true, `a revocation is done, whatever else goes on, not ${revoked}`);
    const left = await readLeft(arena.store, round);
    assert.notEqual(left.before.revokedAt, null, 'the predecessor is revoked');
    assert.equal(await verdict(keyring, round.old.key), 'revoked');
    if (isHanded(rotated)) {
      await checkRotatedFirst(keyring, left, rotated, to);
      rotations += 1;
    } else {
      checkRevokedFirst(left, rotated);
      // A successor was made, so the key was live at the look-up.
      metAtTheWrite += left.made.length;
    }
  }
  return { rounds, oneWinner: raced.length, metAtTheWrite, rotations };
}

async function checkRotatedFirst(
  keyring: PatientKeyring,
  { before, live }: Left,
  rotated: Handed,
  revokedAt: number | undefined,
): Promise<void> {
  const { key, keyId } = rotated;
  assert.deepEqual(live, [keyId], 'the successor that was handed out is the one that lives');
  assert.equal(await verdict(keyring, key), keyId);
  assert.notEqual(before.retireAt, null, 'a rotation that succeeds retires');
  // Its write was sent before the revocation was acknowledged: after that, no successor is handed
  // out.
  const { from } = timesOf(rotated);
  assert.ok(from !== undefined && revokedAt !== undefined, 'both say when they wrote');
  assert.ok(from < revokedAt, 'a key that had been revoked was rotated');
}

function checkRevokedFirst({ before, live }: Left, rotated: unknown): void {
  assert.equal(rotated, 'conflict', 'a rotation that comes too late is denied');
  assert.deepEqual(live, [], 'a rotation that was refused leaves no key behind');
  assert.equal(before.retireAt, null, 'a rotation that was refused retires nothing');
}
