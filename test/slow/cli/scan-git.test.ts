/** `keyscope scan --diff` with git: the two pipes of the docs, over real histories. */
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { generateKey, redactKeys } from 'keyscope';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { STAGED_DIFF } from '../../../src/tools/cli/commands/rules.js';
import { openPlace, type Place, shell } from '../../support/command.ts';
import { readDiff } from '../../support/diffs.ts';
import { describeWithGit, type Planted, plantHistory } from '../../support/histories.ts';
import { chanceFrom } from '../../support/planted-keys.ts';
import { readProjectFile } from '../../support/source.ts';

const page = readProjectFile('docs/command.md').replaceAll('\\\n', '').replace(/ +/g, ' ');
const [LOG = ''] = /git --no-replace-objects .* log [^|\n]*(?= \|)/.exec(page) ?? [];

const NOTHING = Buffer.alloc(0);

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

/** Runs the pipe in a shell that fails if git does, and returns its finds. */
async function scanned(command: string, env: NodeJS.ProcessEnv = {}) {
  const scan = place.line(['scan', '--diff', '--prefix', 'acme', '--json']);
  // Below the top folder, where paths could be relative.
  const folder = existsSync(place.file('r/kept')) ? place.file('r/kept') : place.file('');
  const { stdout, stderr, exit } = await shell(`${command} | ${scan}`, folder, env);
  const lines = stdout.split('\n').filter(Boolean);
  const shown = lines.map((line) => JSON.parse(line) as Shown);
  return { shown, stderr, exit };
}

/** Returns the text at a find, whose column counts UTF-8 characters. */
function textAt(bytes: Buffer, { line, column }: Shown): string {
  let start = 0;
  for (let count = 1; count < (line ?? 0); count += 1) start = bytes.indexOf(10, start) + 1;
  const isContinuation = () => ((bytes[start] ?? 0) & 0xc0) === 0x80;
  for (let left = (column ?? 0) - 1; left > 0 || isContinuation(); start += 1) {
    if (!isContinuation()) left -= 1;
  }
  return bytes.toString('latin1', start, start + 'acme_'.length + 32);
}

/** Returns the keys in git at these finds, checked one by one. */
function keysAt(shown: readonly Shown[], blobOf: (find: Shown) => Buffer): readonly string[] {
  const keys = shown.map((find) => textAt(blobOf(find), find));
  expect(shown.filter(({ hint }, index) => !keys[index]?.endsWith(hint))).toEqual([]);
  return keys;
}

/** All objects of the repository, by id. */
function readObjects(): ReadonlyMap<string, Buffer> {
  const all = git('cat-file', '--batch', '--batch-all-objects');
  const objects = new Map<string, Buffer>();
  for (let at = 0; at < all.length; ) {
    const end = all.indexOf(10, at);
    const [id = '', , size = ''] = all.toString('latin1', at, end).split(' ');
    objects.set(id, all.subarray(end + 1, end + 1 + Number(size)));
    at = end + 2 + Number(size);
  }
  return objects;
}

/** Reads a file by its commit and its path as shown: in UTF-8, without keys. */
function createBlobOf(): (place: Pick<Shown, 'commit' | 'path'>) => Buffer {
  const objects = readObjects();
  const trees = new Map<string | null, ReadonlyMap<string, string>>();
  function treeOf(commit: string | null): ReadonlyMap<string, string> {
    const listed = git('ls-tree', '-r', '-z', commit ?? '').toString('utf8');
    const entries = listed
      .split('\0')
      .slice(0, -1)
      .map((entry): [string, string] => {
        const [, id = '', path = ''] = /^\d+ blob ([0-9a-f]+)\t(.*)$/s.exec(entry) ?? [];
        return [redactKeys(path, { prefix: 'acme' }), id];
      });
    return new Map(entries);
  }
  return ({ commit, path }) => {
    const tree = trees.get(commit) ?? treeOf(commit);
    trees.set(commit, tree);
    return objects.get(tree.get(redactKeys(path ?? '', { prefix: 'acme' })) ?? '') ?? NOTHING;
  };
}

/** Returns messages as the pipe contains them. */
function createMessageOf(): (place: Pick<Shown, 'commit'>) => Buffer {
  const options = ['--all', '--format=raw', '--encoding=none', '--decorate=no', '-z'];
  const messages = new Map<string, Buffer>();
  for (const text of git('log', ...options)
    .toString('latin1')
    .split('\0')) {
    messages.set(text.slice(7, 47), Buffer.from(text, 'latin1'));
  }
  return ({ commit }) => messages.get(commit ?? '') ?? NOTHING;
}

/** Expects every key where it is, and nothing else. Returns the number of finds. */
function expectAll(planted: Planted, shown: readonly Shown[]): number {
  const inFiles = shown.filter(({ path, line }) => path !== null && line !== null);
  const inMessages = shown.filter(({ path }) => path === null);
  const inNames = shown.filter(({ line }) => line === null);
  expect(new Set(keysAt(inFiles, createBlobOf()))).toEqual(new Set(planted.inFiles));
  expect(new Set(keysAt(inMessages, createMessageOf()))).toEqual(new Set(planted.inMessages));
  const hints = planted.inNames.map((key) => key.slice(-4));
  expect(new Set(inNames.map(({ hint }) => hint))).toEqual(new Set(hints));
  expect(inNames.every(({ path }) => path?.includes('acme_[redacted]'))).toBe(true);
  return inFiles.length + inMessages.length + inNames.length;
}

