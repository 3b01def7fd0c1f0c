/**
 * The result of a part of the benchmark: its shape, how it is judged, and how it is written to the
 * console and as JSON to `bench/results`. `run.ts` makes the page of that JSON.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem, type } from 'node:os';

/** The figure of a row that counts, and what it should be. */
export interface Verdict {
  readonly measured: string;
  /** Null without a bound. */
  readonly wanted: string | null;
  readonly met: boolean;
}

export interface Row {
  readonly name: string;
  /** In the order of the table's head. */
  readonly cells: readonly (string | number)[];
  readonly verdict?: Verdict;
  /** The name of this row in the summary of the results, which shows only rows with one. */
  readonly inSummary?: string;
}

export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly Row[];
}

export interface Part {
  /** The name of its file: `growth` → `bench/growth.ts`, `bench/results/growth.json`. */
  readonly name: string;
  readonly title: string;
  /** One or two sentences: the measurement and its method. */
  readonly about: string;
  readonly tables: readonly Table[];
}

export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memory: string;
  readonly node: string;
  readonly os: string;
}

/** A part as its JSON file has it. */
export interface Kept extends Part {
  readonly machine: Machine;
}

/** In the order in which they run and are shown. */
export const PARTS: readonly string[] = [
  'growth',
  'pauses',
  'database',
  'verify',
  'limits',
  'refusals',
  'flood',
  'boot',
  'memory',
  'size',
];

export const RESULTS = new URL('./results/', import.meta.url);

/** A quick run shows whether everything works, and roughly how fast. */
export const quick: boolean = process.argv.includes('--quick');

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

// ── Judgements ───────────────────────────────────────────────────────────────────────────────────

/** Three significant digits: no timing repeats to more. */
export function number(value: number): string {
  if (Number.isNaN(value)) return 'not measured';
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** A figure with its unit. */
export function withUnit(value: number, unit: string): string {
  return Number.isNaN(value) ? number(value) : `${number(value)} ${unit}`;
}

/** A bound from above. A missing measurement does not meet it. */
export function atMost(value: number, bound: number, unit: string): Verdict {
  return {
    measured: withUnit(value, unit),
    wanted: `≤ ${bound.toLocaleString('en-US')} ${unit}`,
    met: value <= bound,
  };
}

/** A figure without a bound. */
export function unbounded(value: number, unit: string): Verdict {
  return { measured: withUnit(value, unit), wanted: null, met: true };
}

/** A word for it; none without a bound. */
export function outcomeOf(verdict: Verdict | undefined): string {
  if (verdict === undefined || verdict.wanted === null) return '';
  return verdict.met ? 'met' : '**missed**';
}

/** Sorts rows that miss a bound first, then rows that meet one, then the rest. */
export function worstFirst(rows: readonly Row[]): readonly Row[] {
  const places = ['**missed**', 'met', ''];
  const placeOf = ({ verdict }: Row): number => places.indexOf(outcomeOf(verdict));
  return rows.toSorted((one, other) => placeOf(one) - placeOf(other));
}

// ── Tables ───────────────────────────────────────────────────────────────────────────────────────

/** A Markdown table whose columns line up; all except the first are right-aligned. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, 3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lineOf = (cells: readonly string[]): string => {
    const padded = cells.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    return `| ${padded.join(' | ')} |`;
  };
  const dashes = widths.map((width, column) =>
    column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [lineOf(head), lineOf(dashes), ...rows.map(lineOf)].join('\n');
}

export function textOf({ head, rows }: Table): string {
  const isBounded = rows.some(({ verdict }) => verdict !== undefined && verdict.wanted !== null);
  const lines = worstFirst(rows).map(({ name, cells, verdict }) => {
    const shown = cells.map((cell) => (typeof cell === 'number' ? number(cell) : cell));
    return [name, ...shown, ...(isBounded ? [verdict?.wanted ?? '', outcomeOf(verdict)] : [])];
  });
  return markdown([...head, ...(isBounded ? ['bound', ''] : [])], lines);
}

export function sectionOf({ title, about, tables }: Part): string {
  return `## ${title}\n\n${about}\n\n${tables.map(textOf).join('\n\n')}`;
}

/** Prints a part, and keeps it unless the run is a quick one. */
export function publish(part: Part): void {
  console.log(`\n${sectionOf(part)}`);
  if (quick) return;
  mkdirSync(RESULTS, { recursive: true });
  const kept: Kept = { ...part, machine: readMachine() };
  const file = new URL(`${part.name}.json`, RESULTS);
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
}
