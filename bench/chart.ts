/**
 * Bar charts as SVG: lying bars from zero, groups below one another, what is ours in a colour, and
 * a line over each bar from the 10th to the 90th percentile. Nothing but shapes and text: no
 * script, no style sheet, no font from anywhere. There is no background, and the colours stand on
 * white as on black.
 */
import { figure, number, type Row, type Table, type Unit } from './report.ts';

const [WIDTH, ROW, BAR, GAP, TOP] = [780, 22, 14, 30, 58];
const [TEXT, OURS, OTHERS, NOISE] = ['#767676', '#2f81f7', '#9198a1', '#767676'];
const [FONT, SIZE] = ['system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif', 13];
/** What a character takes at that size, on the wide side: fonts differ. */
const CHARACTER = 7.2;

const isRate = (unit: Unit): boolean => unit.endsWith('/s');

const escaped = (text: string): string =>
  text.replace(/[<>&"]/g, (c) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;' })[c] ?? '&quot;');

const place = (value: number): string => String(Math.round(value * 10) / 10);

function text(x: number, y: number, content: string, more = ''): string {
  return `<text x="${place(x)}" y="${place(y)}"${more}>${escaped(content)}</text>`;
}

/** One row: its name, its bar, the noise over it, and its figure behind both. */
function rowAt(y: number, row: Row, unit: Unit, left: number, perUnit: number): string {
  const { name, value, spread = 0, ratio, ours } = row;
  const [length, noise] = [value * perUnit, (value * perUnit * spread) / 2];
  const [middle, from] = [y + ROW / 2, Math.max(left, left + length - noise)];
  const shown = `${figure(value, unit)}${ratio === undefined ? '' : ` (${number(ratio)} ×)`}`;
  return [
    text(left - 10, middle + 4, name, ` text-anchor="end"${ours ? ' font-weight="600"' : ''}`),
    `<rect x="${left}" y="${place(middle - BAR / 2)}" width="${place(Math.max(length, 1))}" height="${BAR}" rx="2" fill="${ours ? OURS : OTHERS}"/>`,
    `<path d="M${place(from)} ${place(middle)}H${place(left + length + noise)}" stroke="${NOISE}" stroke-width="1.5"/>`,
    text(left + length + noise + 8, middle + 4, shown),
  ].join('\n');
}

export function chartOf({ name, title, unit, rows, base }: Table): string {
  const longest = Math.max(...rows.map((row) => row.name.length));
  const left = Math.round(longest * CHARACTER + 20);
  const reach = Math.max(...rows.map(({ value, spread = 0 }) => value * (1 + spread / 2)));
  // Behind the longest bar stands its figure.
  const perUnit = (WIDTH - left - 150) / reach;
  const parts: string[] = [];
  let [y, group]: [number, string | undefined] = [TOP, undefined];
  for (const row of rows) {
    if (row.group !== undefined && row.group !== group) {
      if (parts.length > 0) y += GAP / 2;
      parts.push(text(0, y + ROW - 6, row.group, ' font-weight="600"'));
      y += GAP;
    }
    group = row.group;
    parts.push(rowAt(y, row, unit, left, perUnit));
    y += ROW;
  }
  const direction = isRate(unit) ? 'more is better' : 'less is better';
  const note = `${unit}, ${direction}${base === undefined ? '' : `; in brackets, the speed of ${base} is 1`}`;
  const spoken = rows.map(
    (row) => `${row.group ? `${row.group}: ` : ''}${row.name} ${figure(row.value, unit)} ${unit}`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 8}" width="${WIDTH}" height="${y + 8}" role="img" aria-labelledby="${name}-title ${name}-desc" font-family="${FONT}" font-size="${SIZE}" fill="${TEXT}">`,
    `<title id="${name}-title">${escaped(title)}</title>`,
    `<desc id="${name}-desc">${escaped(`${note}. ${spoken.join('; ')}.`)}</desc>`,
    text(0, 20, title, ' font-size="16" font-weight="600"'),
    text(0, 40, note),
    ...parts,
    '</svg>\n',
  ].join('\n');
}
