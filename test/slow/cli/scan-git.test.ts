/** `keyscope scan` with git: the commands of docs/command.md, over real repositories. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync } from 'node:fs';
import { generateKey } from 'keyscope';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openPlace, type Place, shell } from '../../support/command.ts';
import { describeWithGit, plantHistory } from '../../support/histories.ts';
import { chanceFrom, nearKeyFrom } from '../../support/planted-keys.ts';
import { readProjectFile } from '../../support/source.ts';

const page = readProjectFile('docs/command.md');

/** Returns the line of the page that begins so. */
function lineOf(start: string): string {
  const line = page.split('\n').find((each) => each.startsWith(start));
  expect(line, start).toBeDefined();
  return line ?? '';
}

let place: Place;
beforeEach(() => {
  place = openPlace(null);
});
afterEach(() => place.remove());

function git(...args: string[]): string {
  const options = { cwd: place.file(''), maxBuffer: 2 ** 28, encoding: 'latin1' } as const;
  return execFileSync('git', args, options);
}

function commitAll(message: string): void {
  git('add', '--all');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '--quiet', '--message', message);
}

const newKey = () => generateKey({ prefix: 'acme' });
const hintOf = (key: string) => key.slice(-4);

/** Runs a line of the page with `pipefail`, and returns the hints that it finds. */
async function scanned(line: string, env: NodeJS.ProcessEnv = {}) {
  const command = line.replace('npx keyscope', () => place.line([]));
  const ran = await shell(`set -o pipefail; ${command}`, place.file(''), env);
  const hints = [...ran.stdout.matchAll(/_…(\w{4}) checksum right$/gm)].map(([, hint]) => hint);
  expect(ran.stdout.split('\n')).toHaveLength(hints.length + 1);
  return { ...ran, hints };
}

const LOG = lineOf('git log -p');

describeWithGit('the pipe over a whole history', () => {
  it.each([1, 2])('finds 1,000 of 1,000 keys and nothing else (%i)', async (seed) => {
    const { inFiles, inMessages, inNames } = plantHistory(place.file(''), chanceFrom(seed), 1_000);
    const planted = [...inFiles, ...inMessages, ...inNames];
    expect(planted).toHaveLength(1_000);
    expect(Number(git('rev-list', '--all', '--count', '--merges'))).toBeGreaterThan(20);
    const { hints, exit } = await scanned(LOG);
    expect(new Set(hints)).toEqual(new Set(planted.map(hintOf)));
    expect(exit).toBe(1);
  });

  it('is not clean if git fails', async () => {
    git('init', '--quiet');
    const { exit, stderr } = await scanned(LOG.replace('--all', 'gone'));
    expect(stderr).toContain('standard input is empty');
    expect(exit).toBe(4);
  });
});

describeWithGit('the pipe over what is staged', () => {
  it('finds 1,000 of 1,000 keys, commit by commit', async () => {
    const { inFiles, inNames } = plantHistory(place.file(''), chanceFrom(3), 1_000);
    const stage = `git update-ref --no-deref HEAD $each^ 2>&- || git update-ref -d HEAD`;
    const [diff = '', scan = ''] = lineOf('git diff --cached').split(' | ');
    const { hints, exit } = await scanned(
      `git checkout --quiet --detach main; for each in $(git rev-list --all); do ${stage};
      git read-tree $each; ${diff}; done | ${scan}`,
    );
    // A removed line shows a key again, and so does the context.
    expect(new Set(hints)).toEqual(new Set([...inFiles, ...inNames].map(hintOf)));
    expect(exit).toBe(1);
  });
});

describeWithGit('a hint', () => {
  it('finds the commits of its key, in files and in messages', async () => {
    const { inFiles, inMessages } = plantHistory(place.file(''), chanceFrom(4), 40);
    for (const [option, keys] of [
      ['-m -a -G', inFiles],
      ['-E --grep', inMessages],
    ] as const) {
      expect(keys.length).toBeGreaterThan(2);
      for (const key of keys.slice(0, 3)) {
        const line = lineOf(`git log --all --oneline ${option}`).replace('WwKe', hintOf(key));
        const { stdout } = await shell(line, place.file(''));
        const commits = [...stdout.matchAll(/^[0-9a-f]{7,}/gm)].map(([id]) => id);
        expect(commits, `${line}: ${key}`).not.toEqual([]);
        for (const id of commits) expect(git('show', '-m', '-a', id)).toContain(key);
      }
    }
  });
});

describeWithGit('the files that git tracks', () => {
  it('are searched, and so are their names', async () => {
    git('init', '--quiet');
    mkdirSync(place.file('ü x'));
    const tracked = [newKey(), newKey(), newKey()];
    for (const [index, name] of ['-dash', 'ü x/"a".txt', 'line\nfeed'].entries()) {
      place.write(name, tracked[index] ?? '');
    }
    commitAll('one');
    place.write('untracked.txt', newKey());
    const files = await scanned(lineOf('git ls-files -z'));
    expect(files.hints.toSorted()).toEqual(tracked.map(hintOf).sort());
    expect(files.exit).toBe(123);
    const named = newKey();
    place.write(named, '');
    git('add', named);
    const names = await scanned(lineOf('git ls-files |'));
    expect([names.hints, names.exit]).toEqual([[hintOf(named)], 1]);
  });

  it('give 0 without a key, also if a checksum is wrong', async () => {
    git('init', '--quiet');
    place.write('a.txt', nearKeyFrom(chanceFrom(5)));
    git('add', '--all');
    const line = lineOf('git ls-files -z').replace('npx keyscope', () => place.line([]));
    const { exit, stdout } = await shell(line, place.file(''));
    expect(stdout).toContain('checksum wrong: not a key');
    expect(exit).toBe(0);
  });
});

describeWithGit('the options against converters', () => {
  it('are needed and enough', async () => {
    place.write('nothing.sh', '#!/bin/sh\nexit 0\n');
    chmodSync(place.file('nothing.sh'), 0o755);
    git('init', '--quiet');
    git('config', 'diff.x.textconv', place.file('nothing.sh'));
    git('config', 'diff.external', place.file('nothing.sh'));
    place.write('.gitattributes', '*.env diff=x\n');
    const keys = [newKey(), newKey()];
    place.write('a.env', keys[0] ?? '');
    place.write('a.txt', keys[1] ?? '');
    commitAll('one');
    const more = '--no-textconv --no-ext-diff';
    expect(page).toContain(`\`${more}\``);
    for (const pipe of [LOG, lineOf('git show').replace('3f2a9c0', 'HEAD')]) {
      expect((await scanned(pipe)).hints).toHaveLength(1);
      const { hints } = await scanned(pipe.replace(' -a', ` -a ${more}`));
      expect(hints.toSorted()).toEqual(keys.map(hintOf).sort());
    }
    place.write('b.env', newKey());
    place.write('b.txt', newKey());
    git('add', '--all');
    const staged = lineOf('git diff --cached');
    expect((await scanned(staged)).exit).toBe(4);
    expect((await scanned(staged.replace(' -a', ` -a ${more}`))).hints).toHaveLength(2);
  });
});
