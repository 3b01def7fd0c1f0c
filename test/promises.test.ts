/** Checks that every promise on docs/promises.md names code and tests that exist. */
import { globSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { EXPERIMENTS } from './long/experiments.ts';
import {
  ROOT,
  readProjectFile,
  type Source,
  sourceFrom,
  sourceOf,
  visit,
} from './support/source.ts';

const page = readProjectFile('docs/promises.md');
const { scripts } = JSON.parse(readProjectFile('package.json')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

interface NamedTest {
  readonly file: string;
  readonly title: string;
}

interface Promised {
  readonly text: string;
  readonly places: readonly string[];
  readonly tests: readonly NamedTest[];
  readonly scripts: readonly string[];
  /** Lines of another kind. */
  readonly unread: readonly string[];
}

function readPromise(item: string): Promised {
  const [text = '', ...lines] = item.trimEnd().split(/\n {2}- /);
  const places: string[] = [];
  const tests: NamedTest[] = [];
  const runs: string[] = [];
  const unread: string[] = [];
  for (const line of lines) {
    const [, file, title] = /^`([^`]+)` › "(.+)"$/.exec(line) ?? [];
    const [, script] = /^`npm run ([\w:]+(?: -- \w+)?)`$/.exec(line) ?? [];
    if (file !== undefined && title !== undefined) tests.push({ file, title });
    else if (script !== undefined) runs.push(script);
    else if (line.startsWith('in `')) places.push(...namesIn(line));
    else unread.push(line);
  }
  return { text: text.replaceAll(/\s+/g, ' '), places, tests, scripts: runs, unread };
}

function namesIn(line: string): readonly string[] {
  return Array.from(line.matchAll(/`([^`]+)`/g), ([, name = '']) => name);
}

/** The items at the margin, each with the lists below it. */
function promisesOn(text: string): readonly Promised[] {
  const items = text.split(/\n(?=- )/).filter((item) => item.startsWith('- '));
  return items.map((item) => readPromise(item.slice(2).replace(/\n\n[\s\S]*/, '')));
}

/** The text of each `describe`, `it` and `test`: what a call has in front of a function. */
function titlesIn(source: Source): readonly string[] {
  const titles: string[] = [];
  visit(source.tree, (node) => {
    if (!ts.isCallExpression(node)) return;
    const [title, ...rest] = node.arguments;
    const takesFunction = rest.some((each) => ts.isArrowFunction(each));
    if (title !== undefined && ts.isStringLiteralLike(title) && takesFunction) {
      titles.push(title.text);
    }
  });
  return titles;
}

function wordsOf(title: string): ReadonlySet<string> {
  return new Set(title.toLowerCase().match(/\w+/g));
}

/** The three titles that share most words with the one that is missing. */
function nearestTo(title: string, titles: readonly string[]): readonly string[] {
  const wanted = wordsOf(title);
  const likeness = (other: string): number => {
    const words = wordsOf(other);
    const shared = [...words].filter((word) => wanted.has(word)).length;
    return shared / (wanted.size + words.size - shared);
  };
  return titles.toSorted((one, other) => likeness(other) - likeness(one)).slice(0, 3);
}

function faultOf({ file, title }: NamedTest, source: Source): string | undefined {
  const titles = titlesIn(source);
  if (titles.includes(title)) return undefined;
  const nearest = nearestTo(title, titles).map((each) => `\n    nearest: "${each}"`);
  return `${file} has no test "${title}"${nearest.join('')}`;
}

function isThere(path: string): boolean {
  return globSync(path, { cwd: ROOT }).length > 0;
}

const promises = promisesOn(page);

describe('docs/promises.md', () => {
  it('names code and a test for each promise, and nothing else', () => {
    expect(promises.length).toBeGreaterThan(60);
    for (const { text, places, tests, scripts: runs, unread } of promises) {
      expect(places, text).not.toEqual([]);
      expect([...tests, ...runs], text).not.toEqual([]);
      expect(unread, text).toEqual([]);
    }
  });

  it('names files, folders and scripts that exist', () => {
    const paths = promises.flatMap(({ places, tests }) => [
      ...places,
      ...tests.map(({ file }) => file),
    ]);
    expect([...new Set(paths)].filter((path) => !isThere(path))).toEqual([]);
    expect(isThere('test/no-such.test.ts')).toBe(false);
    const named = Array.from(page.matchAll(/`npm run ([\w:]+)(?: -- (\w+))?`/g), (found) => found);
    expect(named.length).toBeGreaterThan(15);
    for (const [command, script = ''] of named) {
      expect(Object.hasOwn(scripts, script), command).toBe(true);
    }
    const [, list = ''] = /`npm run lab` with ([^.]+)\./.exec(page) ?? [];
    const inLab = [...namesIn(list), ...named.flatMap(([, , name]) => name ?? [])];
    expect(inLab.length).toBeGreaterThan(20);
    expect(inLab.filter((name) => !Object.hasOwn(EXPERIMENTS, name))).toEqual([]);
  });

  it('names tests by titles that their files have', () => {
    const tests = promises.flatMap((each) => each.tests).filter(({ file }) => isThere(file));
    const faults = tests.flatMap((each) => faultOf(each, sourceOf(each.file)) ?? []);
    expect([...new Set(faults)].join('\n')).toBe('');
  });

  it('is read with a test that notices a missing title, and names the nearest', () => {
    const source = sourceFrom("it('refuses a key', () => {}); it.each([])('%s', { a }, () => {});");
    expect(titlesIn(source)).toEqual(['refuses a key', '%s']);
    expect(faultOf({ file: 'a.test.ts', title: 'refuses a key' }, source)).toBe(undefined);
    expect(faultOf({ file: 'a.test.ts', title: 'refuses no key' }, source)).toBe(
      'a.test.ts has no test "refuses no key"\n' +
        '    nearest: "refuses a key"\n    nearest: "%s"',
    );
  });

  it('is read in items, each with its lists', () => {
    const [first, second] = promisesOn(
      'A.\n\n- One\n  two.\n  - in `a`, `b`\n  - `c` › "d"\n- Three.\n  - `npm run e`\n  - f\n',
    );
    expect(first).toEqual({
      text: 'One two.',
      places: ['a', 'b'],
      tests: [{ file: 'c', title: 'd' }],
      scripts: [],
      unread: [],
    });
    expect(second?.scripts).toEqual(['e']);
    expect(second?.unread).toEqual(['f']);
  });
});
