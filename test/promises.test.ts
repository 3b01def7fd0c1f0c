/** Every promise of SECURITY.md stands in the code where it says, and has the test it names. */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('..', import.meta.url).pathname;
const text = readFileSync(`${root}SECURITY.md`, 'utf8');
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

const cellsOf = (row: string) => row.split('|').map((cell) => cell.trim());
const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => String(name));

/** The rows of the table of promises, without its head. */
const rows = text.split('\n').filter((line) => /^\| (?!promise |-)/.test(line));

/** A file or a folder, with `*`, or a script of package.json. */
function isThere(name: string): boolean {
  const script = /^npm run ([\w:]+)$/.exec(name)?.[1] ?? name;
  return Object.hasOwn(scripts, script) || globSync(name, { cwd: root }).length > 0;
}

describe('SECURITY.md', () => {
  it('has a place and a test for each promise', () => {
    expect(rows.length).toBeGreaterThan(30);
    for (const row of rows) {
      const [, promise = '', where = '', test = ''] = cellsOf(row);
      expect(namesIn(where), promise).not.toEqual([]);
      expect(namesIn(test), promise).not.toEqual([]);
    }
  });

  it('names files, folders and scripts that are there', () => {
    const names = rows.flatMap((row) => cellsOf(row).slice(2).flatMap(namesIn));
    const missing = [...new Set(names)].filter((name) => !isThere(name));
    expect(missing).toEqual([]);
    expect(isThere('test/no-such.test.ts')).toBe(false);
    expect(isThere('npm run no-such')).toBe(false);
  });

  it('names scripts that are there in the rest, too', () => {
    const named = [...text.matchAll(/`(?:npm run )?(test:\w+)`/g)].map(([, name]) => String(name));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
