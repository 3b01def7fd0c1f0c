/** A rotation, and another call at each moment during it. */
import type { KeyRecord, KeyState } from 'keyscope';
import { isAccessError } from 'keyscope';
import { memoryStore } from 'keyscope/stores/memory';
import { describe, expect, it } from 'vitest';
import {
  AUTHORITY,
  delayed,
  denied,
  HOUR,
  issue,
  OTHER,
  OWN,
  type Ring,
  rowOf,
  START,
  setUp,
  tampering,
  wrap,
} from '../support/keyring.ts';
import { keysOf, type Moment, meanwhile, successorsOf } from '../support/managing.ts';
import { outcome } from '../support/outcome.ts';
import { issueWide, WIDE } from '../support/wide.ts';

type Act = (keyring: Ring, keyId: string) => Promise<unknown>;

const suspend: Act = (keyring, keyId) => keyring.suspend(keyId, AUTHORITY);
const withdraw: Act = (keyring, keyId) => keyring.withdraw(keyId, { entityId: OTHER });
const revoke: Act = (keyring, keyId) => keyring.revoke(keyId, AUTHORITY);
const revokeAll: Act = (keyring, keyId) => keyring.revokeLineage(keyId, AUTHORITY);
const rotate: Act = (keyring, keyId) => keyring.rotate(keyId, { overlapMs: HOUR }, WIDE);
const touchAndGo: Act = async (keyring, keyId) => {
  await suspend(keyring, keyId);
  await keyring.resume(keyId, AUTHORITY);
};

/** The moments of a rotation, whose calls are findById, insert and mark. */
const BEFORE_THE_LOOK: Moment = { when: 'before', method: 'findById' };
const BEFORE_THE_INSERT: Moment = { when: 'before', method: 'insert' };
const BEFORE_THE_MARK: Moment = { when: 'before', method: 'mark' };
const BEFORE_THE_ANSWER: Moment = { when: 'after', method: 'mark' };

const CONFLICT = 'conflict already_ended';

/** The result of the rotation, and the states of the predecessor and each successor. */
type Case = readonly [
  name: string,
  other: Act,
  moment: Moment,
  answer: string,
  predecessor: KeyState,
  successors: readonly KeyState[],
];

const CASES: readonly Case[] = [
  ['suspend', suspend, BEFORE_THE_LOOK, 'conflict suspended', 'suspended', []],
  ['suspend', suspend, BEFORE_THE_INSERT, CONFLICT, 'suspended', ['revoked']],
  ['suspend', suspend, BEFORE_THE_MARK, CONFLICT, 'suspended', ['revoked']],
  ['suspend', suspend, BEFORE_THE_ANSWER, 'passed', 'suspended', ['live']],

  ['revoke', revoke, BEFORE_THE_LOOK, 'conflict revoked', 'revoked', []],
  ['revoke', revoke, BEFORE_THE_INSERT, CONFLICT, 'revoked', ['revoked']],
  ['revoke', revoke, BEFORE_THE_MARK, CONFLICT, 'revoked', ['revoked']],
  ['revoke', revoke, BEFORE_THE_ANSWER, 'passed', 'revoked', ['live']],

  ['revokeLineage', revokeAll, BEFORE_THE_LOOK, 'conflict revoked', 'revoked', []],
  ['revokeLineage', revokeAll, BEFORE_THE_INSERT, CONFLICT, 'revoked', ['revoked']],
  ['revokeLineage', revokeAll, BEFORE_THE_MARK, CONFLICT, 'revoked', ['revoked']],
  // A concurrent rotation leaves no live key, whatever its result.
  ['revokeLineage', revokeAll, BEFORE_THE_ANSWER, 'passed', 'revoked', ['revoked']],

  ['rotate', rotate, BEFORE_THE_LOOK, CONFLICT, 'live', ['live']],
  ['rotate', rotate, BEFORE_THE_INSERT, CONFLICT, 'live', ['live', 'revoked']],
  ['rotate', rotate, BEFORE_THE_MARK, CONFLICT, 'live', ['live', 'revoked']],

  // The data for the successor has changed.
  ['withdraw', withdraw, BEFORE_THE_INSERT, CONFLICT, 'live', ['revoked']],
  ['withdraw', withdraw, BEFORE_THE_MARK, CONFLICT, 'live', ['revoked']],
  ['withdraw', withdraw, BEFORE_THE_LOOK, 'passed', 'live', ['live']],
  ['withdraw', withdraw, BEFORE_THE_ANSWER, 'passed', 'live', ['live']],

  // Without a lasting change.
  ['suspend and resume', touchAndGo, BEFORE_THE_LOOK, 'passed', 'live', ['live']],
  ['suspend and resume', touchAndGo, BEFORE_THE_INSERT, 'passed', 'live', ['live']],
  ['suspend and resume', touchAndGo, BEFORE_THE_MARK, 'passed', 'live', ['live']],
];

