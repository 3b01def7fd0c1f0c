/**
 * `npm run test:accidents`: what becomes of requests, new keys and revocations while something
 * happens to the database. Starts the servers itself, on this machine, and removes them. Prints a
 * table, and fails where a key was let in after its revocation had answered, where an answered
 * write was lost that the engine promises to keep, or where anything was never answered.
 *
 * `-- --quick` leaves out what takes long, and plays two at a time, of different engines;
 * `-- --markdown docs/reliability.md` also writes the table into that page; `-- <words>` takes
 * those whose line has the words.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import type { Accident } from './accident.ts';
import { ACCIDENTS } from './accidents.ts';
import { faultsOf } from './faults.ts';
import type { Played } from './play.ts';
import { type Line, replaceIn, tableOf } from './table.ts';
import { measuredOn, withVersion } from './versions.ts';

const { CI } = process.env;
const { values, positionals: only } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean' }, markdown: { type: 'string' } },
});

const lineOf = ({ engine, name }: Accident) => `${engine}: ${name}`;

const wanted = ACCIDENTS.filter((accident) => {
  const line = lineOf(accident);
  return only.every((word) => line.includes(word)) && !(values.quick && accident.isLong);
});

// ── One accident ────────────────────────────────────────────────────────────────────────────────

/** Plays it in a process of its own, which ends with this one. */
async function playApart(accident: Accident): Promise<Played> {
  const number = String(ACCIDENTS.indexOf(accident));
  const given = values.quick ? [number, '--quick'] : [number];
  const child = fork(new URL('play.ts', import.meta.url), given, { execArgv: [] });
  let played: Played | undefined;
  child.on('message', (message) => {
    played = message as Played;
  });
  await once(child, 'exit');
  if (played === undefined) throw new Error('it broke off: see above');
  return played;
}

const lines: Line[] = [];
const faults: string[] = [];

async function meet(accident: Accident): Promise<void> {
  const line = lineOf(accident);
  if (accident.missing !== undefined) {
    const told = `${line}: ${accident.missing} is not installed`;
    console.log(`skipped ${told}`);
    if (CI === 'true') faults.push(told);
    return;
  }
  console.log(line);
  try {
    const played = await playApart(accident);
    lines.push({ accident, played });
    faults.push(...faultsOf(played.figures, accident.mayLose).map((fault) => `${line}: ${fault}`));
  } catch (error) {
    faults.push(`${line}: ${String(error)}`);
  }
}

// ── All of them ─────────────────────────────────────────────────────────────────────────────────

const serverOf = ({ engine }: Accident) => /^\w+/.exec(engine)?.[0] ?? engine;

const left = [...wanted];
const busy = new Set<string>();

/** The next one whose server nobody else is breaking. */
function takeNext(): Accident | undefined {
  const at = left.findIndex((accident) => !busy.has(serverOf(accident)));
  return at < 0 ? undefined : left.splice(at, 1)[0];
}

async function playAll(): Promise<void> {
  for (let accident = takeNext(); accident !== undefined; accident = takeNext()) {
    const server = serverOf(accident);
    busy.add(server);
    await meet(accident);
    busy.delete(server);
  }
}

await Promise.all(Array.from({ length: values.quick ? 2 : 1 }, playAll));
// What one lane left for the other's server.
await playAll();

lines.sort((a, b) => ACCIDENTS.indexOf(a.accident) - ACCIDENTS.indexOf(b.accident));
const table = `${tableOf(lines, withVersion)}\n\n${measuredOn()}`;
console.log(`\n${table}\n`);
if (values.markdown !== undefined) replaceIn(values.markdown, 'accidents', table);
for (const fault of faults) console.log(`NOT as promised: ${fault}`);
if (faults.length === 0) console.log('all as promised');
process.exitCode = faults.length === 0 ? 0 : 1;
