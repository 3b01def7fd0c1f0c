/** Tables on terminals of any width. */
import { describe, expect, it } from 'vitest';
import { printFields, tablePrinter, widthOf } from '../../../src/tools/cli/table.js';
import { captureOutput } from '../../support/output.ts';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly scopes: string;
}

const COLUMNS = [
  { title: 'ID', cell: ({ id }: Row) => id },
  { title: 'NAME', cell: ({ name }: Row) => name, atLeast: 8 },
  { title: 'SCOPES', cell: ({ scopes }: Row) => scopes, atLeast: 12 },
];

const LONG: Row = { id: 'x'.repeat(36), name: 'n'.repeat(100), scopes: 's'.repeat(200) };

describe('a table', () => {
  it.each([200, 120, 80, 60, 40, 36])('that is 340 columns wide fits into %i', async (width) => {
    const { output, lines } = captureOutput(width);
    await tablePrinter(output, COLUMNS)([LONG, { ...LONG, name: '漢字🦊'.repeat(20) }]);
    expect(lines).toHaveLength(3);
    for (const line of lines) expect(widthOf(line), line).toBeLessThanOrEqual(width);
    expect(lines[1]).toContain(LONG.id);
  });

  it('cuts the last column first, and drops it only if that is not enough', async () => {
    const { output, lines } = captureOutput(60);
    await tablePrinter(output, COLUMNS)([{ ...LONG, name: 'ten letter' }]);
    expect(lines[1]).toMatch(/^x{36} {2}ten lett… {2}s{11}…$|^x{36} {2}t\S* ?\S*… {2}s{11}…$/);
    const narrow = captureOutput(48);
    await tablePrinter(narrow.output, COLUMNS)([LONG]);
    expect(narrow.lines[0]).toBe(`ID${' '.repeat(36)}NAME`);
  });

  it('cuts nothing without a terminal', async () => {
    const { output, lines } = captureOutput(Number.POSITIVE_INFINITY);
    await tablePrinter(output, COLUMNS)([LONG]);
    expect(lines[1]).toContain(`${LONG.name}  ${LONG.scopes}`);
  });

  // A name of a megabyte once widened every row to a megabyte.
  it('does not pad rows to the length of an endless name', async () => {
    const { output, lines } = captureOutput(Number.POSITIVE_INFINITY);
    const endless = { ...LONG, name: 'n'.repeat(100_000) };
    await tablePrinter(output, COLUMNS)([endless, LONG]);
    expect(lines[1]).toContain(endless.name);
    expect(lines[2]?.length).toBeLessThan(600);
  });

  it('keeps the widths of its first rows', async () => {
    const { output, lines } = captureOutput(80);
    const print = tablePrinter(output, COLUMNS);
    await print([{ id: 'a', name: 'b', scopes: 'c' }]);
    await print([{ id: 'a', name: 'longer', scopes: 'c' }]);
    expect(lines).toEqual(['ID  NAME  SCOPES', 'a   b     c', 'a   lon…  c']);
  });

  it('is one object per line in JSON', async () => {
    const { output, lines } = captureOutput(80, true);
    await tablePrinter(output, COLUMNS)([LONG, LONG]);
    expect(lines).toEqual([JSON.stringify(LONG), JSON.stringify(LONG)]);
  });

  it('escapes control characters', async () => {
    const { output, lines } = captureOutput(80);
    const name = 'a\u001b[2J\r\n\u009b\u202e\u{e0041}';
    await tablePrinter(output, COLUMNS)([{ id: 'a', name, scopes: '' }]);
    await printFields(output, {}, [['name', name]]);
    for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(lines[1]).toContain('a\\u001b[2J\\u000d');
  });
});

describe('printFields', () => {
  it('prints one field per line and wraps long values', async () => {
    const { output, lines } = captureOutput(24);
    await printFields(output, {}, [
      ['name', 'CI'],
      ['scopes', 'threats:read threats:write'],
    ]);
    expect(lines).toEqual(['name    CI', 'scopes  threats:read', '        threats:write']);
  });
});

describe('widthOf', () => {
  it.each([
    ['abc', 3],
    ['é', 1],
    ['e\u0301', 1],
    ['漢字', 4],
    ['🦊', 2],
  ])('%j is %i', (text, width) => {
    expect(widthOf(text)).toBe(width);
  });
});
