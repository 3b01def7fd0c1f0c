/**
 * From a header to a caller who holds one scope: `node bench/verify.ts`, `-- --quick` for fewer
 * rounds and no million keys. Up to 100,000 keys all doors stand in one process; with a million
 * each has one of its own, which would otherwise share their caches' misses and each other's
 * garbage. Those too take turns in rounds.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { freemem } from 'node:os';
import { DOORS, type Door } from './doors.ts';
import {
  type Case,
  drawer,
  type Figure,
  type Lane,
  lanesOf,
  measure,
  measureLanes,
} from './harness.ts';
import { type Headers, LACKING, NEEDED } from './keys.ts';
import { missing } from './peers/load.ts';
import { aim, publish, quick, type Row, rowOf } from './report.ts';

const ROUNDS = quick ? 30 : 150;
const PLAIN = 'plain check';
/** What is in one call: so many that the call itself does not count. */
const LIST = 16;

/**
 * The doors of a size: those whose cost does not grow with it stand beside the others once, at the
 * smallest.
 */
const SIZES: Readonly<Record<number, readonly string[]>> = {
  1000: Object.keys(DOORS),
  // Without tokens, which are not looked up, and without better-auth's memory adapter, which looks
  // at every row.
  100000: Object.keys(DOORS).filter((name) => !/jose|memory adapter|awaited/.test(name)),
  1000000: [
    PLAIN,
    'bare floor',
    'keyscope',
    'keyscope, pepper and seal',
    'keyscope, cacheStore',
    'prefixed-api-key and a Map',
  ],
};
const MILLION = 1_000_000;
// Stores, strings and what they compile to, of all doors together.
const MEMORY = 9e9;

const thousands = (n: number): string => n.toLocaleString('en-US');

// ── Cases ─────────────────────────────────────────────────────────────────────────────────────────────

async function checkDoor({ values, enter, id }: Door, name: string): Promise<void> {
  for (const index of [7, values.count - 1])
    assert.equal(
      await enter([values.headers(index)], NEEDED),
      id(index),
      `${name}: lets in whose key it is`,
    );
  // The floor is no check: it says whose a key is, and that alone.
  if (name === 'bare floor') return;
  const refused = async (headers: Headers, scope: string, why: string) =>
    assert.rejects(async () => enter([headers], scope), Error, `${name}: refuses ${why}`);
  const { authorization } = values.headers(8);
  // Ten characters from the end all bits of one count, in base64url too.
  const another = authorization.replace(/.(?=.{9}$)/, (c) => (c === 'x' ? 'y' : 'x'));
  await refused({ authorization: another }, NEEDED, 'another key');
  await refused(
    { authorization: authorization.replace('Bearer', 'Basic') },
    NEEDED,
    'another scheme',
  );
  await refused(values.headers(8), LACKING, 'a scope that was not granted');
}

/**
 * Some milliseconds of each, however fast it is once it is compiled. With fewer the first calls of
 * a turn, for which the caches hold what the case before left, are too large a part of it.
 */
