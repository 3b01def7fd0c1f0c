/** Whether something is wrong with an input, and a smaller one with the same fault. */
import { inspect } from 'node:util';
import { Script } from 'node:vm';
import { slowest, type Target } from './judge.ts';
import { mutate, seeded, weigh } from './mutate.ts';

/** Milliseconds that a call may take. */
const SLOW_MS = 50;
/** Milliseconds after which a batch is ended. */
const HANGS_MS = 5_000;
/** How often a call must be slow: garbage may be collected in one of them. */
const SLOW_TIMES = 5;
const SHRINK_MS = 10_000;

export type Check = Target['check'];

export interface Fault {
  readonly input: unknown;
  readonly what: string;
}

/** What is wrong with the first of `inputs` with which something is. */
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
    // Which is the guard's.
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

/** One by one: the first that is slow each time. */
async function slowOf(check: Check, inputs: readonly unknown[]): Promise<Fault | undefined> {
  for (const input of inputs) {
    const ms = await leastMs(check, input);
    if (ms > SLOW_MS) return { input, what: `took ${ms.toFixed(0)} ms, not ${SLOW_MS}` };
  }
  return undefined;
}

/** The least time that the check takes of several, or one that is short enough. */
async function leastMs(check: Check, input: unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < SLOW_TIMES && least > SLOW_MS; attempt++) {
    slowest.ms = 0;
    await check(input);
    least = Math.min(least, slowest.ms);
  }
  return least;
}

/** Ends `act` where it does not end by itself, in the middle of a regular expression too. */
function inTime(act: () => void): void {
  Object.assign(globalThis, { fuzzed: act });
  new Script('fuzzed()').runInThisContext({ timeout: HANGS_MS });
}

/**
 * A smaller input with the same fault: of random changes those that make it smaller and keep the
 * fault, for ten seconds.
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
