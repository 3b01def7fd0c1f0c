/** `keyscope scan --diff` behind git: the two pipes of the documentation, over real histories. */
import { execFileSync, spawnSync } from 'node:child_process';
import { redactKeys } from 'keyscope';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openPlace, type Place } from '../../support/command.ts';
import { describeWithGit, type Planted, plantHistory } from '../../support/histories.ts';
import { chanceFrom } from '../../support/planted-keys.ts';
import { readProjectFile } from '../../support/source.ts';

const page = readProjectFile('docs/command.md').replaceAll('\\\n', '').replace(/ +/g, ' ');
const [LOG = ''] = /git --no-replace-objects log [^|\n]*(?= \|)/.exec(page) ?? [];

let place: Place;
beforeEach(() => {
  place = openPlace(null);
});
afterEach(() => place.remove());

function git(...args: string[]): Buffer {
  return execFileSync('git', args, { cwd: place.file(''), maxBuffer: 2 ** 28 });
}

interface Shown {
  readonly commit: string | null;
  readonly path: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly hint: string;
}

/** What the pipe prints, in a shell that fails where git does. */
function scanned(command: string, env: NodeJS.ProcessEnv = {}) {
  const scan = place.line(['scan', '--diff', '--prefix', 'acme', '--json']);
  const ran = spawnSync('bash', ['-o', 'pipefail', '-c', `${command} | ${scan}`], {
    cwd: place.file(''),
    env: { ...process.env, ...env },
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  const lines = ran.stdout.split('\n').filter(Boolean);
  const shown = lines.map((line) => JSON.parse(line) as Shown);
  return { shown, stderr: ran.stderr, exit: ran.status };
}

/** What stands there, from the characters of UTF-8 that a find counts. */
function textAt(bytes: Buffer, { line, column }: Shown): string {
  let start = 0;
  for (let count = 1; count < (line ?? 0); count += 1) start = bytes.indexOf(10, start) + 1;
  const isContinuation = () => ((bytes[start] ?? 0) & 0xc0) === 0x80;
  for (let left = (column ?? 0) - 1; left > 0 || isContinuation(); start += 1) {
    if (!isContinuation()) left -= 1;
  }
  return bytes.toString('latin1', start, start + 'acme_'.length + 32);
}

/** The keys that a file or a message of git has where these finds say, checked one by one. */
function keysAt(shown: readonly Shown[], blobOf: (find: Shown) => Buffer): readonly string[] {
  const keys = shown.map((find) => textAt(blobOf(find), find));
  expect(shown.filter(({ hint }, index) => !keys[index]?.endsWith(hint))).toEqual([]);
  return keys;
}

/** Reads the file that a find names, by the path as it is shown: in UTF-8, without keys. */
function createBlobOf(): (find: Shown) => Buffer {
  const trees = new Map<string, ReadonlyMap<string, string>>();
  const blobs = new Map<string, Buffer>();
  function treeOf(commit: string): ReadonlyMap<string, string> {
    const entries = git('ls-tree', '-r', '-z', commit).toString('utf8').split('\0').slice(0, -1);
    const ids = entries.map((entry): [string, string] => {
      const [, id = '', path = ''] = /^\d+ blob ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? [];
      return [redactKeys(path, { prefix: 'acme' }), id];
    });
    return new Map(ids);
  }
  return ({ commit, path }) => {
    const tree = trees.get(commit ?? '') ?? treeOf(commit ?? '');
    trees.set(commit ?? '', tree);
    const id = tree.get(path ?? '') ?? '';
    const blob = blobs.get(id) ?? git('cat-file', 'blob', id);
    blobs.set(id, blob);
    return blob;
  };
}

/** The bytes of a message as the pipe has them. */
const message = (commit: string | null): Buffer =>
  git('log', '-1', '--format=raw', '--encoding=none', '--decorate=no', commit ?? '');

function expectAll(planted: Planted, shown: readonly Shown[], blobOf: (find: Shown) => Buffer) {
  const inFiles = shown.filter(({ path, line }) => path !== null && line !== null);
  const inMessages = shown.filter(({ path }) => path === null);
  const inNames = shown.filter(({ line }) => line === null);
  expect(new Set(keysAt(inFiles, blobOf))).toEqual(new Set(planted.inFiles));
  const read = keysAt(inMessages, ({ commit }) => message(commit));
  expect(read.toSorted()).toEqual(planted.inMessages.toSorted());
  const hints = planted.inNames.map((key) => key.slice(-4));
  expect(new Set(inNames.map(({ hint }) => hint))).toEqual(new Set(hints));
  expect(inNames.every(({ path }) => path?.includes('acme_[redacted]'))).toBe(true);
  return inFiles.length + inMessages.length + inNames.length;
}

describeWithGit('the pipe over a whole history', () => {
  it.each([1, 2])('finds 1,000 of 1,000 keys, at its file, line and commit (%i)', (seed) => {
    const planted = plantHistory(place.file(''), chanceFrom(seed), 1_000);
    const merges = git('rev-list', '--all', '--merges', '--count').toString().trim();
    const commits = git('rev-list', '--all', '--count').toString().trim();
    expect(Number(merges)).toBeGreaterThan(20);
    const start = performance.now();
    const { shown, exit, stderr } = scanned(LOG);
    const ms = (performance.now() - start).toFixed(0);
    expect(exit, stderr).toBe(1);
    const count = expectAll(planted, shown, createBlobOf());
    const kinds = [planted.inFiles, planted.inMessages, planted.inNames].map((keys) => keys.length);
    console.log(
      `scan: ${commits} commits, ${merges} merges: ${kinds} keys, ${count} finds, ${ms} ms`,
    );
    expect(kinds.reduce((sum, each) => sum + each)).toBe(1_000);
  });
});
