/**
 * From a header to a caller who holds one scope: `node bench/verify.ts`, `-- --quick` for fewer
 * rounds and no million keys. Up to 100,000 keys all contenders share a process. With a million
 * each has one of its own, so that none waits for another's cache misses and garbage; those too
 * take turns in rounds.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { freemem } from 'node:os';
import type { Contender } from './contender.ts';
import { CONTENDERS } from './contenders.ts';
import {
  type Case,
  drawer,
  type Figure,
  type Lane,
  lanesOf,
  measure,
  measureLanes,
} from './harness.ts';
import { anotherKey, type Headers, LACKING, NEEDED } from './keys.ts';
import { missing } from './peers/load.ts';
import { type Aim, aim, publish, quick, type Row, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 150;
const PLAIN = 'plain check';
const FLOOR = 'bare floor';
/** What is in one call: so many that the call itself does not count. */
const LIST = 16;

/**
 * The contenders of a size: those whose cost does not grow with it stand beside the others once, at
 * the smallest.
 */
const SIZES: Readonly<Record<number, readonly string[]>> = {
  1000: Object.keys(CONTENDERS),
  // Without tokens, which are not looked up, and without better-auth's memory adapter, which looks
  // at every row.
  100000: Object.keys(CONTENDERS).filter((name) => !/jose|memory adapter|awaited/.test(name)),
  1000000: [
    PLAIN,
    FLOOR,
    'keyscope',
    'keyscope, pepper and seal',
    'keyscope, cacheStore',
    'prefixed-api-key and a Map',
  ],
};
const MILLION = 1_000_000;
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
  // The floor is no check: it says whose a key is, and that alone.
  if (name === FLOOR) return;
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

async function caseOf(name: string, contender: Contender): Promise<Case<readonly Headers[]>> {
  const draw = drawer(2);
  const { values, enter } = contender;
  return {
    name,
    over: PLAIN,
    calls: await callsOf(contender),
    batch: LIST,
    check: () => checkContender(contender, name),
    prepare: () => Array.from({ length: LIST }, () => values.headers(draw(values.count))),
    run: (list) => enter(list, NEEDED),
  };
}

/** By name; those whose library is not installed are named and left out. */
async function openAll(
  names: readonly string[],
  count: number,
): Promise<ReadonlyMap<string, Contender>> {
  const contenders = new Map<string, Contender>();
  for (const name of names) {
    const contender = await Promise.resolve(CONTENDERS[name]?.(count)).catch(missing);
    if (contender) contenders.set(name, contender);
  }
  return contenders;
}

async function inOneProcess(count: number): Promise<readonly Figure[]> {
  const contenders = await openAll(SIZES[count] ?? [], count);
  const cases: Case<readonly Headers[]>[] = [];
  // One after another: how fast each is shows only where it is alone.
  for (const [name, contender] of contenders) cases.push(await caseOf(name, contender));
  return measure(cases, ROUNDS);
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
  const [lane] = await lanesOf([await caseOf(name, contender)], rounds);
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
    const ours = name.startsWith('keyscope');
    return rowOf(figure, 'ops/s', { name, group: groupOf(size), ours });
  });
}

type RatioOf = (name: string, size: number) => number | undefined;

function aimsOf(ratio: RatioOf): readonly Aim[] {
  const over = (name: string, other: string): number =>
    (ratio(name, 1_000) ?? Number.NaN) / (ratio(other, 1_000) ?? Number.NaN);
  const plain = ratio('keyscope', 1_000);
  const prefixed = over('keyscope', 'prefixed-api-key and a Map');
  const betterAuth = Math.min(
    over('keyscope', 'better-auth, memory adapter'),
    over('keyscope', 'better-auth, secondary storage'),
  );
  const peppered = ratio('keyscope, pepper and seal', 1_000);
  const million = ratio('keyscope', MILLION);
  return [
    aim('SHA-256, 1,000 keys, of the plain check', plain, '≥', 0.75, '×'),
    aim('the same, of prefixed-api-key and a Map', prefixed, '≥', 2.5, '×'),
    aim("the same, of better-auth's best", betterAuth, '≥', 150, '×'),
    aim('the same with pepper and seal, of the plain check', peppered, '≥', 0.5, '×'),
    aim('SHA-256, 1,000,000 keys, of a Map of that size', million, '≥', 0.8, '×'),
  ];
}

async function main(): Promise<void> {
  const rows: Row[] = [];
  for (const size of [1_000, 100_000]) rows.push(...rowsOf(await inOneProcess(size), size));
  if (!quick && freemem() < MEMORY) {
    console.log(`skipped ${groupOf(MILLION)}: less than 9 GB of memory are free`);
  } else if (!quick) rows.push(...rowsOf(await aProcessEach(), MILLION));

  const ratio: RatioOf = (name, size) =>
    rows.find((row) => row.name === name && row.group === groupOf(size))?.ratio;
  publish({
    name: 'verify',
    title: 'Verify: from a header to a caller who holds one scope',
    about:
      'Each contender gets a header with a key of its own, drawn at random, in a string that ' +
      'nobody has read before, and lets the caller in who holds the scope. The plain check is ' +
      '`bench/by-hand.ts`: a regular expression, SHA-256, `Map.get`, expiry, revocation and ' +
      '`Set.has`, synchronous, in a million keys too.',
    unit: 'ops/s',
    base: 'the plain check',
    rows,
    aims: aimsOf(ratio),
  });
}

const [flag, name = '', rounds = ''] = process.argv.slice(2);
await (flag === '--contender' ? inItsOwn(name, Number(rounds)) : main());