describeWithGit('the pipe over a whole history', () => {
  it.each([1, 2])('finds 1,000 of 1,000 keys, at its file, line and commit (%i)', async (seed) => {
    const planted = plantHistory(place.file(''), chanceFrom(seed), 1_000);
    const count = (...more: string[]) =>
      Number(git('rev-list', '--all', '--count', ...more).toString());
    expect(count('--merges')).toBeGreaterThan(20);
    const start = performance.now();
    const { shown, exit, stderr } = await scanned(LOG);
    const ms = (performance.now() - start).toFixed(0);
    expect({ exit, stderr }).toEqual({
      exit: 1,
      stderr: expect.not.stringContaining('read') as string,
    });
    const finds = expectAll(planted, shown);
    const kinds = [planted.inFiles, planted.inMessages, planted.inNames].map((keys) => keys.length);
    expect(kinds.reduce((sum, each) => sum + each)).toBe(1_000);
    const what = `${count()} commits, ${count('--merges')} of them merges`;
    console.log(`scan: ${what}; ${kinds} keys found ${finds} times in ${ms} ms`);
  });
});

describeWithGit('the pipe over what is staged', () => {
  it('finds 1,000 of 1,000 keys, commit by commit', async () => {
    const planted = plantHistory(place.file(''), chanceFrom(3), 1_000);
    const stage = `git update-ref --no-deref HEAD $each^ 2>&- || git update-ref -d HEAD`;
    const { shown, exit } = await scanned(
      `git checkout --quiet --detach main; for each in $(git rev-list --all); do ${stage};
      git read-tree $each; ${STAGED_DIFF}; done`,
    );
    expect(exit).toBe(1);
    expect(shown.every(({ commit, path }) => commit === null && path !== null)).toBe(true);
    const hints = [...planted.inFiles, ...planted.inNames].map((key) => key.slice(-4));
    expect(new Set(shown.map(({ hint }) => hint))).toEqual(new Set(hints));
  });
});

describeWithGit('lines of a diff', () => {
  /** The lines of files that a scan looks at, in what a command prints. */
  async function linesOf(command: string) {
    const printed = spawnSync('bash', ['-c', command], { cwd: place.file(''), maxBuffer: 2 ** 28 });
    const { found, said } = await readDiff(printed.stdout, { findsLines: true });
    expect(said).toEqual([]);
    return found.filter(({ path, line }) => path !== null && line !== null);
  }

  it.each([LOG, LOG.replace(' -a', ' -a -U0')])(
    'are in the file at the reported place: %s',
    async (command) => {
      plantHistory(place.file(''), chanceFrom(command.length), 200);
      const blobOf = createBlobOf();
      const added = await linesOf(command);
      expect(added.length).toBeGreaterThan(200);
      const wrong = added.filter(({ find, commit, path, line }) => {
        const lines = blobOf({ commit, path }).toString('latin1').split('\n');
        return `+${lines[(line ?? 0) - 1]}` !== find.key;
      });
      expect(wrong).toEqual([]);
    },
  );

  it.each(['--cc', '-c'])('of merges are reported as unread with %s', async (option) => {
    plantHistory(place.file(''), chanceFrom(5), 200);
    const command = LOG.replace(' -m', ` ${option}`);
    const shown = execFileSync('bash', ['-c', command], { cwd: place.file('') });
    const merged = shown.toString('latin1').match(/^diff --(?:cc|combined) /gm) ?? [];
    expect(merged.length).toBeGreaterThan(5);
    const { stderr, shown: finds } = await scanned(command);
    const told = stderr.match(/ cannot be read: .* merge diff\. Run git with -m /g) ?? [];
    expect(told).toHaveLength(merged.length);
    keysAt(
      finds.filter(({ path, line }) => path !== null && line !== null),
      createBlobOf(),
    );
  });

  it('are as many as git counts, commit by commit', async () => {
    plantHistory(place.file(''), chanceFrom(4), 200);
    // Otherwise git counts no lines of binaries, whatever the options.
    place.write('.git/info/attributes', '* diff\n');
    const counted: Record<string, number> = {};
    let commit = '';
    const { stdout } = spawnSync('bash', ['-c', LOG.replace(' -p', ' --numstat')], {
      cwd: place.file(''),
      encoding: 'latin1',
    });
    for (const line of stdout.split('\n')) {
      const [, count] = /^(\d+)\t\d+\t/.exec(line) ?? [];
      if (line.startsWith('commit ')) commit = line.slice(7, 47);
      if (count !== undefined) counted[commit] = (counted[commit] ?? 0) + Number(count);
    }
    const read: Record<string, number> = {};
    for (const { commit: id } of await linesOf(LOG)) read[id ?? ''] = (read[id ?? ''] ?? 0) + 1;
    const isAny = ([, count]: readonly [string, number]) => count > 0;
    expect(read).toEqual(Object.fromEntries(Object.entries(counted).filter(isAny)));
    expect(Object.keys(read).length).toBeGreaterThan(20);
  });
});

