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

const GAP = '  ';

/** A longer text overflows its column, so that it does not widen every row. */
const MAX_WIDTH = 250;

/**
 * Returns a function that prints rows as they arrive, in constant memory: as JSON, one object per
 * line, or as a table whose widths fit the first rows. If the terminal is too narrow, texts are cut
 * and then columns dropped, the last one first. Without a terminal, nothing is cut.
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
      const titles = fitted.map(({ column, width }) => pad(column.title, width));
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
    const isLast = index === fitted.length - 1;
    const style = column.style?.(row) ?? null;
    const padded = isLast ? text : pad(text, width) + GAP;
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
    const cells = rows.map((row) => widthOf(row[index] ?? ''));
    const widest = Math.max(widthOf(column.title), ...cells);
    return { column, index, width: Math.min(widest, MAX_WIDTH), isCut };
  });
  const total = (): number =>
    fitted.reduce((sum, { width }) => sum + width + GAP.length, -GAP.length);
  const excess = (): number => Math.max(0, total() - available);
  // The last column first, down to its minimum.
  for (const each of fitted.toReversed()) {
    const least = Math.min(each.width, each.column.atLeast ?? each.width);
    each.width = Math.max(least, each.width - excess());
  }
  while (excess() > 0 && fitted.length > 1) fitted.pop();
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
    if (line !== '' && widthOf(longer) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

// ── Widths ──────────────────────────────────────────────────────────────────────────────────────

/** Characters that are two columns wide: East Asian letters and emoji. */
const WIDE = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}]/u;

/** Returns the width of a text in columns. Combining marks have no width. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += widthOfOne(character);
  return width;
}

function widthOfOne(character: string): number {
  if (/\p{M}/u.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)));
}

/** Cuts a text to a width, with an ellipsis at its end. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = '';
  let left = width - 1;
  for (const character of text) {
    left -= widthOfOne(character);
    if (left < 0) break;
    shown += character;
  }
  return `${shown}…`;
}
