/**
 * `npm run test:fuzz`: each target for ten minutes, guided by which code its inputs reach. `--
 * <target>` for some alone, `-- --seconds N` for another time, `-- --seed N` for the same mutations
 * again.
 *
 * An input that reaches new code, or reaches code more often than any before, is kept and changed
 * further; it begins with the vectors of `test/vectors`. A fault is an input for which a property
 * of its target does not hold, or with which a call takes more than 50 ms. It is made small and
 * printed; the exit code says that there was one.
 *
 * Of its own making, over V8's counters: the native part of Jazzer.js wants a newer C library than
 * Debian 12 has.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { inspect, parseArgs } from 'node:util';
import { Script } from 'node:vm';
import { startCoverage } from './coverage.ts';
import { mutate, seeded, weigh } from './mutate.ts';

const SLOW_MS = 50;
const HANGS_MS = 5_000;
const BATCH = 256;
// Longer inputs are not tried, and of those that are tried the long ones are not kept.
const [MAX_TRIED, MAX_KEPT] = [1_100_000, 20_000];

const options = {
  seconds: { type: 'string', default: '600' },
  seed: { type: 'string' },
  here: { type: 'boolean' },
} as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const seconds = Number(values.seconds);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);

// Before the package is loaded, or what its modules do then is not counted.
const coverage = startCoverage(new URL('../../../dist/', import.meta.url).href);
const [{ slowest }, { TARGETS }] = [await import('./judge.ts'), await import('./targets.ts')];
const unknown = positionals.find((name) => !Object.hasOwn(TARGETS, name));
if (unknown !== undefined || !(seconds > 0))
  throw new TypeError(`pass --seconds N, --seed N and some of ${Object.keys(TARGETS).join(' ')}`);

if (values.here) await fuzz(positionals[0] as string);
else {
  let failed = 0;
  for (const name of positionals.length > 0 ? positionals : Object.keys(TARGETS)) {
    // A process each: nothing of one is left over in the next.
    const args = [
      fileURLToPath(import.meta.url),
      '--here',
      name,
      `--seconds=${seconds}`,
      `--seed=${seed}`,
    ];
    const { status } = spawnSync(process.execPath, args, {
      stdio: 'inherit',
      timeout: 1000 * (seconds + 300),
    });
    if (status !== 0) failed += 1;
  }
  process.exitCode = failed === 0 ? 0 : 1;
}

type Check = (input: unknown) => unknown;
type Fault = { readonly input: unknown; readonly what: string };

/** What is wrong with the first of `inputs` with which something is. */
async function faultOf(check: Check, inputs: readonly unknown[]): Promise<Fault | undefined> {
  const properties = Reflect.ownKeys(Object.prototype).length;
  const begun: Promise<Fault | undefined>[] = [];
  let current: unknown;
  slowest.ms = 0;
  try {
    inTime(() => {
      for (current of inputs) begun.push(outcome(check, current));
    });
  } catch (error) {
    // Which is the guard's.
    return { input: current, what: String(error) };
  }
  const fault = (await Promise.all(begun)).find((each) => each !== undefined);
  if (fault !== undefined) return fault;
  if (Reflect.ownKeys(Object.prototype).length !== properties)
    return { input: inputs, what: 'wrote to Object.prototype' };
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

/** One by one, and slow is what is slow five times: garbage may be collected in one of them. */
async function slowOf(check: Check, inputs: readonly unknown[]): Promise<Fault | undefined> {
  for (const input of inputs) {
    for (let attempt = 1; ; attempt++) {
      slowest.ms = 0;
      await check(input);
      if (slowest.ms <= SLOW_MS) break;
      if (attempt === 5)
        return {
          input,
          what: `took more than ${SLOW_MS} ms, five times; the last, ${slowest.ms.toFixed(0)} ms`,
        };
    }
  }
  return undefined;
}

/** Ends `act` where it does not end by itself, in the middle of a regular expression too. */
function inTime(act: () => void): void {
  Object.assign(globalThis, { fuzzed: act });
  new Script('fuzzed()').runInThisContext({ timeout: HANGS_MS });
}

async function fuzz(name: string): Promise<void> {
  const { seeds, words, check } = TARGETS[name] as (typeof TARGETS)[string];
  const random = seeded(seed);
  const corpus: unknown[] = [...seeds];
  const started = performance.now();
  let count = 0;

  const pick = () => corpus[random(corpus.length)];
  function run(inputs: readonly unknown[]): Promise<Fault | undefined> {
    count += inputs.length;
    return faultOf(check, inputs);
  }
  async function runEach(inputs: readonly unknown[]): Promise<Fault | undefined> {
    for (const input of inputs) {
      const fault = await run([input]);
      if (fault !== undefined) return fault;
      if (coverage.gained() && weigh(input) <= MAX_KEPT) corpus.push(input);
    }
    return undefined;
  }

  coverage.gained();
  let fault = await runEach(seeds);
  for (
    let round = 0;
    fault === undefined && performance.now() - started < 1000 * seconds;
    round++
  ) {
    const changed = Array.from({ length: BATCH }, () =>
      mutate(pick(), random, { words, other: pick() }),
    );
    const batch = changed.filter((input) => weigh(input) <= MAX_TRIED);
    // Now and then one by one without need, to see how often each runs what.
    fault = round % 64 > 0 ? await run(batch) : await runEach(batch);
    if (fault === undefined && coverage.isNew()) fault = await runEach(batch);
  }

  const speed = Math.round((1000 * count) / (performance.now() - started));
  const tried = `${name}: ${count.toLocaleString('en')} inputs, ${speed.toLocaleString('en')} a second`;
  if (fault === undefined) {
    const { run: ran, all } = coverage.sum();
    const reached = `${((100 * ran) / all).toFixed(1)} % of the functions that it reached`;
    console.log(
      `${tried}; ${corpus.length} kept, ${seeds.length} of them seeds; ${reached}; no fault (seed ${seed})`,
    );
    return;
  }
  const { input, what } = await shrink(fault, check);
  const shown = inspect(input, { depth: null, maxStringLength: 500, maxArrayLength: 20 }).slice(
    0,
    4000,
  );
  console.log(`${tried}; FAULT (seed ${seed}), with\n${shown}\n${what}`);
  process.exitCode = 1;
}

/**
 * A smaller input with the same fault: of random changes those that make it smaller and keep the
 * fault, for ten seconds.
 */
async function shrink(fault: Fault, check: Check): Promise<Fault> {
  const random = seeded(1);
  const kind = (each: Fault | undefined) => each?.what.slice(0, 60);
  let least = fault;
  const until = performance.now() + 10_000;
  while (performance.now() < until) {
    const input = mutate(least.input, random, { words: ['', 'a'], other: least.input });
    if (weigh(input) >= weigh(least.input)) continue;
    const again = await faultOf(check, [input]);
    if (again !== undefined && kind(again) === kind(fault)) least = again;
  }
  return least;
}
