/**
 * `bench/results/README.md` and a chart a table, of the JSON that the parts left, and the figures
 * in the README of the repository, between two comments there: `node bench/pages.ts`.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.ts';
import { table } from './harness.ts';
import { type Aim, type Machine, number, RESULTS, rowsOf, type Table, times } from './report.ts';

type Kept = Table & { readonly machine: Machine };

const ORDER = ['verify', 'refusals', 'issue', 'scopes', 'http', 'size', 'cold', 'memory', 'stores'];
const rank = ({ name }: Kept): number =>
  (ORDER.indexOf(name) + ORDER.length + 1) % (ORDER.length + 1);

function kept(): readonly Kept[] {
  const files = readdirSync(RESULTS).filter((file) => file.endsWith('.json'));
  const tables = files.map(
    (file) => JSON.parse(readFileSync(new URL(file, RESULTS), 'utf8')) as Kept,
  );
  return tables.sort((a, b) => rank(a) - rank(b));
}

const measuredOn = ({ date, cpu, cores, memory, node, os }: Machine): string =>
  `Measured ${date}; ${cpu}, ${cores} cores, ${memory}; Node ${node}, ${os}.`;

const aimsPage = (tables: readonly Kept[]): string => {
  const all: readonly (readonly [string, Aim])[] = tables.flatMap(({ name, aims }) =>
    aims.map((aim) => [name, aim] as const),
  );
  const cells = all.map(([name, { what, wanted, measured, met }]) => [
    name,
    what,
    wanted,
    measured,
    met ? 'met' : 'short',
  ]);
  return table(['part', 'aim', 'wanted', 'measured', ''], cells);
};

const section = (each: Kept): string => `## ${each.title}

${each.about}

![${each.title}](${each.name}.svg)

${rowsOf(each)}

${measuredOn(each.machine)}`;

const README = new URL('../README.md', import.meta.url);
/** Where the README shows a table. */
const between = (name: string): RegExp =>
  new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=\\n<!-- /${name} -->)`, 's');

/** The first group of a table, with the machine below it. */
export function shownOf(each: Kept): string {
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

export function writePages(): void {
  const tables = kept();
  let readme = readFileSync(README, 'utf8');
  for (const [name, shown] of [['verify', shownOf] as const, ['http', frameworksOf] as const]) {
    const found = tables.find((each) => each.name === name);
    if (found) readme = readme.replace(between(name), () => shown(found));
  }
  writeFileSync(README, readme);
  for (const each of tables) writeFileSync(new URL(`${each.name}.svg`, RESULTS), chartOf(each));
  const page = `# What keyscope costs

Written by \`npm run bench\`, which measures all of this anew; with names of parts, such as \`npm run bench -- verify\`,
those alone. Figures are medians over rounds in which every case of a table has its turn, in an order drawn anew; ratios
are medians of the ratios within a round; the spread is from the 10th to the 90th percentile of the rounds, in parts of
the median. Before a case is timed it is checked that it does what it says. Absolute figures are this machine's;
the ratios are what to look at. What each aim that is short is made of, and what was tried: [bench](../README.md).

## Aims

${aimsPage(tables)}

${tables.map(section).join('\n\n')}
`;
  writeFileSync(new URL('README.md', RESULTS), page);
}

if (import.meta.main) writePages();
