/** Tables that fit a terminal, and lists of fields. */
import { escapeLine } from '../escape.js';
import type { Output, Part, Style } from './output.js';

/** A column of a table. */
export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly style?: (row: Row) => Style | null;
  /** The narrowest width that it may be cut to. Default: it is never cut. */
  readonly atLeast?: number;
}

/** Said on standard error, because an empty table looks like a failure. */
export const NO_KEYS = 'No keys.';

const GAP = '  ';

/** A longer text overflows its column, so that it does not widen every row. */
const MAX_WIDTH = 250;

/** The first columns and the last one, which has the name. */
const MOST_IMPORTANT = 4;

/**
 * Returns a function that prints rows as they arrive, in constant memory: as JSON, one object per
 * line, or as a table whose widths fit the first rows. If the terminal is too narrow, it cuts the
 * last column first, and then drops the columns before it. Without a terminal, nothing is cut.
 *
 * A text that people choose belongs in the last column. Its characters may be wider than one
 * column of the terminal, which must not move other columns.
 */
export function tablePrinter<Row>(
  output: Output,
  columns: readonly Column<Row>[],
): (rows: readonly Row[]) => Promise<void> {
  let fitted: readonly Fitted<Row>[] | null = null;
  return async (rows) => {
    if (output.isJson) {
      for (const row of rows) await output.json(row);
      return;
    }
    const texts = rows.map((row) => columns.map(({ cell }) => escapeLine(cell(row))));
    if (fitted === null) {
      fitted = fitColumns(columns, texts, output.width);
      const titles = fitted.map(({ column, width }) => column.title.padEnd(width));
      await output.line({ style: 'dim', text: titles.join(GAP).trimEnd() });
    }
    for (const [index, row] of rows.entries()) {
      await output.line(...partsOf(fitted, row, texts[index] ?? []));
    }
  };
}

interface Fitted<Row> {
  readonly column: Column<Row>;
  readonly index: number;
  readonly width: number;
  readonly isCut: boolean;
}

function partsOf<Row>(
  fitted: readonly Fitted<Row>[],
  row: Row,
  texts: readonly string[],
): readonly Part[] {
  const cells = fitted.map(({ column, index, width, isCut }): Part => {
    const whole = texts[index] ?? '';
    const text = isCut ? cut(whole, width) : whole;
    const isLast = index === fitted.at(-1)?.index;
    const style = column.style?.(row) ?? null;
    const padded = isLast ? text : text.padEnd(width) + GAP;
    return style === null ? padded : { style, text: padded };
  });
  return cells;
}

function fitColumns<Row>(
  columns: readonly Column<Row>[],
  rows: readonly (readonly string[])[],
  available: number,
): readonly Fitted<Row>[] {
  const isCut = Number.isFinite(available);
  const fitted = columns.map((column, index) => {
    const lengths = rows.map((row) => row[index]?.length ?? 0);
    const width = Math.min(Math.max(column.title.length, ...lengths), MAX_WIDTH);
    return { column, index, width, least: Math.min(width, column.atLeast ?? width), isCut };
  });
  const excess = (name: 'width' | 'least'): number =>
    fitted.reduce((sum, each) => sum + each[name] + GAP.length, -GAP.length) - available;
  while (excess('least') > 0 && fitted.length > 1) {
    fitted.splice(fitted.length > MOST_IMPORTANT ? -2 : -1, 1);
  }
  for (const each of fitted.toReversed()) {
    each.width = Math.max(each.least, each.width - Math.max(0, excess('width')));
  }
  return fitted;
}

/** Prints the fields of an object, one per line, with long values wrapped; or as JSON. */
export async function printFields(
  output: Output,
  value: object,
  fields: readonly (readonly [name: string, value: string])[],
): Promise<void> {
  if (output.isJson) return output.json(value);
  const left = Math.max(...fields.map(([name]) => name.length)) + GAP.length;
  for (const [name, value] of fields) {
    const lines = wrap(escapeLine(value), output.width - left);
    for (const [index, line] of lines.entries()) {
      const label = (index === 0 ? name : '').padEnd(left);
      await output.line({ style: 'dim', text: label }, line);
    }
  }
}

/** Breaks a text at its spaces, never inside a word. */
function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && longer.length > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

/** Cuts a text to a number of characters, with an ellipsis at its end. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  if (characters.length <= width) return text;
  return `${characters.slice(0, width - 1).join('')}…`;
}
