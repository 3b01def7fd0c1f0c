/**
 * `npm run lab -- drivers`: the store contract on the oldest and newest supported version of every
 * driver, with the options that services use. Prints a table and fails if a test of the contract
 * does.
 *
 * Without root or a network, MySQL and the newest Valkey and Redis are left out, by name.
 * `-- --markdown docs/stores.md` also writes the table into that page. `-- <words>` selects the
 * lines that contain the words.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { replaceIn } from '../accidents/table.ts';
import { withVersion } from '../accidents/versions.ts';
import { MYSQL } from './mysql.ts';
import { newestNames, startNewestServers } from './newest-servers.ts';
import { PGLITE } from './pglite.ts';
import { POSTGRES } from './postgres.ts';
import { type Outcome, type Range, type Trial, tryOut, versionOf } from './range.ts';
import { REDIS } from './redis.ts';
import { SQLITE } from './sqlite.ts';

const HEADS = ['client', 'options', 'server', 'lowest', 'passed', 'newest', 'passed'];

/** Each part runs one trial after another; the parts run at the same time. */
const RANGES = {
  'in process, and Redis': [...SQLITE, ...PGLITE, ...REDIS],
  PostgreSQL: POSTGRES,
  MySQL: MYSQL,
} as const satisfies Readonly<Record<string, readonly Range[]>>;

type Engines = keyof typeof RANGES;

const { values, positionals: words } = parseArgs({
  allowPositionals: true,
  options: { markdown: { type: 'string' }, engines: { type: 'string' } },
});

if (words.length > 0 && values.markdown !== undefined) {
  throw new Error('--markdown cannot be combined with words: the table needs the whole run');
}
const faults: string[] = [];

/** The cells for one version: its number, and how many tests passed. */
async function cellsOf(range: Range, name: string, trial: Trial): Promise<readonly string[]> {
  const version = versionOf(name);
  const line = `${range.client} ${version}, ${trial.options}, ${range.server.name}`;
  if (!words.every((word) => line.includes(word))) return [version, 'not run'];
  const begun = performance.now();
  let outcome: Outcome;
  try {
    outcome = await tryOut(trial, await import(name), await range.server.url());
  } catch (error) {
    outcome = { tests: 0, failed: [String(error)] };
  }
  const { tests, failed } = outcome;
  const passed = `${tests - failed.length} of ${tests}`;
  const seconds = Math.round((performance.now() - begun) / 1_000);
  console.log(`${line}: ${passed}, ${seconds} s`);
  const some = failed.slice(0, 3).map((each) => `FAILED ${line}: ${each}`);
  for (const each of some) console.log(each);
  faults.push(...some);
  return [version, passed];
}

/** The rows of the table for one range. */
async function rowsOf(range: Range): Promise<readonly (readonly string[])[]> {
  const rows: (readonly string[])[] = [];
  for (const trial of range.trials) {
    const lowest = await cellsOf(range, range.lowest, trial);
    const isOne = range.lowest === range.newest;
    const newest = isOne ? lowest : await cellsOf(range, range.newest, trial);
    rows.push([range.client, trial.options, range.server.name, ...lowest, ...newest]);
  }
  return rows;
}

/** Runs the ranges one after another. */
async function linesOf(ranges: readonly Range[]): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const range of ranges) {
    for (const row of await rowsOf(range)) lines.push(`| ${row.join(' | ')} |`);
  }
  return lines;
}

/** In a child process, because SQLite and PGlite block everything else in theirs. */
async function runApart(engines: Engines): Promise<readonly string[]> {
  const child = fork(import.meta.filename, ['--engines', engines, ...words]);
  let lines: readonly string[] = [];
  child.on('message', (message) => {
    const run = message as { readonly lines: readonly string[]; readonly faults: string[] };
    lines = run.lines;
    faults.push(...run.faults);
  });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) faults.push(`${engines} crashed: see above`);
  return lines;
}

/** Starts the newest servers, which some of the lines need, or says that they are left out. */
async function startNewest(): Promise<() => Promise<void>> {
  try {
    return await startNewestServers();
  } catch (error) {
    console.log(`skipped MySQL, and the newest Valkey and Redis: ${String(error)}`);
    return async () => {};
  }
}

async function runAll(): Promise<void> {
  const stop = await startNewest();
  const parts = await Promise.all((Object.keys(RANGES) as Engines[]).map(runApart)).finally(stop);
  const heads = [`| ${HEADS.join(' | ')} |`, `|${' --- |'.repeat(HEADS.length)}`];
  const table = [...heads, ...parts.flat()].join('\n');
  const ofTests = ['PostgreSQL', 'MariaDB', 'Redis'].map(withVersion);
  const servers = [...ofTests, ...newestNames()].join(', ');
  const date = new Date().toISOString().slice(0, 10);
  const seen = `${table}\n\nRun ${date} on Node ${process.version}; ${servers}.`;
  console.log(`\n${seen}\n`);
  for (const fault of faults) console.log(fault);
  if (values.markdown !== undefined) replaceIn(values.markdown, 'drivers', seen);
  process.exitCode = faults.length === 0 ? 0 : 1;
}

const { engines } = values;
if (engines === undefined) await runAll();
else {
  const lines = await linesOf(RANGES[engines as Engines]);
  // Drivers may leave connections open.
  process.send?.({ lines, faults }, () => process.exit());
}
