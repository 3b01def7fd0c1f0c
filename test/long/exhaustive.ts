/**
 * `npm run lab -- exhaustive`: concurrent calls of a keyring in every order of their steps, and
 * with a crash after each step, with and without caches and channels. Runs the source, over a store
 * in memory; the laws are in `test/support/ledger.ts`. One worker a core. For each family of
 * settings, prints the number of schedules and states, and the time. For a wrong schedule, prints
 * its steps.
 */
import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { LAWS } from '../support/ledger.ts';
import { FAMILIES } from '../support/schedule-settings.ts';
import { type Exploration, explore } from '../support/schedules.ts';

/** A scenario, by its index. */
interface Task {
  readonly family: number;
  readonly scenario: number;
}

interface Done extends Task {
  readonly found: Exploration;
  readonly seconds: number;
}

/** The results of a family. */
interface Sum {
  scenarios: number;
  schedules: number;
  withCrashes: number;
  states: number;
  runs: number;
  seconds: number;
}

const TASKS: readonly Task[] = FAMILIES.flatMap(({ scenarios }, family) =>
  scenarios.map((_, scenario): Task => ({ family, scenario })),
);

if (isMainThread) await exploreAll();
else parentPort?.on('message', (task: Task) => void work(task));

async function work({ family, scenario }: Task): Promise<void> {
  // Most results are refusals, and collecting their stacks would take a quarter of the time.
  Error.stackTraceLimit = 0;
  const setting = FAMILIES[family]?.scenarios[scenario]?.setting;
  if (setting === undefined) throw new Error('no such scenario');
  const begun = performance.now();
  const found = await explore(setting);
  const seconds = (performance.now() - begun) / 1000;
  parentPort?.postMessage({ family, scenario, found, seconds } satisfies Done);
}

async function exploreAll(): Promise<void> {
  const begun = performance.now();
  const sums = FAMILIES.map(emptySum);
  const left = [...TASKS];
  const wrong: string[] = [];

  function add({ family, scenario, found, seconds }: Done): void {
    addTo(sums[family] ?? emptySum(), found, seconds);
    if (found.wrong.length === 0) return;
    const name = FAMILIES[family]?.scenarios[scenario]?.name;
    wrong.push(`\n${FAMILIES[family]?.name}: ${name}\n  ${found.wrong.join('\n  ')}`);
  }

  await Promise.all(Array.from({ length: availableParallelism() }, () => drain(left, add)));
  const total = emptySum();
  printLine('', ['settings', 'schedules', 'with crashes', 'states', 'runs', 'seconds']);
  for (const [index, sum] of sums.entries()) {
    print(FAMILIES[index]?.name ?? '', sum);
    total.scenarios += sum.scenarios;
    addTo(total, sum, sum.seconds, 0);
  }
  print('all', total);
  console.log(`\nIn each of these, ${LAWS.length} laws:`);
  for (const law of LAWS) console.log(`- ${law}`);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  const memory = Math.round(process.resourceUsage().maxRSS / 1024);
  console.log(`\n${seconds} s, at most ${memory} MB; ${wrong.length} settings are wrong`);
  for (const each of wrong) console.log(each);
  if (wrong.length > 0) process.exitCode = 1;
}

/** Gives a worker one task after another until the list is empty. */
async function drain(left: Task[], add: (done: Done) => void): Promise<void> {
  const worker = new Worker(new URL(import.meta.url));
  try {
    for (let task = left.shift(); task !== undefined; task = left.shift()) {
      add(await ask(worker, task));
    }
  } finally {
    await worker.terminate();
  }
}

function ask(worker: Worker, task: Task): Promise<Done> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject);
    worker.once('message', (done: Done) => {
      worker.off('error', reject);
      resolve(done);
    });
    worker.postMessage(task);
  });
}

function emptySum(): Sum {
  return { scenarios: 0, schedules: 0, withCrashes: 0, states: 0, runs: 0, seconds: 0 };
}

function addTo(
  sum: Sum,
  found: Pick<Sum, 'schedules' | 'withCrashes' | 'states' | 'runs'>,
  seconds: number,
  scenarios = 1,
): void {
  sum.scenarios += scenarios;
  sum.schedules += found.schedules;
  sum.withCrashes += found.withCrashes;
  sum.states += found.states;
  sum.runs += found.runs;
  sum.seconds += seconds;
}

function print(name: string, sum: Sum): void {
  const { scenarios, schedules, withCrashes, states, runs, seconds } = sum;
  const counts = [scenarios, schedules, withCrashes, states, runs].map(writeCount);
  printLine(name, [...counts, seconds.toFixed(1)]);
}

/** Shortens a number of schedules, which can be huge. */
function writeCount(count: number): string {
  return count < 1e9 ? count.toLocaleString('en') : count.toExponential(2);
}

function printLine(name: string, cells: readonly string[]): void {
  console.log(name.padEnd(50) + cells.map((cell) => cell.padStart(13)).join(''));
}
