/** The tests mirror the source, so that you can find the test of a file by its name. */
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import config from '../../vitest.config.ts';
import { fileLengthOf, longerThan } from '../support/budget.ts';
import { filesUnder, ROOT, sourcesUnder } from '../support/source.ts';

const LINES = 500;

/** Promises that no single source file keeps. */
const ACROSS: readonly string[] = [
  'core/growth', // How the number of steps grows for an input ten times as long.
  'core/leaks', // No key, header or digest in errors, events or logs, whatever their source.
  'core/lifecycle', // The life of a key across all operations, according to the vectors.
  'core/stored-format', // Records stored by old versions still verify.
  'cache/interleavings', // Look-ups, changes and time in every order.
  'jwt/parent-key', // A token and the key that it was exchanged for, at one keyring.
  'schemas/issues', // The message of every schema for what it rejects.
  'stores/sqlite/visibility', // The database that a handle leads to, for reads, writes and purges.
  'stores/sqlite/edited-rows', // Rows edited by hand, and what the triggers reject.
];

const sources = filesUnder('src', '.ts').map((path) => path.slice('src/'.length, -'.ts'.length));
const wings = [...new Set(sources.filter((name) => name.includes('/')).map(folderOf))].sort();
const tests = filesUnder('test', '.test.ts').map((path) =>
  path.slice('test/'.length, -'.test.ts'.length),
);

function folderOf(name: string): string {
  return name.split('/')[0] ?? '';
}

/**
 * Whether a test's name is or starts with the name of a source file or folder: `core/verify-tokens`
 * tests `core/verify`.
 */
function mirrors(test: string, names: readonly string[]): boolean {
  const folders = names.map((name) => name.slice(0, name.lastIndexOf('/')));
  return [...names, ...folders].some(
    (name) => name.includes('/') && (test === name || test.startsWith(`${name}-`)),
  );
}

/** The number of projects in `vitest.config.ts` that include a file. */
function projectsByFile(): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const project of config.test?.projects ?? []) {
    const include = typeof project === 'object' && 'test' in project ? project.test?.include : [];
    for (const path of new Set(globSync(include ?? [], { cwd: ROOT }))) {
      counts.set(path, (counts.get(path) ?? 0) + 1);
    }
  }
  return counts;
}

describe('tests', () => {
  it('belong to exactly one project each, so that some command runs them', () => {
    const counts = projectsByFile();
    const files = filesUnder('test', '.test.ts');
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((path) => counts.get(path) !== 1)).toEqual([]);
  });

  it('are in folders named like those of the source', () => {
    expect(wings.length).toBeGreaterThan(5);
    const tested = new Set(tests.map(folderOf));
    expect(wings.filter((wing) => !tested.has(wing))).toEqual([]);
  });

  it('are named after what they test', () => {
    const ofWings = tests.filter((test) => wings.includes(folderOf(test)));
    const strays = ofWings.filter((test) => !mirrors(test, sources) && !ACROSS.includes(test));
    expect(strays).toEqual([]);
    expect(ACROSS.filter((name) => !tests.includes(name))).toEqual([]);
  });

  it('notice a test that is named after nothing', () => {
    const names = ['index', 'core/verify', 'stores/redis/store', 'stores/rows'];
    for (const test of [
      'core/verify',
      'core/verify-tokens',
      'stores/redis',
      'stores/redis/store',
    ]) {
      expect(mirrors(test, names), test).toBe(true);
    }
    for (const test of [
      'core/regressions',
      'core/ver',
      'core/verifying',
      'index',
      'stores/mysql',
    ]) {
      expect(mirrors(test, names), test).toBe(false);
    }
  });

  it('are short enough to read in one go', () => {
    expect(longerThan(LINES, sourcesUnder('test').map(fileLengthOf))).toEqual([]);
  });
});
