/**
 * `kill -9` in the middle of a rotation, on any store that an address names. A round throws if
 * anything is wrong, and counts what it saw.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KeyInfo, KeyStore } from 'keyscope';
import { isAccessError } from 'keyscope';
import { PLAIN } from './keyring.ts';
import { keyringOver, type PatientKeyring } from './patient-keyring.ts';
import { HOUR, type Left, type Raced, readLeft, verdict } from './races.ts';
import { type Child, isHanded, spareChildren } from './store-process.ts';

export interface Kills {
  readonly kills: number;
  /** How often the predecessor worked after the kill, until its `retireAt` if it had one. */
  predecessorAlive: number;
  /** Rotations that had answered before the kill. Their successors work. */
  handedOut: number;
  /** Successors that were never handed out, and that `list` shows. */
  visible: number;
  /** How often an operator could get a key afterwards, by another rotation or by issuing. */
  remedied: number;
  /** The moments at which the process was killed: moment → count. */
  readonly at: Record<string, number>;
}

/**
 * Kills a process at every moment of a rotation in turn, every second time while the process is
 * stopped. The moments: before, during (if the store answers with a promise) and after each of
 * three calls, then done but not reported, then reported.
 */
export async function killRotations(
  address: string,
  store: KeyStore,
  kills: number,
  first = 1,
): Promise<Kills> {
  const seen: Kills = { kills, predecessorAlive: 0, handedOut: 0, visible: 0, remedied: 0, at: {} };
  const isLocal = address.includes('sqlite');
  const moments = isLocal ? 8 : 11;
  for (const [i, child] of spareChildren(kills, address)) {
    const isStopped = Math.floor(i / moments) % 2 === 0;
    const moment = first + (i % moments);
    await killRound({ store, child, moment, isStopped, isLocal, seen });
  }
  return seen;
}

interface Kill {
  readonly store: KeyStore;
  readonly child: Child;
  /** The number of the moment at which the process is killed. */
  readonly moment: number;
  /** Whether the process stops at that moment; otherwise it runs on until the signal arrives. */
  readonly isStopped: boolean;
  readonly isLocal: boolean;
  readonly seen: Kills;
}

/** Kills a process at a moment of a rotation. Then this process checks the store. */
async function killRound(kill: Kill): Promise<void> {
  const { store, child, seen } = kill;
  const clock = { time: Date.now() };
  const keyring = keyringOver(store, () => clock.time);
  const entityId = randomUUID();
  const { key, info } = await keyring.issue(PLAIN, { entityId, scopes: 'all' });
  const raced: Raced = { entityId, old: { key, keyId: info.keyId } };

  const handed = await killedInRotation(kill, raced);
  const at = child.heard.at(-1) ?? '';
  seen.at[at] = (seen.at[at] ?? 0) + 1;

  const left = await readLeft(store, raced);
  checkLeft(kill, left);
  if (!isHanded(handed)) seen.visible += left.made.length;
  await checkPredecessor(keyring, clock, raced, left);
  seen.predecessorAlive += 1;
  if (isHanded(handed)) {
    const works = await verdict(keyring, handed.key);
    assert.equal(works, left.made[0]?.keyId, 'handed out, and works');
  }
  await remedy(keyring, raced, left, handed, seen);
}

/**
 * Asks for the rotation, kills the process at its moment, and returns its answer, if there was one.
 */
async function killedInRotation(kill: Kill, { entityId, old }: Raced): Promise<unknown> {
  const { child, moment, isStopped, isLocal } = kill;
  await child.ready;
  await child.ask('announce', isStopped ? moment : undefined);
  const there = new Promise<void>((resolve) => {
    child.onMoment = (_moment, count) => {
      if (count === moment) resolve();
    };
  });
  const answer = child.ask('rotate', entityId, old.keyId, HOUR);
  await Promise.race([there, child.gone]);
  await child.kill();
  const handed = await answer;
  // The server may still carry out a command that was in flight when the process died. The code
  // below checks again for even later effects.
  if (!isLocal) await sleep(30);
  return handed;
}

