/**
 * Every promise of SECURITY.md stands in the code where it says, and has the test it names; so does
 * every threat.
 */
import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const root = new URL('..', import.meta.url).pathname;
const text = readFileSync(`${root}SECURITY.md`, 'utf8');
const { scripts } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

const cellsOf = (row: string) => row.split('|').map((cell) => cell.trim());
const namesIn = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => String(name));

/** The rows of the table under a heading, without its head. */
function rowsUnder(heading: string): readonly (readonly string[])[] {
  const [, part = ''] = text.split(`\n## ${heading}\n`);
  const [own = ''] = part.split('\n## ');
  const [, , ...rows] = own.split('\n').filter((line) => line.startsWith('| '));
  return rows.map(cellsOf);
}

const promises = rowsUnder('What is promised');
const threats = rowsUnder('Threats');

/** A file or a folder, with `*`, or a script of package.json. */
function isThere(name: string): boolean {
  const script = /^npm run ([\w:]+)$/.exec(name)?.[1] ?? name;
  return Object.hasOwn(scripts, script) || globSync(name, { cwd: root }).length > 0;
}

function missingOf(cells: readonly string[]): readonly string[] {
  return [...new Set(cells.flatMap(namesIn))].filter((name) => !isThere(name));
}

describe('SECURITY.md', () => {
  it('has a place and a test for each promise', () => {
    expect(promises.length).toBeGreaterThan(30);
    for (const [, promise = '', where = '', test = ''] of promises) {
      expect(namesIn(where), promise).not.toEqual([]);
      expect(namesIn(test), promise).not.toEqual([]);
    }
  });

  it('has a test for each threat', () => {
    expect(threats.length).toBeGreaterThan(25);
    for (const [, threat = '', test = ''] of threats) {
      expect(namesIn(test), threat).not.toEqual([]);
    }
  });

  it('names files, folders and scripts that are there', () => {
    expect(missingOf(promises.flatMap((row) => row.slice(2)))).toEqual([]);
    expect(missingOf(threats.flatMap((row) => row.slice(2)))).toEqual([]);
    expect(isThere('test/no-such.test.ts')).toBe(false);
    expect(isThere('npm run no-such')).toBe(false);
  });

  it('names scripts that are there in the rest, too', () => {
    const named = [...text.matchAll(/`(?:npm run )?(test:\w+)`/g)].map(([, name]) => String(name));
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});
