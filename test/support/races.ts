/**
 * Rounds in which two processes race, on any store with an address. A round throws if it finds a
 * fault, and counts what it saw.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { KeyRecord, KeyStore } from 'keyscope';
import { isAccessError } from 'keyscope';
import { PLAIN } from './keyring.ts';
import { keyringOver, type PatientKeyring } from './patient-keyring.ts';
import { type Child, type Handed, isHanded, timesOf } from './store-process.ts';

export const HOUR = 3_600_000;

/** The environment of the rounds: a store in this process and two processes on the same address. */
export interface Arena {
  readonly store: KeyStore;
  readonly children: readonly [Child, Child];
}

/** Rounds in progress at once, each on a separate key and entity. */
export const AT_ONCE = 50;

export interface Races {
  readonly rounds: number;
  /** Rounds in which one call won and the other got nothing. */
  readonly oneWinner: number;
  /**
   * Rounds in which both had read before either had written, so that only the conditional write
   * decided.
   */
  readonly metAtTheWrite: number;
}

/** The key that a round is about. */
export interface Raced {
  readonly entityUuid: string;
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

/** Sends both processes their task at once, in alternating order. They answer in any order. */
async function race(arena: Arena, count: number, tasksOf: (i: number) => Tasks): Promise<Round[]> {
  const keyring = keyringOver(arena.store);
  const reversed = arena.children.toReversed();

  async function prepare(i: number): Promise<() => Promise<Round>> {
    const entityUuid = randomUUID();
    const { key, info } = await keyring.issue(PLAIN, { entityUuid, scopes: 'all' });
    const { keyId } = info;
    const tasks = tasksOf(i);
    const children = i % 2 === 0 ? arena.children : reversed;
    return async () => {
      const asked = children.map((child, which) => {
        const { name, given } = tasks[which] as Task;
        return child.ask(name, entityUuid, keyId, given);
      });
      const answers = (await Promise.all(asked)) as [unknown, unknown];
      return { entityUuid, old: { key, keyId }, answers };
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
  /** The key that both processes worked on. */
  readonly before: KeyRecord;
  /** The keys created from it. */
  readonly made: readonly KeyRecord[];
  /** The ids of those that are not revoked. */
  readonly live: readonly string[];
}

export async function readLeft(store: KeyStore, { entityUuid, old }: Raced): Promise<Left> {
  const rows = await store.list({ prefix: 'acme', entityUuid, after: null, limit: 100 });
  const made = rows.filter(({ rotatedFrom }) => rotatedFrom === old.keyId);
  const before = rows.find(({ keyId }) => keyId === old.keyId);
  assert.ok(before, 'the predecessor is not listed');
  assert.equal(rows.length, made.length + 1, 'keys that no process requested');
  const live = made.filter(({ revokedAt }) => revokedAt === null).map(({ keyId }) => keyId);
  return { before, made, live };
}

/** The outcome of `verify` for a key: its id, or why it is refused. */
export function verdict(keyring: PatientKeyring, key: string): Promise<unknown> {
  return keyring.verify(key).then(
    (principal) => principal.keyId,
    (error: unknown) => (isAccessError(error) ? error.reason : error),
  );
}

/**
 * Two processes rotate one key at once. One gets a successor, the other a conflict, and the key
 * that the loser had created is revoked.
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
    assert.deepEqual(live, handedOut, 'the live successors are those that were handed out');
    for (const { key, keyId } of winners) assert.equal(await verdict(keyring, key), keyId);
    assert.notEqual(before.retireAt, null, 'the predecessor is retiring');
    assert.equal(before.revokedAt, null, 'the predecessor is not revoked');
    assert.equal(
      await verdict(keyring, old.key),
      old.keyId,
      'the predecessor works during its overlap',
    );
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
 * One process revokes what the other rotates. In either order the key ends up revoked. If the
 * rotation came first, its successor lives: it is another key, named in the answer. If the
 * revocation came first, nothing usable was created.
 */
export async function revokeAgainstRotate(arena: Arena, rounds: number): Promise<RevocationRaces> {
  const keyring = keyringOver(arena.store);
  let metAtTheWrite = 0;
  let rotations = 0;
  // Alternates which process is asked first, and delays the revocation by up to three look-ups.
  const isRevokedFirst = (i: number) => i % 4 < 2;
  const raced = await race(arena, rounds, (i) => {
    const revoke: Task = { name: 'revoke', given: Math.floor(i / 4) % 4 };
    return isRevokedFirst(i) ? [revoke, ROTATE] : [ROTATE, revoke];
  });
  for (const [i, round] of raced.entries()) {
    const revoked = round.answers[isRevokedFirst(i) ? 0 : 1];
    const rotated = round.answers[isRevokedFirst(i) ? 1 : 0];
    const { revoked: isRevoked, to } = timesOf(revoked);
    assert.equal(
      isRevoked,
      true,
      `a revocation succeeds, whatever else is going on, but got ${revoked}`,
    );
    const left = await readLeft(arena.store, round);
    assert.notEqual(left.before.revokedAt, null, 'the predecessor is revoked');
    assert.equal(await verdict(keyring, round.old.key), 'revoked');
    if (isHanded(rotated)) {
      await checkRotatedFirst(keyring, left, rotated, to);
      rotations += 1;
    } else {
      checkRevokedFirst(left, rotated);
      // Only the write reports `conflict`: the key was live when the process read it.
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
  assert.deepEqual(live, [keyId], 'the live successor is the one that was handed out');
  assert.equal(await verdict(keyring, key), keyId);
  assert.notEqual(before.retireAt, null, 'a rotation that succeeds retires');
  // The rotation sent its write before the revocation was acknowledged. After that, it hands out no
  // successor.
  const { from } = timesOf(rotated);
  assert.ok(from !== undefined && revokedAt !== undefined, 'both report when they wrote');
  assert.ok(from < revokedAt, 'a key that had been revoked was rotated');
}

function checkRevokedFirst({ before, live }: Left, rotated: unknown): void {
  const late = /^(?:conflict|invalid_token)$/;
  assert.match(String(rotated), late, 'a rotation that comes too late is denied');
  assert.deepEqual(live, [], 'a rotation that was refused leaves no key behind');
  assert.equal(before.retireAt, null, 'a rotation that was refused retires nothing');
}