/** A key and its rotation, with another call at the given moment. */
async function raced(other: Act, moment: Moment) {
  const inner = memoryStore();
  const { keyring, clock } = setUp({ store: inner });
  const { key, info } = await issueWide(keyring);
  const { keyId } = info;
  const store = meanwhile(inner, moment, () => other(keyring, keyId));
  const racing = setUp({ store, now: clock.now });
  let made: { readonly key: string } | undefined;
  const answer = await outcome(async () => {
    made = await racing.keyring.rotate(keyId, { overlapMs: HOUR }, WIDE);
  });
  return { inner, keyring, racing, key, keyId, answer, made };
}

type Raced = Awaited<ReturnType<typeof raced>>;

async function infoOf({ keyring }: Raced, keyId: string) {
  const info = await keyring.get(keyId, AUTHORITY);
  if (info === null || !('name' in info)) throw new Error('the row is damaged');
  return info;
}

/** The state of a key, which must be the same for `KeyInfo` and `verify`. */
async function stateIn(race: Raced, keyId: string): Promise<KeyState> {
  const { state, tampered } = await infoOf(race, keyId);
  expect(tampered).toBe(false);
  return state;
}

describe('a rotation during another call', () => {
  it.each(CASES)(
    '%s, %j: the rotation ends with %s, the key is %s, its successors are %j',
    async (_name, other, moment, answer, predecessor, successors) => {
      const race = await raced(other, moment);
      const rows = await successorsOf(race.inner, race.keyId);
      const states = await Promise.all(rows.map(({ keyId }) => stateIn(race, keyId)));
      expect({
        answer: race.answer,
        predecessor: await stateIn(race, race.keyId),
        successors: states.sort(),
      }).toEqual({ answer, predecessor, successors });
      // The state of a key with a plaintext says correctly whether it works.
      if (race.made !== undefined) {
        const isLive = states.includes('live');
        expect(await outcome(() => race.keyring.verify(race.made?.key))).toBe(
          isLive ? 'passed' : 'invalid_token revoked',
        );
      }
      const told = race.racing.events.map(({ type }) => type);
      expect(told).toEqual([answer === 'passed' ? 'key.rotated' : 'management.denied']);
    },
  );

  const lost = CASES.filter(([, , , answer, , states]) => {
    return answer === CONFLICT && states.includes('revoked');
  });

  it.each(lost)(
    '%s, %j: the seal proves the end of the successor',
    async (_name, other, moment) => {
      const race = await raced(other, moment);
      const rows = await successorsOf(race.inner, race.keyId);
      const ended = rows.filter(({ revokedAt }) => revokedAt !== null);
      expect(ended).toHaveLength(1);
      const { keyId } = ended[0] as KeyRecord;
      expect(await infoOf(race, keyId)).toMatchObject({
        state: 'revoked',
        tampered: false,
        revokedAt: new Date(START),
      });
      // Removing the mark does not revive the key.
      const without = tampering(race.inner, (row) => ({
        ...row,
        revokedAt: row.keyId === keyId ? null : row.revokedAt,
      }));
      const { keyring } = setUp({ store: without });
      expect(await keyring.get(keyId, AUTHORITY)).toMatchObject({ state: 'damaged' });
    },
  );

  it('records who lost, and why, in the successor of the loser', async () => {
    const inner = memoryStore();
    const { keyring } = setUp({ store: inner });
    const { info } = await issue(keyring);
    const moment = { when: 'before', method: 'mark' } as const;
    const store = meanwhile(inner, moment, () => revoke(keyring, info.keyId));
    const authority = { ...AUTHORITY, actor: 'bob', reason: 'yearly' };
    const act = () => setUp({ store }).keyring.rotate(info.keyId, { overlapMs: 0 }, authority);
    const error = await denied(act, 'conflict', 'already_ended');
    expect(error.keyId).toBe(info.keyId);
    const rows = await successorsOf(inner, info.keyId);
    expect(rows).toMatchObject([{ createdBy: 'bob', endedBy: 'bob', endReason: 'yearly' }]);
  });

  it('gives a withdrawn entity no new key', async () => {
    for (const moment of [BEFORE_THE_LOOK, BEFORE_THE_INSERT, BEFORE_THE_MARK]) {
      const race = await raced(withdraw, moment);
      const rows = await keysOf(race.inner);
      const reaching = rows.filter(
        ({ accessibleEntities, withdrawn, revokedAt }) =>
          revokedAt === null && accessibleEntities.includes(OTHER) && !withdrawn.includes(OTHER),
      );
      expect(reaching, JSON.stringify(moment)).toEqual([]);
    }
  });

  // Only the key and its successors lost the entity: a predecessor in its overlap still had it.
  it('withdraws the entity from the whole chain', async () => {
    const race = await raced(withdraw, BEFORE_THE_ANSWER);
    const principal = await race.keyring.verify(race.made?.key);
    expect(principal.accessibleEntities).toEqual([OWN]);
    const { keyring } = setUp();
    const first = await issueWide(keyring);
    const second = await keyring.rotate(first.info.keyId, { overlapMs: HOUR }, WIDE);
    const third = await keyring.rotate(second.info.keyId, { overlapMs: HOUR }, WIDE);
    await withdraw(keyring, second.info.keyId);
    const reaches = async (key: string) => {
      const { accessibleEntities } = await keyring.verify(key);
      return accessibleEntities.includes(OTHER);
    };
    expect(await Promise.all([first, second, third].map(({ key }) => reaches(key)))).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('concurrent rotations', () => {
  it('have one winner; the successors of the others are revoked and never returned', async () => {
    const inner = memoryStore();
    const inserted: KeyRecord[] = [];
    const store = wrap(delayed(inner), (method, args, call) => {
      if (method === 'insert') inserted.push(args[0] as KeyRecord);
      return call();
    });
    const { keyring, events } = setUp({ store });
    const { key, info } = await issue(keyring);
    const results = await Promise.allSettled(
      [HOUR, 2 * HOUR, 0, 3 * HOUR].map((overlapMs) =>
        keyring.rotate(info.keyId, { overlapMs }, AUTHORITY),
      ),
    );
    const won = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const lost = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    expect(won).toHaveLength(1);
    expect(
      lost.map((error) => isAccessError(error) && [error.code, error.reason, error.keyId]),
    ).toEqual(Array.from({ length: 3 }, () => ['conflict', 'already_ended', info.keyId]));
    const [winner] = won;
    const successors = await successorsOf(inner, info.keyId);
    expect(successors).toHaveLength(4);
    expect(successors.filter((row) => row.revokedAt === null).map((row) => row.keyId)).toEqual([
      winner?.info.keyId,
    ]);
    // One event, and the overlap of the winner stays.
    const rotated = events.filter((event) => event.type === 'key.rotated');
    expect(rotated.map((event) => event.keyId)).toEqual([winner?.info.keyId]);
    const { retireAt } = await rowOf(inner, info.keyId);
    expect(rotated.map((event) => event.retireAt)).toEqual([retireAt]);
    await keyring.verify(winner?.key ?? '');
    if (retireAt !== START) await keyring.verify(key);
    expect(inserted.filter((row) => row.rotatedFrom !== null)).toHaveLength(4);
  });

  it('conflict during the overlap, which the second does not extend', async () => {
    const { keyring, store, clock } = setUp();
    const { key, info } = await issue(keyring);
    await keyring.rotate(info.keyId, { overlapMs: HOUR }, AUTHORITY);
    const again = () => keyring.rotate(info.keyId, { overlapMs: 9 * HOUR }, AUTHORITY);
    expect((await denied(again, 'conflict', 'already_ended')).keyId).toBe(info.keyId);
    expect((await rowOf(store, info.keyId)).retireAt).toBe(START + HOUR);
    expect(await keysOf(store)).toHaveLength(2);
    clock.set(START + HOUR);
    await denied(() => keyring.verify(key), 'invalid_token', 'retired');
  });
});
