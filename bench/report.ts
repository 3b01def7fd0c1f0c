/**
 * What the parts of the benchmark hand over, and how it is written down: a table as Markdown on the
 * console and as JSON in `bench/results/`, with the machine it was measured on. `run.ts` makes
 * pages and charts of the JSON.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';
import { type Figure, table } from './harness.ts';

export interface Row {
  /** The case, as a reader would say it. */
  readonly name: string;
  /** Rows of a group are compared with one another. */
  readonly group?: string;
  /** The median, in the table's unit. */
  readonly value: number;
  /** From the 10th to the 90th percentile of the rounds, in parts of the median. */
  readonly spread?: number;
  /** To the group's base: the median of the ratios within a round. Above 1 is faster, or more. */
  readonly ratio?: number;
  /** Further figures of the same unit, by the table's `tails`. */
  readonly tails?: readonly number[];
  /** Drawn in the accent colour. */
  readonly ours?: boolean;
}

export interface Aim {
  readonly what: string;
  readonly wanted: string;
  readonly measured: string;
  readonly met: boolean;
}

export type Unit = 'ops/s' | 'requests/s' | 'ns' | 'µs' | 'ms' | 'bytes';

export interface Table {
  /** `verify` → `bench/results/verify.json`. */
  readonly name: string;
  readonly title: string;
  /** What is measured and how, in one to three sentences. */
  readonly about: string;
  readonly unit: Unit;
  /** What the ratios are to. */
  readonly base?: string;
  /** What the rows' further figures are; the first one is then the median. */
  readonly tails?: readonly string[];
  readonly rows: readonly Row[];
  readonly aims: readonly Aim[];
}

/** Where and when: tables of other days, of other machines, stand beside those of today. */
export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memory: string;
  readonly node: string;
  readonly os: string;
}

/** In the order in which they run, and are shown. */
export const PARTS: readonly string[] = [
  'verify',
  'admit',
  'refusals',
  'issue',
  'scopes',
  'guards',
  'http',
  'flood',
  'jwt',
  'size',
  'cold',
  'memory',
  'stores',
  'latency',
];

export const RESULTS = new URL('./results/', import.meta.url);

/** A short run shows whether everything works and how it stands, roughly. */
export const quick = process.argv.includes('--quick');

function readMachine(): Machine {
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memory: `${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    os: `${type()} ${process.arch}`,
  };
}

/** A figure as a row. The base of a group has no ratio to itself. */
export function rowOf(
  figure: Figure,
  unit: 'ops/s' | 'ns',
  as: Pick<Row, 'name' | 'group' | 'ours'>,
): Row {
  const { name, ns, over, ratio, spread } = figure;
  const compared = ratio === null || over === name ? {} : { ratio: 1 / ratio };
  return { ...as, value: unit === 'ns' ? ns : 1e9 / ns, spread, ...compared };
}

// ── Aims ─────────────────────────────────────────────────────────────────────────────────────────

/** An aim in one figure. What was not measured is not met. */
export function aim(
  what: string,
  value: number | undefined,
  sign: '≥' | '≤',
  bound: number,
  unit: string,
): Aim {
  const measured = value ?? Number.NaN;
  return {
    what,
    wanted: `${sign} ${bound.toLocaleString('en-US')} ${unit}`,
    measured: Number.isNaN(measured) ? 'not measured' : `${number(measured)} ${unit}`,
    met: sign === '≥' ? measured >= bound : measured <= bound,
  };
}

// ── Words ────────────────────────────────────────────────────────────────────────────────────────

/** Three significant digits, thousands apart: more than that no timing repeats. */
export function number(value: number): string {
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** A figure of a table: bytes to the last one. */
export function figure(value: number, unit: Unit): string {
  return unit === 'bytes' ? Math.round(value).toLocaleString('en-US') : number(value);
}

export function percent(part: number | undefined): string {
  return part === undefined ? '' : `${Math.round(100 * part)} %`;
}

/** More than this between rounds, or runs, and a figure says little. */
const UNSTABLE = 0.5;

function stability(spread: number | undefined): string {
  return (spread ?? 0) > UNSTABLE ? `${percent(spread)}, not stable here` : percent(spread);
}

export function times(ratio: number | undefined): string {
  return ratio === undefined ? '' : `${number(ratio)} ×`;
}

export function rowsOf({ rows, unit, base, tails = [] }: Table): string {
  const noisy = rows.some(({ spread }) => spread !== undefined);
  const head: string[] = ['case', tails.length > 0 ? `p50, ${unit}` : unit, ...tails];
  if (base !== undefined) head.push(`of ${base}`);
  if (noisy) head.push('spread');

  function cellsOf({ name, value, ratio, spread, ours, tails: more }: Row): readonly string[] {
    const cells = [ours ? `**${name}**` : name, figure(value, unit)];
    cells.push(...tails.map((_, index) => figure(more?.[index] ?? Number.NaN, unit)));
    if (base !== undefined) cells.push(times(ratio));
    if (noisy) cells.push(stability(spread));
    return cells;
  }

  const groups = [...new Set(rows.map(({ group }) => group))];
  const tables = groups.map((group) => {
    const cells = rows.filter((row) => row.group === group).map(cellsOf);
    const title = group === undefined ? '' : `${group}\n\n`;
    return `${title}${table(head, cells)}`;
  });
  return tables.join('\n\n');
}

/** What an aim came to, in a word. */
export function outcomeOf({ met }: Aim): string {
  return met ? 'met' : 'short';
}

export function aimsOf(aims: readonly Aim[]): string {
  const cells = aims.map((each) => [each.what, each.wanted, each.measured, outcomeOf(each)]);
  return table(['aim', 'wanted', 'measured', ''], cells);
}

// ── What is kept ─────────────────────────────────────────────────────────────────────────────────

/** Prints a table, and keeps it unless the run is a short one. */
export function publish(done: Table): void {
  console.log(`\n## ${done.title}\n\n${done.about}\n\n${rowsOf(done)}`);
  if (done.aims.length > 0) console.log(`\n${aimsOf(done.aims)}`);
  if (quick) return;
  mkdirSync(RESULTS, { recursive: true });
  writeFileSync(
    new URL(`${done.name}.json`, RESULTS),
    `${JSON.stringify({ ...done, machine: readMachine() }, null, 2)}\n`,
  );
}
