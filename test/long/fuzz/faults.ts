/** Finds faults of inputs, and shrinks them. */
import { inspect } from 'node:util';
import { Script } from 'node:vm';
import { slowest, type Target } from './judge.ts';
import { mutate, seeded, weigh } from './mutate.ts';

/** Milliseconds that a call may take. */
const SLOW_MS = 50;
/** Milliseconds after which a batch is ended. */
const HANGS_MS = 5_000;
/** How often a call must be slow, because garbage collection may slow one. */
const SLOW_TIMES = 5;
const SHRINK_MS = 10_000;

export type Check = Target['check'];

export interface Fault {
  readonly input: unknown;
  readonly what: string;
}

/** Returns the fault of the first faulty input. */
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
    // Only the time limit of `inTime` throws here.
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

/** Tries inputs one by one, and returns the first that is slow each time. */
async function slowOf(check: Check, inputs: readonly unknown[]): Promise<Fault | undefined> {
  for (const input of inputs) {
    const ms = await leastMs(check, input);
    if (ms > SLOW_MS) return { input, what: `took ${ms.toFixed(0)} ms, not ${SLOW_MS}` };
  }
  return undefined;
}

/** Returns the minimum time of several checks, or the first that is short enough. */
async function leastMs(check: Check, input: unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < SLOW_TIMES && least > SLOW_MS; attempt++) {
    slowest.ms = 0;
    await check(input);
    least = Math.min(least, slowest.ms);
  }
  return least;
}

/** Interrupts `act` after the time limit, even in the middle of a regular expression. */
function inTime(act: () => void): void {
  Object.assign(globalThis, { fuzzed: act });
  new Script('fuzzed()').runInThisContext({ timeout: HANGS_MS });
}

/** Shrinks an input for ten seconds, by random changes that make it smaller and keep the fault. */
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
