/**
 * Random simulations, too long to try in every order. A tape says which step is next, so one run is
 * one interleaving.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Command, Setting } from './simulated-process.ts';
import { type Option, Simulation } from './simulation.ts';

/** A setting, and a tape: each number, modulo the number of options, selects the next step. */
export interface Run {
  readonly setting: Setting;
  readonly tape: readonly number[];
}

/** Runs one interleaving and returns its faults. */
export async function interleave({ setting, tape }: Run): Promise<readonly string[]> {
  const world = await Simulation.begin(setting);
  for (const number of tape) {
    const options = world.options();
    const option = options[number % options.length];
    if (option === undefined) break;
    await take(world, option);
  }
  for (let [option] = world.options(); option !== undefined; [option] = world.options()) {
    await take(world, option);
  }
  world.checkEnd();
  await world.end();
  return world.wrong;
}

async function take(world: Simulation, option: Option): Promise<void> {
  await world.take(option);
  world.check();
}

// ── Many runs ────────────────────────────────────────────────────────────────────────────────────

const CHANNELS = ['later', 'late', 'at once', 'lost', 'broken', 'hanging'] as const;
const ACTS = [
  ...(['verify', 'verify', 'verify', 'verify', 'issue', 'revoke', 'suspend', 'resume'] as const),
  ...(['withdraw', 'rotate', 'rotate with overlap', 'revokeLineage'] as const),
];

const command: fc.Arbitrary<Command> = fc.record({
  act: fc.constantFrom(...ACTS),
  key: fc.constantFrom('first', 'second', 'newest'),
});
const callers = fc.array(fc.array(command, { minLength: 1, maxLength: 3 }), {
  minLength: 1,
  maxLength: 3,
});
const setting: fc.Arbitrary<Setting> = fc.record({
  processes: fc
    .tuple(callers, callers)
    .map((both) => both.map((each) => ({ isCached: true, callers: each }))),
  channel: fc.constantFrom(...CHANNELS),
  maxStalenessMs: fc.constant(8_000),
  isSuspended: fc.boolean(),
  hasChild: fc.constant(false),
  ticks: fc.array(fc.constantFrom(1, 400, 1_000, 2_500, 5_000, 8_000), { maxLength: 10 }),
  failures: fc.nat({ max: 2 }),
});
const run: fc.Arbitrary<Run> = fc.record({
  setting,
  tape: fc.array(fc.nat({ max: 10_000 }), { minLength: 20, maxLength: 50 }),
});

/** Runs a number of interleavings, and fails with the smallest faulty one. */
export async function interleavings(numRuns: number): Promise<void> {
  const property = fc.asyncProperty(run, async (given) => {
    assert.deepEqual(await interleave(given), []);
  });
  // Most results are refusals, and collecting their stacks would take a quarter of the time.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    await fc.assert(property, { numRuns });
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}
