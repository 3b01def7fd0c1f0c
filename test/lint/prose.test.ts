/**
 * The English of the project, by a count of turns of phrase that mark it as translated. Prints the
 * figure of each folder.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { marksIn, proseOfMarkdown, proseOfSource } from '../support/prose.ts';
import { filesUnder, ROOT, readProjectFile, sourceFrom, sourcesUnder } from '../support/source.ts';

/** Marks in 10 kB; the libraries whose prose we learn from have 0.1. */
const MOST = 0.3;

const PAGES = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md'];

const FRONT = 'the front pages';

const PLACES: readonly string[] = [
  FRONT,
  ...['core', 'management', 'http', 'stores', 'cache', 'jwt', 'mcp', 'leaks', 'admin'],
  ...['schemas', 'testing', 'tools'],
  ...['docs', 'examples', 'bench', 'test'],
];

const figures: string[] = [];
afterAll(() => console.log(`marks of translation in 10 kB: ${figures.join(', ')}`));

function proseIn(place: string): string {
  if (place === FRONT) return PAGES.map(readProjectFile).map(proseOfMarkdown).join('\n');
  const folder = existsSync(join(ROOT, place)) ? place : `src/${place}`;
  const pages = filesUnder(folder, '.md').map(readProjectFile).map(proseOfMarkdown);
  const sources = [...sourcesUnder(folder), ...sourcesUnder(folder, '.mjs')]
    // These quote the marks.
    .filter(({ path }) => !/\/prose(?:\.test)?\.ts$/.test(path))
    .map(proseOfSource);
  return [...pages, ...sources].join('\n');
}

describe('prose', () => {
  it.each(PLACES)('reads like English in %s', (place) => {
    const prose = proseIn(place);
    const marks = marksIn(prose);
    const inTen = marks.length / (prose.length / 10_000);
    figures.push(`${place} ${inTen.toFixed(2)}`);
    expect(prose.length).toBeGreaterThan(5_000);
    expect(inTen, marks.join('\n')).toBeLessThanOrEqual(MOST);
  });

  it.each([
    ['// Whoever sits there agrees.', 'anyone who'],
    ['/** What a store keeps of a key. */', 'name the thing'],
    ["throw new Error('the handle is no file');", 'negate the verb'],
    ["f('The client is told of it at once');", 'who reports'],
    ['/**\n * What ends\n * a key.\n */', 'name the thing'],
  ])('notices %s', (text, advice) => {
    expect(marksIn(proseOfSource(sourceFrom(text))).join()).toContain(advice);
  });

  it.each([
    "import { whoever } from './nothing-but.ts';",
    'const somebody = /is no/;',
    '// Calls `somebody` when the file is no longer there.',
    '// What if the server restarts?',
  ])('lets %s pass', (text) => {
    expect(marksIn(proseOfSource(sourceFrom(text)))).toEqual([]);
  });
});
