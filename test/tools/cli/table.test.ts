/** Tables on terminals of any width. */
import { describe, expect, it } from 'vitest';
import { cut, printFields, tablePrinter } from '../../../src/tools/cli/table.js';
import { captureOutput } from '../../support/output.ts';

interface Row {
  readonly id: string;
  readonly state: string;
  readonly end: string;
  readonly scopes: string;
  readonly name: string;
}

const COLUMNS = [
  { title: 'ID', cell: ({ id }: Row) => id },
  { title: 'STATE', cell: ({ state }: Row) => state },
  { title: 'END', cell: ({ end }: Row) => end },
  { title: 'SCOPES', cell: ({ scopes }: Row) => scopes, atLeast: 12 },
  { title: 'NAME', cell: ({ name }: Row) => name, atLeast: 8 },
];

const LONG: Row = {
  id: 'x'.repeat(36),
  state: 'live',
  end: '2027-01-01',
  scopes: 's'.repeat(200),
  name: 'n'.repeat(100),
};

/** Returns the header that fits, and the row below it. */
async function fitted(width: number, row: Row = LONG): Promise<readonly string[]> {
  const { output, lines } = captureOutput(width);
  await tablePrinter(output, COLUMNS)([row]);
  return lines;
}

describe('a table', () => {
  it.each([200, 120, 80, 60, 40, 36])('that is 360 columns wide fits into %i', async (width) => {
    const lines = await fitted(width);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(width);
    expect(lines[1]).toContain(LONG.id);
  });

  it('cuts the name first', async () => {
    const row = { ...LONG, scopes: 's'.repeat(20) };
    expect((await fitted(100, row))[1]).toMatch(/ s{20} {2}n{20}…$/);
    expect((await fitted(85, row))[1]).toMatch(/ s{17}… {2}n{7}…$/);
  });

  it('drops the columns before the name, and then the name', async () => {
    const row = { ...LONG, scopes: 's'.repeat(20) };
    const titles = async (width: number) => (await fitted(width, row))[0]?.split(/ +/);
    expect(await titles(79)).toEqual(['ID', 'STATE', 'END', 'SCOPES', 'NAME']);
    expect(await titles(78)).toEqual(['ID', 'STATE', 'END', 'NAME']);
    expect(await titles(60)).toEqual(['ID', 'STATE', 'END']);
    expect(await titles(45)).toEqual(['ID', 'STATE']);
    expect(await titles(20)).toEqual(['ID']);
    const [, line] = await fitted(70, { ...row, name: 'short' });
    expect(line).toMatch(/ short$/);
  });

  it('does not move a column by the wide characters of a name', async () => {
    const { output, lines } = captureOutput(80);
    const name = '漢字🦊'.repeat(20);
    await tablePrinter(output, COLUMNS)([{ ...LONG, name }, LONG]);
    const [, wide = '', narrow = ''] = lines;
    const start = narrow.indexOf('n');
    expect(wide.slice(0, start)).toBe(narrow.slice(0, start));
    expect(wide.isWellFormed()).toBe(true);
  });

  it('cuts nothing without a terminal', async () => {
    const { output, lines } = captureOutput(Number.POSITIVE_INFINITY);
    await tablePrinter(output, COLUMNS)([LONG]);
    expect(lines[1]).toContain(`${LONG.scopes}  ${LONG.name}`);
  });

  // A name of a megabyte once widened every row to a megabyte.
  it.each(['name', 'scopes'])('does not pad rows to the length of endless %s', async (field) => {
    const { output, lines } = captureOutput(Number.POSITIVE_INFINITY);
    const endless = 'n'.repeat(100_000);
    await tablePrinter(output, COLUMNS)([{ ...LONG, [field]: endless }, LONG]);
    expect(lines[1]).toContain(endless);
    expect(lines[2]?.length).toBeLessThan(600);
  });

  it('keeps the widths of its first rows', async () => {
    const { output, lines } = captureOutput(80);
    const print = tablePrinter(output, COLUMNS.slice(2));
    await print([{ ...LONG, end: 'a', name: 'b', scopes: 'c' }]);
    await print([{ ...LONG, end: 'a', name: 'longer', scopes: 'scopes:c' }]);
    expect(lines).toEqual(['END  SCOPES  NAME', 'a    c       b', 'a    scope…  lon…']);
  });

  it('is one object per line in JSON', async () => {
    const { output, lines } = captureOutput(80, true);
    await tablePrinter(output, COLUMNS)([LONG, LONG]);
    expect(lines).toEqual([JSON.stringify(LONG), JSON.stringify(LONG)]);
  });

  it('escapes control characters', async () => {
    const { output, lines } = captureOutput(120);
    const name = 'a\u001b[2J\r\n\u009b\u202e\u{e0041}';
    await tablePrinter(output, COLUMNS)([{ ...LONG, scopes: '', name }]);
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

describe('cut', () => {
  it.each([
    ['abc', 'abc'],
    ['abcd', 'ab…'],
    ['🦊🦊🦊', '🦊🦊🦊'],
    ['🦊🦊🦊🦊', '🦊🦊…'],
  ])('makes of %j at most three characters: %j', (text, shown) => {
    expect(cut(text, 3)).toBe(shown);
  });
});
