/**
 * `bench/results/README.md` and a chart a table, of the JSON that the parts left, and the figures
 * in the README of the repository, between two comments there: `node bench/results-page.ts`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.ts';
import { table } from './harness.ts';
import {
  type Machine,
  number,
  outcomeOf,
  PARTS,
  RESULTS,
  rowsOf,
  type Table,
  times,
} from './report.ts';

/** A table as it was kept, with the machine that it was measured on. */
interface Kept extends Table {
  readonly machine: Machine;
}

/** What has no place in the order comes last. */
function placeOf({ name }: Kept): number {
  const place = PARTS.indexOf(name);
  return place < 0 ? PARTS.length : place;
}

function readTables(): readonly Kept[] {
  const files = readdirSync(RESULTS).filter((file) => file.endsWith('.json'));
  const tables = files.map(
    (file) => JSON.parse(readFileSync(new URL(file, RESULTS), 'utf8')) as Kept,
  );
  return tables.sort((one, other) => placeOf(one) - placeOf(other));
}

function measuredOn({ date, cpu, cores, memory, node, os }: Machine): string {
  return `Measured ${date}; ${cpu}, ${cores} cores, ${memory}; Node ${node}, ${os}.`;
}

function allAims(tables: readonly Kept[]): string {
  const cells = tables.flatMap(({ name, aims }) =>
    aims.map((each) => [name, each.what, each.wanted, each.measured, outcomeOf(each)]),
  );
  return table(['part', 'aim', 'wanted', 'measured', ''], cells);
}

function sectionOf(each: Kept): string {
  return `## ${each.title}

${each.about}

![${each.title}](${each.name}.svg)

${rowsOf(each)}

${measuredOn(each.machine)}`;
}

const README = new URL('../README.md', import.meta.url);
/** Where the README shows a table. */
function placeInReadme(name: string): RegExp {
  return new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=\\n<!-- /${name} -->)`, 's');
}

/** The first group of a table, with the machine below it. */
function firstGroupOf(each: Kept): string {
  const group = each.rows[0]?.group;
  const rows = rowsOf({ ...each, rows: each.rows.filter((row) => row.group === group) });
  return `${rows}\n\n${measuredOn(each.machine)}`;
}

const SIDE_BY_SIDE = ['bare', 'plain check', 'keyscope'];

/** Of the frameworks a line each, by requests in a second. */
export function frameworksOf({ rows, machine }: Kept): string {
  // A second figure of the same framework has a comma in its name.
  const groups = [...new Set(rows.map(({ group = '' }) => group))].filter(
    (group) => !group.includes(','),
  );
  const lines = groups.map((group) => {
    const found = SIDE_BY_SIDE.map((name) =>
      rows.find((row) => row.group === group && row.name === name),
    );
    return [
      group,
      ...found.map((row) => (row ? number(row.value) : '')),
      times(found.at(-1)?.ratio),
    ];
  });
  const head = ['requests/s', ...SIDE_BY_SIDE, 'of the plain check'];
  return `${table(head, lines)}\n\n${measuredOn(machine)}`;
}

const SHOWN_IN_README: Readonly<Record<string, (each: Kept) => string>> = {
  verify: firstGroupOf,
  http: frameworksOf,
};

function writeReadme(tables: readonly Kept[]): void {
  let readme = readFileSync(README, 'utf8');
  for (const [name, shown] of Object.entries(SHOWN_IN_README)) {
    const found = tables.find((each) => each.name === name);
    if (found !== undefined) readme = readme.replace(placeInReadme(name), () => shown(found));
  }
  writeFileSync(README, readme);
}

export function writePages(): void {
  const tables = readTables();
  writeReadme(tables);
  for (const each of tables) writeFileSync(new URL(`${each.name}.svg`, RESULTS), chartOf(each));
  const page = `# What keyscope costs

Written by \`npm run bench\`, which measures all of this anew; with names of parts, such as
\`npm run bench -- verify\`, those alone. Each pair has a process of its own and is
measured three times, by turns with all other pairs. A figure is the 10th percentile of rounds in
which every case has its turn, of the process whose ratio is in the middle; the spread is how far
the three lie apart. Of a million keys, HTTP, stores and memory the spread is from the 10th to the
90th percentile of the rounds. Before a case
is timed it is checked that it does what it says. Absolute figures are this machine's; the ratios
are what to look at. What each aim that is short is made of, and what was tried:
[bench](../README.md).

## Aims

${allAims(tables)}

${tables.map(sectionOf).join('\n\n')}
`;
  writeFileSync(new URL('README.md', RESULTS), page);
}

if (import.meta.main) writePages();
