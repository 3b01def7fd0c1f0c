/**
 * `npm run lab -- accidents`: measures requests, new keys and revocations during accidents of the
 * database. Starts the servers on this machine, and removes them. Prints a table. Fails if a key
 * was let in after its revocation had answered, if the engine lost an answered write that it
 * promises to keep, or if anything was never answered.
 *
 * `-- --quick` leaves out the long accidents, and plays two at a time, of different engines.
 * `-- --markdown docs/reliability.md` also writes the table into that page. `-- <words>` plays only
 * the accidents whose line contains the words.
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

/** Plays it in a separate process, which ends with this one. */
async function playApart(accident: Accident): Promise<Played> {
  const number = String(ACCIDENTS.indexOf(accident));
  const given = values.quick ? [number, '--quick'] : [number];
  const child = fork(new URL('play.ts', import.meta.url), given, { execArgv: [] });
  let played: Played | undefined;
  child.on('message', (message) => {
    played = message as Played;
  });
  await once(child, 'exit');
  if (played === undefined) throw new Error('the process crashed: see above');
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

/** Returns the next accident whose server is free. */
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
// Accidents that one lane left because the other's server was busy.
await playAll();

lines.sort((a, b) => ACCIDENTS.indexOf(a.accident) - ACCIDENTS.indexOf(b.accident));
const table = `${tableOf(lines, withVersion)}\n\n${measuredOn()}`;
console.log(`\n${table}\n`);
if (values.markdown !== undefined) replaceIn(values.markdown, 'accidents', table);
for (const fault of faults) console.log(`NOT as promised: ${fault}`);
if (faults.length === 0) console.log('all as promised');
process.exitCode = faults.length === 0 ? 0 : 1;
