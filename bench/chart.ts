/**
 * Bar charts as SVG: lying bars from zero, groups below one another, what is ours in a colour, and
 * a line over each bar from the 10th to the 90th percentile. Nothing but shapes and text: no
 * script, no style sheet, no font from anywhere. There is no background, and the colours stand on
 * white as on black.
 */
import { figure, number, type Row, type Table, type Unit } from './report.ts';

const WIDTH = 780;
const ROW = 22;
const BAR = 14;
const GAP = 30;
const TOP = 58;
const TEXT = '#767676';
const OURS = '#2f81f7';
const OTHERS = '#9198a1';
const NOISE = '#767676';
const FONT = 'system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif';
const SIZE = 13;
/** What a character takes at that size, on the wide side: fonts differ. */
const CHARACTER = 7.2;
const BOLD = { 'font-weight': 600 } as const;

const ENTITIES: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  '"': '&quot;',
};

function escaped(text: string): string {
  return text.replace(/[<>&"]/g, (character) => ENTITIES[character] ?? '');
}

function place(value: number): string {
  return String(Math.round(value * 10) / 10);
}

type Attributes = Readonly<Record<string, string | number>>;

function attributesOf(attributes: Attributes): string {
  return Object.entries(attributes)
    .map(([name, value]) => ` ${name}="${value}"`)
    .join('');
}

function text(x: number, y: number, content: string, more: Attributes = {}): string {
  const attributes = attributesOf({ x: place(x), y: place(y), ...more });
  return `<text${attributes}>${escaped(content)}</text>`;
}

/** One row: its name, its bar, the noise over it, and its figure behind both. */
function rowAt(y: number, row: Row, unit: Unit, left: number, perUnit: number): string {
  const { name, value, spread = 0, ratio, ours } = row;
  const middle = y + ROW / 2;
  const length = value * perUnit;
  const noise = (length * spread) / 2;
  const end = left + length + noise;
  const bar = attributesOf({
    x: left,
    y: place(middle - BAR / 2),
    width: place(Math.max(length, 1)),
    height: BAR,
    rx: 2,
    fill: ours ? OURS : OTHERS,
  });
  const line = attributesOf({
    d: `M${place(Math.max(left, left + length - noise))} ${place(middle)}H${place(end)}`,
    stroke: NOISE,
    'stroke-width': 1.5,
  });
  const ratioShown = ratio === undefined ? '' : ` (${number(ratio)} ×)`;
  return [
    text(left - 10, middle + 4, name, { 'text-anchor': 'end', ...(ours ? BOLD : {}) }),
    `<rect${bar}/>`,
    `<path${line}/>`,
    text(end + 8, middle + 4, `${figure(value, unit)}${ratioShown}`),
  ].join('\n');
}

/** Where the rows end, and what they are drawn as. */
interface Drawn {
  readonly bottom: number;
  readonly parts: readonly string[];
}

/** The rows below one another, under the names of their groups. */
function drawRows({ rows, unit }: Table): Drawn {
  const longest = Math.max(...rows.map((row) => row.name.length));
  const left = Math.round(longest * CHARACTER + 20);
  const reach = Math.max(...rows.map(({ value, spread = 0 }) => value * (1 + spread / 2)));
  // Behind the longest bar stands its figure.
  const perUnit = (WIDTH - left - 150) / reach;
  const parts: string[] = [];
  let y = TOP;
  let group: string | undefined;
  for (const row of rows) {
    if (row.group !== undefined && row.group !== group) {
      if (parts.length > 0) y += GAP / 2;
      parts.push(text(0, y + ROW - 6, row.group, BOLD));
      y += GAP;
    }
    group = row.group;
    parts.push(rowAt(y, row, unit, left, perUnit));
    y += ROW;
  }
  return { bottom: y, parts };
}

/** What the unit is, and which end of it is good. */
function noteOf({ unit, base }: Table): string {
  const direction = unit.endsWith('/s') ? 'more is better' : 'less is better';
  const compared = base === undefined ? '' : `; in brackets, the speed of ${base} is 1`;
  return `${unit}, ${direction}${compared}`;
}

/** The same in words, for those who do not see it. */
function spokenOf({ rows, unit }: Table): string {
  const sentences = rows.map(({ name, group, value }) => {
    const place = group === undefined ? '' : `${group}: `;
    return `${place}${name} ${figure(value, unit)} ${unit}`;
  });
  return sentences.join('; ');
}

export function chartOf(shown: Table): string {
  const { name, title } = shown;
  const { bottom, parts } = drawRows(shown);
  const note = noteOf(shown);
  const image = attributesOf({
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${WIDTH} ${bottom + 8}`,
    width: WIDTH,
    height: bottom + 8,
    role: 'img',
    'aria-labelledby': `${name}-title ${name}-desc`,
    'font-family': FONT,
    'font-size': SIZE,
    fill: TEXT,
  });
  return [
    `<svg${image}>`,
    `<title id="${name}-title">${escaped(title)}</title>`,
    `<desc id="${name}-desc">${escaped(`${note}. ${spokenOf(shown)}.`)}</desc>`,
    text(0, 20, title, { 'font-size': 16, ...BOLD }),
    text(0, 40, note),
    ...parts,
    '</svg>\n',
  ].join('\n');
}
