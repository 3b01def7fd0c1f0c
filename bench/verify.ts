/**
 * From a header to a caller who holds one scope: `node bench/verify.ts`, `-- --quick` for fewer
 * rounds and no million keys. Each contender stands beside the plain check in a process of theirs.
 * With a million keys each has a process of its own, so that none waits for another's cache misses;
 * those take turns in rounds, too.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { freemem } from 'node:os';
import { measureApart, type Pairs } from './apart.ts';
import type { Contender } from './contender.ts';
import { CONTENDERS } from './contenders.ts';
import { type Case, drawer, type Figure, type Lane, lanesOf, measureLanes } from './harness.ts';
import { anotherKey, type Headers, LACKING, NEEDED } from './keys.ts';
import { missing } from './peers/load.ts';
import { type Aim, aim, publish, quick, type Row, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 60;
const PLAIN = 'plain check';
const FLOOR = 'contract floor';
const OURS = 'keyscope';
/** What is in one call: so many that the call itself does not count. */
const LIST = 16;

const FEW = 1_000;
const MILLION = 1_000_000;
/**
 * The contenders of a size: those whose cost does not grow with it stand beside the others once, at
 * the smallest.
 */
const SIZES: Readonly<Record<number, readonly string[]>> = {
  [FEW]: Object.keys(CONTENDERS),
  [MILLION]: [PLAIN, FLOOR, OURS, 'prefixed-api-key and a Map'],
};
// Stores, strings and what they compile to, of all contenders together.
const MEMORY = 9e9;

function groupOf(size: number): string {
  return `${size.toLocaleString('en-US')} keys`;
}

// ── Cases ────────────────────────────────────────────────────────────────────────────────────────

async function checkContender(contender: Contender, name: string): Promise<void> {
  const { values, enter, id } = contender;
  for (const index of [7, values.count - 1]) {
    const entered = await enter([values.headers(index)], NEEDED);
    assert.equal(entered, id(index), `${name}: lets in whose key it is`);
  }
  const refused = async (headers: Headers, scope: string, why: string) =>
    assert.rejects(async () => enter([headers], scope), Error, `${name}: refuses ${why}`);
  const { authorization } = values.headers(8);
  const anotherScheme = authorization.replace('Bearer', 'Basic');
  await refused({ authorization: anotherKey(authorization) }, NEEDED, 'another key');
  await refused({ authorization: anotherScheme }, NEEDED, 'another scheme');
  await refused(values.headers(8), LACKING, 'a scope that was not granted');
}

/**
 * Some milliseconds of each, however fast it is once it is compiled. With fewer the first calls of
 * a turn, for which the caches hold what the case before left, are too large a part of it.
 */
async function callsOf({ values, enter }: Contender): Promise<number> {
  const end = performance.now() + 200;
  let fastest = Number.POSITIVE_INFINITY;
  while (performance.now() < end) {
    const list = Array.from({ length: LIST }, (_, i) => values.headers(i % values.count));
    const start = performance.now();
    await enter(list, NEEDED);
    fastest = Math.min(fastest, performance.now() - start);
  }
  return Math.max(1, Math.min(160, Math.round(4 / fastest / 4) * 4));
}

async function caseOf(
  name: string,
  contender: Contender,
  over: string,
): Promise<Case<readonly Headers[]>> {
  const draw = drawer(2);
  const { values, enter } = contender;
  return {
    name,
    over,
    calls: await callsOf(contender),
    batch: LIST,
    check: () => checkContender(contender, name),
    prepare: () => Array.from({ length: LIST }, () => values.headers(draw(values.count))),
    run: (list) => enter(list, NEEDED),
  };
}

/** Those of a pair; none if a library is not installed, which it says. */
async function openPair(base: string, name: string, count: number): Promise<readonly Case[]> {
  const cases: Case<readonly Headers[]>[] = [];
  // One after another: how fast each is shows only where it is alone.
  for (const each of [base, name]) {
    const contender = await Promise.resolve(CONTENDERS[each]?.(count)).catch(missing);
    if (contender) cases.push(await caseOf(each, contender, base));
  }
  return cases as readonly Case[];
}

const OF_THE_FLOOR = 'of the contract floor';

/** Each beside the plain check, and ours beside the contract floor. */
function pairsOf(): Pairs {
  const pairs: Record<string, Pairs[string]> = {};
  for (const name of SIZES[FEW] ?? []) {
    if (name !== PLAIN) pairs[name] = () => openPair(PLAIN, name, FEW);
  }
  pairs[OF_THE_FLOOR] = () => openPair(FLOOR, OURS, FEW);
  return pairs;
}

// ── A process each ───────────────────────────────────────────────────────────────────────────────

