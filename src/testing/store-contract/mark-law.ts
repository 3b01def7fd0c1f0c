/** Tests that `mark` follows the rule of the contract after any sequence of marks. */
import type { KeyRecord } from '../../core/record.js';
import type { Mark } from '../../core/store.js';
import { applyMark } from '../../stores/marks.js';
import { same, show } from '../assertions.js';
import { LAST, randomHex, type StoreFixture, TIME, uuid } from './fixture.js';

/** The number of keys, and of marks per key. */
const KEYS = 12;
const MARKS = 30;

/** Chooses one of several values. */
type Choose = <Value>(values: readonly Value[]) => Value;

/** Returns a choice that depends only on the seed, so that a failure can be reproduced. */
function choiceOf(seed: number): Choose {
  // Lehmer's generator with the multiplier of Park and Miller.
  let state = seed * 7919;
  return (values) => {
    state = (state * 48_271) % 2_147_483_647;
    return values[state % values.length] as (typeof values)[number];
  };
}

/**
 * Writes thirty pseudo-random marks to each of twelve keys. After each mark, the answer and the
 * record must match the rule of the contract.
 *
 * Catches: conditions that depend on earlier marks, and leftovers of one mark that affect another.
 */
export async function marksByTheRule(fixture: StoreFixture): Promise<void> {
  const seeds = Array.from({ length: KEYS }, (_, index) => index + 1);
  await Promise.all(seeds.map((seed) => marksOneByTheRule(fixture, seed)));
}

async function marksOneByTheRule(fixture: StoreFixture, seed: number): Promise<void> {
  const { store, entityId, add, holds } = fixture;
  const choose = choiceOf(seed);
  const guests = [uuid(), uuid(), uuid()];
  let expected = await add({ accessibleEntities: [entityId, ...guests] });
  const sent: Mark[] = [];
  for (let count = 0; count < MARKS; count++) {
    const mark = anyMark(choose, guests, expected);
    sent.push(mark);
    const marked = applyMark(expected, mark);
    const what = `the last of the marks ${show(sent)}`;
    same(await store.mark(expected.keyId, mark), marked !== null, what);
    expected = marked ?? expected;
    await holds(expected, what);
  }
}

function anyMark(choose: Choose, guests: readonly string[], { withdrawn, seal }: KeyRecord): Mark {
  const at = choose([0, TIME, TIME + 1, TIME + 5, -1, LAST, -LAST]);
  const by = choose([null, '', 'ada', 'grace 🦊']);
  const reason = choose([null, '', 'leaked', "'"]);
  const entityId = choose(guests);
  const suspend: Mark = { kind: 'suspend', at, by, reason };
  const resume: Mark = { kind: 'resume', at };
  const retire: Mark = { kind: 'retire', at, retireAt: choose([at, TIME + 7]), by, reason };
  const retireKnown: Mark = { ...retire, withdrawn };
  const withdraw: Mark = { kind: 'withdraw', at, entityId };
  // A key without a seal never gets one.
  const newSeal = choose([null, seal && randomHex()]);
  const revoke: Mark = { kind: 'revoke', at, by, reason, seal: newSeal };
  const replace: Mark = { ...revoke, replaces: choose([seal, seal, randomHex()]) };
  // Few marks can follow a revocation, so it is rare.
  const often = [suspend, resume, suspend, resume, withdraw, retire, retireKnown];
  return choose([...often, ...often, ...often, revoke, replace, replace]);
}