/** Git settings that could break the pipes. */
function hostileSettings(): NodeJS.ProcessEnv {
  place.write('nothing.sh', '#!/bin/sh\nexit 0\n');
  chmodSync(place.file('nothing.sh'), 0o755);
  place.write('attributes', '*.lock -diff\n*.bin diff=x\n*.env diff=y\n');
  place.write('order', '*.md\n');
  place.write(
    'config',
    `[color]
      ui = always
    [diff]
      noprefix = true
      mnemonicPrefix = true
      srcPrefix = x/
      dstPrefix = y/
      relative = true
      renames = copies
      context = 0
      suppressBlankEmpty = true
      submodule = log
      orderFile = ${place.file('order')}
      interHunkContext = 5
      wsErrorHighlight = all
      colorMoved = zebra
      algorithm = histogram
      ignoreSubmodules = all
    [diff "x"]
      command = ${place.file('nothing.sh')}
    [diff "y"]
      textconv = ${place.file('nothing.sh')}
    [log]
      diffMerges = off
      showRoot = false
      showSignature = true
      decorate = full
      abbrevCommit = true
      date = relative
      follow = true
    [format]
      pretty = oneline
    [i18n]
      logOutputEncoding = UTF-16
    [core]
      quotePath = false
      attributesFile = ${place.file('attributes')}
      bigFileThreshold = 100`,
  );
  return { GIT_CONFIG_GLOBAL: place.file('config') };
}

/** Commits and stages a key in each way that a setting could hide. */
function plantForSettings(): void {
  const newKey = () => generateKey({ prefix: 'acme' });
  const commit = (text: string) => {
    git('add', '--all', 'r', 'b');
    git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--message', text);
  };
  const write = (name: string, text: string) => {
    const path = name.startsWith('b/') ? name : `r/${name}`;
    mkdirSync(dirname(place.file(path)), { recursive: true });
    place.write(path, text);
  };
  git('init', '--quiet', '--initial-branch', 'main');
  write('root.txt', `${newKey()}\n`);
  write('kept/a.txt', 'a\n\n\n');
  write(`b/empty ${newKey()}`, '');
  commit(`root ${newKey()}`);
  for (const name of ['a.lock', 'a.bin', 'a.env', 'b/c.txt', 'kept/large.txt', 'nul']) {
    write(name, `\0${'x\n'.repeat(100)}${newKey()}\n`);
  }
  commit('one');
  git('checkout', '--quiet', '-b', 'other');
  write('other.txt', newKey());
  commit('other');
  git('checkout', '--quiet', 'main');
  git('checkout', '--quiet', '-b', 'side');
  write('side.txt', newKey());
  commit('side');
  git('checkout', '--quiet', 'main');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'merge', '--no-ff', '--no-commit', 'side');
  write('merge.txt', newKey());
  commit('merge');
  write('hidden.txt', newKey());
  commit('hidden');
  const [hidden = ''] = git('rev-parse', 'HEAD').toString().split('\n');
  renameSync(place.file('r/root.txt'), place.file('r/renamed.txt'));
  rmSync(place.file('r/hidden.txt'));
  commit('renamed');
  git('replace', hidden, 'side');
  write(`b/staged ${newKey()}`, '');
  for (const name of ['c.lock', 'c.bin', 'c.env', 'kept/c.txt', 'b/d.txt']) {
    write(name, `\0${'y\n'.repeat(100)}${newKey()}\n`);
  }
  renameSync(place.file('r/renamed.txt'), place.file('r/again.txt'));
  git('add', '--all', 'r', 'b');
}

describeWithGit('settings of git', () => {
  it('do not change the finds of the pipes, and every option of the pipes is needed', async () => {
    plantForSettings();
    const hostile = hostileSettings();
    const plain = { GIT_CONFIG_GLOBAL: '/dev/null' };
    for (const pipe of [LOG, STAGED_DIFF]) {
      // The log has two more, for older versions of git.
      const own = pipe === LOG ? pipe.replace(' -p', '').replace(' --no-ext-diff', '') : pipe;
      const options = own.match(/ -(?:c \S+|\S+)/g) ?? [];
      const found = async (command: string, env: NodeJS.ProcessEnv) => {
        const { shown, exit } = await scanned(command, env);
        const places = shown.map(({ commit, path, line, hint }) =>
          [commit, path, line, hint].join(),
        );
        return { exit, places: places.toSorted() };
      };
      const expected = await found(pipe, plain);
      expect(expected.places.length).toBeGreaterThan(4);
      expect(await found(pipe, hostile)).toEqual(expected);
      const needless: string[] = [];
      for (const option of options) {
        const { exit, places } = await found(pipe.replace(option, ''), hostile);
        if (exit === 1 && places.join() === expected.places.join()) needless.push(option);
      }
      expect(needless, pipe).toEqual([]);
    }
  });
});