async function callsOf({ values, enter }: Door): Promise<number> {
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

async function caseOf(name: string, door: Door): Promise<Case<readonly Headers[]>> {
  const draw = drawer(2);
  const { values, enter } = door;
  return {
    name,
    over: PLAIN,
    calls: await callsOf(door),
    batch: LIST,
    check: () => checkDoor(door, name),
    prepare: () => Array.from({ length: LIST }, () => values.headers(draw(values.count))),
    run: (list) => enter(list, NEEDED),
  };
}

/** Doors that stand, by name; those whose library is not installed are named and left out. */
async function opened(names: readonly string[], count: number): Promise<ReadonlyMap<string, Door>> {
  const doors = new Map<string, Door>();
  for (const name of names) {
    const door = await Promise.resolve(DOORS[name]?.(count)).catch(missing);
    if (door) doors.set(name, door);
  }
  return doors;
}

async function inOneProcess(count: number): Promise<readonly Figure[]> {
  const doors = await opened(SIZES[count] ?? [], count);
  const cases: Case<readonly Headers[]>[] = [];
  // One after another: how fast each is shows only where it is alone.
  for (const [name, door] of doors) cases.push(await caseOf(name, door));
  return measure(cases, ROUNDS);
}

// ── A process each ────────────────────────────────────────────────────────────────────────────────────

async function laneIn(
  name: string,
): Promise<{ readonly lane: Lane; readonly child: ChildProcess }> {
  const execArgv = [...process.execArgv, '--max-old-space-size=8192'];
  const child = fork(new URL(import.meta.url), ['--door', name, String(ROUNDS)], { execArgv });
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
  const door = await DOORS[name]?.(MILLION);
  if (door === undefined) throw new Error(`no door of the name ${name}`);
  const [lane] = await lanesOf([await caseOf(name, door)], rounds);
  process.on('message', async () => process.send?.(await lane?.turn()));
  process.on('disconnect', () => process.exit());
  process.send?.(0);
}

async function aProcessEach(): Promise<readonly Figure[]> {
  const lanes: Awaited<ReturnType<typeof laneIn>>[] = [];
  try {
    // Two at a time: filling takes a core each.
    const names = [...(SIZES[MILLION] ?? [])];
    while (names.length > 0) lanes.push(...(await Promise.all(names.splice(0, 2).map(laneIn))));
    return await measureLanes(
      lanes.map(({ lane }) => lane),
      ROUNDS,
    );
  } finally {
    for (const { child } of lanes) child.kill();
  }
}

// ── Report ────────────────────────────────────────────────────────────────────────────────────────────

const rowsOf = (figures: readonly Figure[], size: number): readonly Row[] =>
  figures.map((figure) => {
    const { name } = figure;
    return rowOf(figure, 'ops/s', {
      name,
      group: `${thousands(size)} keys`,
      ours: name.startsWith('keyscope'),
    });
  });

async function main(): Promise<void> {
  const rows: Row[] = [];
  for (const size of [1_000, 100_000]) rows.push(...rowsOf(await inOneProcess(size), size));
  if (!quick && freemem() < MEMORY)
    console.log(`skipped ${thousands(MILLION)} keys: less than 9 GB of memory are free`);
  else if (!quick) rows.push(...rowsOf(await aProcessEach(), MILLION));

  const ratio = (name: string, size: number) =>
    rows.find((row) => row.name === name && row.group === `${thousands(size)} keys`)?.ratio;
  const over = (name: string, other: string) =>
    (ratio(name, 1_000) ?? Number.NaN) / (ratio(other, 1_000) ?? Number.NaN);
  const best = Math.min(
    over('keyscope', 'better-auth, memory adapter'),
    over('keyscope', 'better-auth, secondary storage'),
  );
  publish({
    name: 'verify',
    title: 'Verify: from a header to a caller who holds one scope',
    about:
      'Each door gets a header with a key of its own, drawn at random, in a string that nobody has read before, and lets the ' +
      'caller in who holds the scope. The plain check is `bench/plain.ts`: a regular expression, SHA-256, `Map.get`, expiry, ' +
      'revocation and `Set.has`, synchronous, in a million keys too.',
    unit: 'ops/s',
    base: 'the plain check',
    rows,
    aims: [
      aim('SHA-256, 1,000 keys, of the plain check', ratio('keyscope', 1_000), '≥', 0.75, '×'),
      aim(
        'the same, of prefixed-api-key and a Map',
        over('keyscope', 'prefixed-api-key and a Map'),
        '≥',
        2.5,
        '×',
      ),
      aim("the same, of better-auth's best", best, '≥', 150, '×'),
      aim(
        'the same with pepper and seal, of the plain check',
        ratio('keyscope, pepper and seal', 1_000),
        '≥',
        0.5,
        '×',
      ),
      aim(
        'SHA-256, 1,000,000 keys, of a Map of that size',
        ratio('keyscope', MILLION),
        '≥',
        0.8,
        '×',
      ),
    ],
  });
}

const [flag, name = '', rounds = ''] = process.argv.slice(2);
await (flag === '--door' ? inItsOwn(name, Number(rounds)) : main());
