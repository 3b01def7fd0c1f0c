/** A law of `mark`: whatever marks follow each other, a key is what the rule makes of it. */
import type { Mark } from '../../core/store.js';
import { applyMark } from '../../stores/marks.js';
import { same, show } from '../assertions.js';
import { LAST, randomHex, type StoreFixture, TIME, uuid } from './fixture.js';

/** How many keys are marked, and how often each of them. */
const KEYS = 12;
const MARKS = 30;

/** Chooses one of several values. */
type Choose = <Value>(values: readonly Value[]) => Value;

/** Chooses alike for each seed, so that what failed fails again. */
function choiceOf(seed: number): Choose {
  // The generator of Lehmer, with the multiplier of Park and Miller: plain and good enough here.
  let state = seed * 7919;
  return (values) => {
    state = (state * 48_271) % 2_147_483_647;
    return values[state % values.length] as (typeof values)[number];
  };
}

/**
 * Writes thirty marks in an order of chance to each of twelve keys. After each, the answer and the
 * record must be what the rule of the contract gives for it.
 *
 * Catches: a condition that depends on what was there before, and what one mark leaves for another.
 */
export async function marksByTheRule(fixture: StoreFixture): Promise<void> {
  const seeds = Array.from({ length: KEYS }, (_, index) => index + 1);
  await Promise.all(seeds.map((seed) => marksOneByTheRule(fixture, seed)));
}

async function marksOneByTheRule(fixture: StoreFixture, seed: number): Promise<void> {
  const { store, entityUuid, add, holds } = fixture;
  const choose = choiceOf(seed);
  const guests = [uuid(), uuid(), uuid()];
  let expected = await add({ accessibleEntities: [entityUuid, ...guests] });
  const sent: Mark[] = [];
  for (let count = 0; count < MARKS; count++) {
    const mark = anyMark(choose, guests, expected.withdrawn);
    sent.push(mark);
    const marked = applyMark(expected, mark);
    const what = `the last of ${show(sent)}`;
    same(await store.mark(expected.keyId, mark), marked !== null, what);
    expected = marked ?? expected;
    await holds(expected, what);
  }
}

function anyMark(choose: Choose, guests: readonly string[], withdrawn: readonly string[]): Mark {
  const at = choose([0, TIME, TIME + 1, TIME + 5, -1, LAST, -LAST]);
  const by = choose([null, '', 'ada', 'grace 🦊']);
  const reason = choose([null, '', 'leaked', "'"]);
  const entityUuid = choose(guests);
  const suspend: Mark = { kind: 'suspend', at, by, reason };
  const resume: Mark = { kind: 'resume', at };
  const retire: Mark = { kind: 'retire', at, by, reason };
  const retireKnown: Mark = { ...retire, withdrawn, changedAt: choose([undefined, TIME + 7]) };
  const withdraw: Mark = { kind: 'withdraw', at, entityUuid };
  const revoke: Mark = { kind: 'revoke', at, by, reason, seal: choose([null, randomHex()]) };
  // A revocation ends nearly everything, so it is rare.
  const often = [suspend, resume, suspend, resume, withdraw, retire, retireKnown];
  return choose([...often, ...often, ...often, revoke]);
}
