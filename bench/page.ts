/**
 * Writes `bench/results/README.md` from the JSON that the parts left, and the table in the
 * repository's README: `node bench/page.ts`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import {
  type Kept,
  type Machine,
  markdown,
  outcomeOf,
  PARTS,
  RESULTS,
  type Row,
  sectionOf,
  worstFirst,
} from './report.ts';

const README = new URL('../README.md', import.meta.url);
/** Where the README shows the table. */
const PLACE = /(?<=<!-- figures -->\n).*?(?=\n<!-- \/figures -->)/s;

function readParts(): readonly Kept[] {
  const files = PARTS.map((name) => new URL(`${name}.json`, RESULTS)).filter(existsSync);
  return files.map((file) => JSON.parse(readFileSync(file, 'utf8')) as Kept);
}

function rowsIn({ tables }: Kept): readonly Row[] {
  return tables.flatMap(({ rows }) => rows);
}

function measuredOn({ date, cpu, cores, memory, node, os }: Machine): string {
  return `Measured ${date}; ${cpu}, ${cores} cores, ${memory}; Node ${node}, ${os}.`;
}

/** The bounds that are not met, by part, and how many there are in all. */
export function shortfallsOf(parts: readonly Kept[]): string {
  const bounded = parts.flatMap((part) => {
    const rows = rowsIn(part).filter(({ verdict }) => outcomeOf(verdict) !== '');
    return rows.map(({ name, verdict }) => ({ part: part.name, name, verdict }));
  });
  const short = bounded.filter(({ verdict }) => verdict?.met !== true);
  const met = `${bounded.length - short.length} of ${bounded.length} bounds are met.`;
  if (short.length === 0) return met;
  const lines = short.map(({ part, name, verdict }) => {
    return [part, name, verdict?.measured ?? '', verdict?.wanted ?? ''];
  });
  return `${met} These are not:\n\n${markdown(['part', 'what', 'measured', 'bound'], lines)}`;
}

/** The rows that the README names, the least flattering ones first. */
export function readmeTable(parts: readonly Kept[]): string {
  const rows = worstFirst(parts.flatMap(rowsIn).filter(({ inReadme }) => inReadme !== undefined));
  const lines = rows.map(({ inReadme = '', verdict }) => {
    const { measured = '', wanted } = verdict ?? {};
    return [inReadme, measured, wanted ?? '', outcomeOf(verdict)];
  });
  return markdown(['what', 'measured', 'target', ''], lines);
}

export function writePages(): void {
  const parts = readParts();
  const [first] = parts;
  if (first === undefined) return;
  const page = `# What keyscope costs

Written by \`npm run bench\`, which measures all of this on your machine. Compare the ratios: both
sides of each were measured by turns in one run. The absolute figures belong to this machine.

${shortfallsOf(parts)}

${parts.map((part) => `${sectionOf(part)}\n\n${measuredOn(part.machine)}`).join('\n\n')}
`;
  writeFileSync(new URL('README.md', RESULTS), page);
  const shown = `${readmeTable(parts)}\n\n${measuredOn(first.machine)}`;
  writeFileSync(
    README,
    readFileSync(README, 'utf8').replace(PLACE, () => shown),
  );
}

if (import.meta.main) writePages();
