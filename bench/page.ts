/**
 * Writes `bench/results/README.md` from the JSON that the parts left, and the two sentences of the
 * repository's README that quote it: `node bench/page.ts`.
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
/** Where the README quotes the figures. */
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

/** The rows that a reader would look for, those that miss a bound first. */
export function summaryOf(parts: readonly Kept[]): string {
  const rows = worstFirst(parts.flatMap(rowsIn).filter(({ inSummary }) => inSummary !== undefined));
  const lines = rows.map(({ inSummary = '', verdict }) => {
    const { measured = '', wanted } = verdict ?? {};
    return [inSummary, measured, wanted ?? '', outcomeOf(verdict)];
  });
  return markdown(['what', 'measured', 'bound', ''], lines);
}

/** Two significant digits: differences below 20 % are noise. */
function textOfMicros(value: number): string {
  return `${value.toLocaleString('en-US', { maximumSignificantDigits: 2 })} µs`;
}

/** What verifying and admitting take, in words for the README. */
export function sentencesOf(parts: readonly Kept[]): string {
  const rows = parts.flatMap(rowsIn);
  function figureOf(name: string, column = 0): number {
    const figure = rows.find((each) => each.name === name)?.cells[column];
    if (typeof figure !== 'number') throw new Error(`no figure in the row ${name}`);
    return figure;
  }
  const verified = textOfMicros(figureOf('keyscope, pepper and seal'));
  const admitted = textOfMicros(figureOf('an admitted key') / 1000); // Its table has nanoseconds.
  const byHand = textOfMicros(figureOf('keyscope, pepper and seal', 1));
  const prefixed = textOfMicros(figureOf('prefixed-api-key and a Map'));
  const jwt = textOfMicros(figureOf('jose, JWT with RS256'));
  const betterAuth = textOfMicros(figureOf('better-auth in memory'));
  return [
    `Verifying a key takes ${verified} with a pepper, and admitting a request ${admitted}, plus`,
    'one indexed look-up in your database, or none if the cache has the key. Other ways to verify',
    `a key, measured in the same run with 1,000 keys in memory each: a minimal check by hand`,
    `${byHand}, prefixed-api-key with a \`Map\` ${prefixed}, jose with a JWT (RS256) ${jwt}, and`,
    `better-auth ${betterAuth}, which writes a row on every check.`,
  ].join('\n');
}

function resultsOf(parts: readonly Kept[]): string {
  return `# What keyscope costs

Written by \`npm run bench\`, which measures all of this on your machine. Compare the ratios: both
sides of each were measured by turns in one run. The absolute figures belong to this machine.

${summaryOf(parts)}

${shortfallsOf(parts)}

${parts.map((part) => `${sectionOf(part)}\n\n${measuredOn(part.machine)}`).join('\n\n')}
`;
}

function readmeWith(parts: readonly Kept[]): string {
  const verify = parts.find(({ name }) => name === 'verify');
  if (verify === undefined) throw new Error('no figures of verify: run npm run bench -- verify');
  const shown = `${sentencesOf(parts)}\n\n${measuredOn(verify.machine)}`;
  return readFileSync(README, 'utf8').replace(PLACE, () => shown);
}

/** The files that show the figures, and what belongs in them. */
export function pages(): readonly { readonly file: URL; readonly text: string }[] {
  const parts = readParts();
  return [
    { file: new URL('README.md', RESULTS), text: resultsOf(parts) },
    { file: README, text: readmeWith(parts) },
  ];
}

export function writePages(): void {
  for (const { file, text } of pages()) writeFileSync(file, text);
}

if (import.meta.main) writePages();
