/** Checks whether an input has a fault, and shrinks it to a smaller one with the same fault. */
import { inspect } from 'node:util';
import { Script } from 'node:vm';
import { slowest, type Target } from './judge.ts';
import { mutate, seeded, weigh } from './mutate.ts';

/** Milliseconds that a call may take. */
const SLOW_MS = 50;
/** Milliseconds after which a batch is aborted. */
const HANGS_MS = 5_000;
/** How often a call must be slow, because garbage collection may slow down one of them. */
const SLOW_TIMES = 5;
const SHRINK_MS = 10_000;

export type Check = Target['check'];

export interface Fault {
  readonly input: unknown;
  readonly what: string;
}

/** The fault of the first of `inputs` that has one. */
export async function faultOf(
  check: Check,
  inputs: readonly unknown[],
): Promise<Fault | undefined> {
  const properties = Reflect.ownKeys(Object.prototype).length;
  const begun: Promise<Fault | undefined>[] = [];
  let current: unknown;
  slowest.ms = 0;
  try {
    inTime(() => {
      for (const input of inputs) {
        current = input;
        begun.push(outcome(check, input));
      }
    });
  } catch (error) {
    // The time guard's own error.
    return { input: current, what: String(error) };
  }
  const fault = (await Promise.all(begun)).find((each) => each !== undefined);
  if (fault !== undefined) return fault;
  if (Reflect.ownKeys(Object.prototype).length !== properties) {
    return { input: inputs, what: 'wrote to Object.prototype' };
  }
  return slowest.ms > SLOW_MS ? slowOf(check, inputs) : undefined;
}

async function outcome(check: Check, input: unknown): Promise<Fault | undefined> {
  try {
    await check(input);
    return undefined;
  } catch (error) {
    return { input, what: inspect(error, { depth: 2, maxStringLength: 500, maxArrayLength: 20 }) };
  }
}

/** One by one: the first that is slow every time. */
async function slowOf(check: Check, inputs: readonly unknown[]): Promise<Fault | undefined> {
  for (const input of inputs) {
    const ms = await leastMs(check, input);
    if (ms > SLOW_MS) return { input, what: `took ${ms.toFixed(0)} ms, not ${SLOW_MS}` };
  }
  return undefined;
}

/** The shortest time of several runs, or the first that is short enough. */
async function leastMs(check: Check, input: unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < SLOW_TIMES && least > SLOW_MS; attempt++) {
    slowest.ms = 0;
    await check(input);
    least = Math.min(least, slowest.ms);
  }
  return least;
}

/** Aborts `act` if it does not end, even inside a regular expression. */
function inTime(act: () => void): void {
  Object.assign(globalThis, { fuzzed: act });
  new Script('fuzzed()').runInThisContext({ timeout: HANGS_MS });
}

/**
 * Shrinks an input: applies random changes for ten seconds and keeps those that make it smaller
 * with the same fault.
 */
export async function shrink(fault: Fault, check: Check): Promise<Fault> {
  const random = seeded(1);
  const kind = fault.what.slice(0, 60);
  const until = performance.now() + SHRINK_MS;
  let least = fault;
  while (performance.now() < until) {
    const input = mutate(least.input, random, { words: ['', 'a'], other: least.input });
    if (weigh(input) >= weigh(least.input)) continue;
    const again = await faultOf(check, [input]);
    if (again?.what.slice(0, 60) === kind) least = again;
  }
  return least;
}