/** A contender that takes its turns in a process of its own. */
interface Runner {
  readonly lane: Lane;
  readonly child: ChildProcess;
}

async function startRunner(name: string): Promise<Runner> {
  const execArgv = [...process.execArgv, '--max-old-space-size=8192'];
  const child = fork(new URL(import.meta.url), ['--contender', name, String(ROUNDS)], { execArgv });
  const ended = once(child, 'exit').then(() =>
    Promise.reject(new Error(`${name}: its process ended`)),
  );
  ended.catch(() => {});
  const message = () =>
    new Promise<number>((resolve) => child.once('message', (ns: number) => resolve(ns)));
  const answer = () => Promise.race([message(), ended]);
  await answer();
  const turn = async () => {
    child.send('turn');
    return answer();
  };
  return { lane: { name, over: PLAIN, turn }, child };
}

async function inItsOwn(name: string, rounds: number): Promise<void> {
  const contender = await CONTENDERS[name]?.(MILLION);
  if (contender === undefined) throw new Error(`no contender of the name ${name}`);
  const [lane] = await lanesOf([await caseOf(name, contender, PLAIN)], rounds);
  process.on('message', async () => process.send?.(await lane?.turn()));
  process.on('disconnect', () => process.exit());
  process.send?.(0);
}

async function aProcessEach(): Promise<readonly Figure[]> {
  const runners: Runner[] = [];
  try {
    // Two at a time: filling takes a core each.
    const names = [...(SIZES[MILLION] ?? [])];
    while (names.length > 0) {
      const two = names.splice(0, 2);
      runners.push(...(await Promise.all(two.map(startRunner))));
    }
    const lanes = runners.map(({ lane }) => lane);
    return await measureLanes(lanes, ROUNDS);
  } finally {
    for (const { child } of runners) child.kill();
  }
}

// ── Report ───────────────────────────────────────────────────────────────────────────────────────

function rowsOf(figures: readonly Figure[], size: number): readonly Row[] {
  return figures.map((figure) => {
    const { name } = figure;
    return rowOf(figure, 'ops/s', { name, group: groupOf(size), ours: name.startsWith(OURS) });
  });
}

/** The plain check once, from its pair with ours, and whoever was beside it. */
function besidePlain(figures: ReadonlyMap<string, readonly Figure[]>): readonly Figure[] {
  const pairOf = (name: string): readonly Figure[] => figures.get(name) ?? [];
  const names = SIZES[FEW]?.filter((name) => name !== PLAIN) ?? [];
  return [...pairOf(OURS).slice(0, 1), ...names.flatMap((name) => pairOf(name).slice(1))];
}

async function main(): Promise<void> {
  const figures = await measureApart(import.meta.url, pairsOf(), ROUNDS);
  if (figures === null) return;
  const rows: Row[] = [...rowsOf(besidePlain(figures), FEW)];
  if (!quick && freemem() < MEMORY) {
    console.log(`skipped ${groupOf(MILLION)}: less than 9 GB of memory are free`);
  } else if (!quick) rows.push(...rowsOf(await aProcessEach(), MILLION));

  const ratio = (name: string, size: number): number | undefined =>
    rows.find((row) => row.name === name && row.group === groupOf(size))?.ratio;
  const ofFloor = 1 / (figures.get(OF_THE_FLOOR)?.[1]?.ratio ?? Number.NaN);
  const aims: readonly Aim[] = [
    aim('SHA-256, 1,000 keys, of the contract floor', ofFloor, '≥', 0.8, '×'),
    aim('the same, of the plain check', ratio(OURS, FEW), '≥', 0.55, '×'),
    aim('with pepper and seal', ratio('keyscope, pepper and seal', FEW), '≥', 0.42, '×'),
    aim('1,000,000 keys, of a Map of that size', ratio(OURS, MILLION), '≥', 0.75, '×'),
  ];
  publish({
    name: 'verify',
    title: 'Verify: from a header to a caller who holds one scope',
    about:
      'Each contender gets a header with a key of its own, drawn at random, in a string that ' +
      'nobody has read before, and lets the caller in who holds the scope. The plain check is ' +
      '`bench/by-hand.ts`: a regular expression, SHA-256, `Map.get`, expiry, revocation and ' +
      '`Set.has`, synchronous, in a million keys too. The contract floor is ' +
      '`bench/contract-floor.ts`: the promises of keyscope by hand, in one module without seams.',
    unit: 'ops/s',
    base: 'the plain check',
    rows,
    aims: quick ? aims.slice(0, 3) : aims,
  });
}

const [flag, name = '', rounds = ''] = process.argv.slice(2);
await (flag === '--contender' ? inItsOwn(name, Number(rounds)) : main());
