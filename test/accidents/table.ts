/** Formats the results of the accidents as a table for a terminal or a page. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Accident } from './accident.ts';
import type { Played } from './play.ts';

/** A row of the table. */
export interface Line {
  readonly accident: Accident;
  readonly played: Played;
}

const COLUMNS: Readonly<Record<string, (line: Line) => string>> = {
  accident: ({ accident }) => accident.name,
  asked: ({ played }) => String(played.figures.asked),
  answered: ({ played }) => String(played.figures.answered),
  'got 503': ({ played }) => String(played.figures.refused),
  'longest wait': ({ played }) => `${Math.round(played.figures.slowestMs)} ms`,
  'let in': ({ played }) => String(played.figures.letIn),
  'late from cache': ({ played }) => String(played.figures.letInLate),
  'keys lost': ({ played: { figures } }) => `${figures.lostKeys} of ${figures.issued}`,
  'revocations lost': ({ played: { figures } }) =>
    `${figures.lostRevocations} of ${figures.revoked}`,
  'whole after': ({ played }) => `${played.seconds.toFixed(1)} s`,
};

/** One Markdown table per engine, with aligned columns. */
export function tableOf(lines: readonly Line[], titleOf: (engine: string) => string): string {
  const titles = new Map(lines.map(({ accident }) => [accident, titleOf(accident.engine)]));
  const parts = [...new Set(titles.values())].map((title) => {
    const some = lines.filter(({ accident }) => titles.get(accident) === title);
    return `### ${title}\n\n${rowsOf(some)}${reasonsOf(some)}`;
  });
  return parts.join('\n\n');
}

/** Why some accidents may lose acknowledged writes. */
function reasonsOf(lines: readonly Line[]): string {
  const reasons = new Set(lines.flatMap(({ accident }) => accident.mayLose ?? []));
  return reasons.size === 0 ? '' : `\n\nWhat may be lost: ${[...reasons].join(' ')}`;
}

function rowsOf(lines: readonly Line[]): string {
  const heads = Object.keys(COLUMNS);
  const cells = lines.map((line) => Object.values(COLUMNS).map((cell) => cell(line)));
  const widths = heads.map((head, at) =>
    Math.max(...[heads, ...cells].map((row) => row[at]?.length ?? 0), head.length),
  );
  const write = (row: readonly string[]): string =>
    `| ${row.map((cell, at) => align(cell, widths[at] ?? 0, at)).join(' | ')} |`;
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return [write(heads), write(rule), ...cells.map(write)].join('\n');
}

/** Aligns words to the left and figures to the right. */
function align(cell: string, width: number, at: number): string {
  return at === 0 ? cell.padEnd(width) : cell.padStart(width);
}

/** Replaces the text between a page's two comments with this name. */
export function replaceIn(path: string, name: string, text: string): void {
  const page = readFileSync(path, 'utf8');
  const start = `<!-- ${name} -->\n`;
  const end = `\n<!-- /${name} -->`;
  const from = page.indexOf(start);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`${path} has no comments named ${name}`);
  writeFileSync(path, page.slice(0, from + start.length) + text + page.slice(to));
}