/**
 * Says whether a call of the store was certainly over, and whether it may have been in progress.
 */
function reached({ child, isStopped }: Kill, method: string) {
  const isOver = child.heard.includes(`${method} after`);
  const isUnderWay = child.heard.includes(`${method} during`);
  // It stopped at the moment that it announced last; otherwise it went on until the signal came.
  return { surely: isOver, maybe: !isStopped || isUnderWay || isOver };
}

function checkLeft(kill: Kill, { before, made, live }: Left): void {
  const inserted = reached(kill, 'insert');
  const retired = reached(kill, 'mark');
  const least = inserted.surely ? 1 : 0;
  const most = inserted.maybe ? 1 : 0;
  assert.ok(made.length >= least && made.length <= most, `${made.length} made`);
  if (before.retireAt === null) assert.ok(!retired.surely, 'it was retired, and is not');
  else assert.ok(retired.maybe, `retireAt is ${before.retireAt}, and nobody retired it`);
  const isFollowed = before.retireAt === null || made.length === 1;
  assert.ok(isFollowed, 'retired, and no successor to be seen');
  assert.equal(live.length, made.length, 'nobody has revoked a successor');
  assert.equal(before.revokedAt, null);
}

/** Checks that the predecessor lives until its `retireAt`, to the millisecond. */
async function checkPredecessor(
  keyring: PatientKeyring,
  clock: { time: number },
  { old }: Raced,
  { before }: Left,
): Promise<void> {
  assert.equal(await verdict(keyring, old.key), old.keyId, 'the predecessor is dead');
  if (before.retireAt === null) return;
  clock.time = before.retireAt - 1;
  const last = await verdict(keyring, old.key);
  assert.equal(last, old.keyId, 'the predecessor is dead before its time');
  clock.time = before.retireAt;
  const then = await verdict(keyring, old.key);
  assert.equal(then, 'retired', 'the predecessor outlives its time');
  clock.time = Date.now();
}

/**
 * Acts like an operator: rotates once more. If that is refused, revokes keys that nobody has, and
 * issues one.
 */
async function remedy(
  keyring: PatientKeyring,
  { entityId, old }: Raced,
  { before, made }: Left,
  handed: unknown,
  seen: Kills,
): Promise<void> {
  const by = { entityId, scopes: 'all' } as const;
  const again: KeyInfo | string = await keyring.rotate(old.keyId, { overlapMs: HOUR }, by).then(
    ({ info }) => info,
    (error: unknown) => (isAccessError(error) ? error.code : String(error)),
  );
  // Only one successor is ever handed out: the second rotation succeeds only if the first retired
  // nothing. If it is refused, this looks again: a busy server may have written the process' last
  // command after all.
  const now = await keyring.get(old.keyId, by);
  const late = again === 'conflict' && now !== null && 'retireAt' in now && now.retireAt !== null;
  const isRetired = before.retireAt !== null || late;
  assert.equal(typeof again !== 'object', isRetired, `a second rotation: ${String(again)}`);
  assert.ok(!isHanded(handed) || again === 'conflict', 'two successors were handed out');
  if (isHanded(handed)) seen.handedOut += 1;

  const { keys } = await keyring.list({ limit: 10 }, by);
  for (const { keyId } of made) {
    const isListed = keys.some(
      (key) => 'name' in key && key.keyId === keyId && key.rotatedFrom === old.keyId,
    );
    assert.ok(isListed, 'a successor that list does not show');
    if (!isHanded(handed)) await keyring.revoke(keyId, by);
  }
  const fresh = await keyring.issue(PLAIN, by);
  assert.equal(await verdict(keyring, fresh.key), fresh.info.keyId);
  seen.remedied += 1;
}
