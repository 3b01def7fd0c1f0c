/** The tests as a mirror of the source: whoever looks for a file's test knows where it is. */
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import config from '../../vitest.config.ts';
import { fileLengthOf, longerThan } from '../support/budget.ts';
import { filesUnder, ROOT, sourcesUnder } from '../support/source.ts';

const LINES = 500;

/** Promises that no single file of the source keeps. */
const ACROSS: readonly string[] = [
  'core/growth', // How many more steps ten times the input takes.
  'core/leaks', // No key, header or digest in errors, events and logs, whoever makes them.
  'core/lifecycle', // The life of a key over all operations, as the vectors have it.
  'core/stored-format', // Records that were stored long ago verify for ever.
  'cache/interleavings', // Look-ups, changes and time in every order.
  'jwt/parent-key', // A token and the key that it was exchanged for, at one keyring.
  'schemas/issues', // What every schema says of what it refuses.
  'stores/sqlite/sight', // Which database a handle leads to, for reads, writes and purges.
  'stores/sqlite/edited-rows', // Rows that somebody edited by hand, and what the triggers refuse.
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
 * Whether a test is named after a file or a folder of the source, or begins with such a name:
 * `core/verify-tokens` is about `core/verify`.
 */
function mirrors(test: string, names: readonly string[]): boolean {
  const folders = names.map((name) => name.slice(0, name.lastIndexOf('/')));
  return [...names, ...folders].some(
    (name) => name.includes('/') && (test === name || test.startsWith(`${name}-`)),
  );
}

/** How often a file is in a project of `vitest.config.ts`. */
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
  it('are each in exactly one project, so that some command runs them', () => {
    const counts = projectsByFile();
    const files = filesUnder('test', '.test.ts');
    expect(files.length).toBeGreaterThan(100);
    expect(files.filter((path) => counts.get(path) !== 1)).toEqual([]);
  });

  it('stand in folders that are named like those of the source', () => {
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

  it('are files that can be read in one go', () => {
    expect(longerThan(LINES, sourcesUnder('test').map(fileLengthOf))).toEqual([]);
  });
});
