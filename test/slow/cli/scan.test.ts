/** `keyscope scan` as a process: files, pipes and what goes wrong with them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { generateKey } from 'keyscope';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ended, hasTerminal, openPlace, type Place, talk } from '../../support/command.ts';

let place: Place;
beforeEach(() => {
  place = openPlace(null);
});
afterEach(() => place.remove());

const SCAN = ['scan', '--prefix', 'acme'];
const newKey = () => generateKey({ prefix: 'acme' });

/** Writes files, with the folders that they stand in. */
function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(place.file(name)), { recursive: true });
    writeFileSync(place.file(name), text);
  }
}

const sorted = (stdout: string) => stdout.split('\n').filter(Boolean).sort();
const shown = (key: string) => `acme_…${key.slice(-4)}`;

describe('files', () => {
  it('are looked through in every folder, and hints alone are printed', async () => {
    const one = newKey();
    const two = newKey();
    write({
      'a.env': `KEY=${one}\n`,
      'x/y/z.bin': `\0\xff\n\n é ${two}`,
      'x/none.txt': `acme_${'x'.repeat(32)}`,
      'node_modules/m/a.js': newKey(),
      'x/node_modules/a.js': newKey(),
      '.git/config': newKey(),
    });
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect(sorted(stdout)).toEqual([`a.env:1:5: ${shown(one)}`, `x/y/z.bin:3:4: ${shown(two)}`]);
    expect(stderr).toMatch(/^2 found in 3 texts \(0\.0 MB\)\.\n$/);
    expect(exit).toBe(1);
    for (const key of [one, two]) expect(stdout + stderr).not.toContain(key.slice(5, 20));
  });

  it('are those that are named, folders that are passed over among them', async () => {
    const key = newKey();
    write({ 'node_modules/a.js': key, 'b.txt': newKey(), 'c.txt': newKey() });
    const { stdout } = await place.run([...SCAN, 'node_modules', 'b.txt', '--json']);
    const paths = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(paths).toEqual([
      {
        commit: null,
        path: 'node_modules/a.js',
        line: 1,
        column: 1,
        prefix: 'acme',
        hint: key.slice(-4),
      },
      expect.objectContaining({ path: 'b.txt' }),
    ]);
  });

  it('end with 0 where there is no key', async () => {
    write({ 'a.txt': 'acme_\n' });
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 0 });
    expect(stderr).toBe('0 found in 1 text (0.0 MB).\n');
  });

  it('are found by several prefixes, which have to be written', async () => {
    const other = generateKey({ prefix: 'acme_test' });
    write({ 'a.txt': `${newKey()} ${other}` });
    const { stdout } = await place.run(['scan', '--prefix', 'acme,acme_test']);
    expect(stdout).toContain(`acme_test_…${other.slice(-4)}`);
    expect(sorted(stdout)).toHaveLength(2);
    const none = await place.run(['scan']);
    expect([none.exit, none.stdout]).toEqual([3, '']);
    const wrong = await place.run(['scan', '--prefix', 'ACME']);
    expect(wrong.exit).toBe(2);
  });

  it('have paths whose keys and controlling characters are written out', async () => {
    const key = newKey();
    const name = `\u001b[2J ${key}.txt`;
    write({ [name]: key });
    for (const format of [[], ['--json'], ['--sarif']]) {
      const { stdout, stderr, exit } = await place.run([...SCAN, ...format]);
      expect(exit).toBe(1);
      expect(stdout + stderr).not.toContain(key.slice(5, 20));
      expect(stdout).not.toContain('\u001b');
      expect(stdout).toContain('redacted');
    }
  });

  it('are ignored as .keyscopeignore says; one that is not understood is refused', async () => {
    write({ 'a.txt': newKey(), 'x/b.txt': newKey(), 'x/dist/c.txt': newKey() });
    write({ '.keyscopeignore': '# ours\n/x/b.txt\ndist/\n' });
    const { stdout, exit } = await place.run(SCAN);
    expect(sorted(stdout)).toEqual([expect.stringMatching(/^a\.txt:1:1: /)]);
    expect(exit).toBe(1);
    const inside = await place.run([...SCAN, 'x']);
    expect(inside.exit).toBe(0);
    write({ '.keyscopeignore': '!a.txt\n' });
    const wrong = await place.run(SCAN);
    expect([wrong.exit, wrong.stdout]).toEqual([2, '']);
  });
});

describe('links', () => {
  it('are not followed, loops least of all', async () => {
    const key = newKey();
    write({ 'x/a.txt': key, 'y/b.txt': 'none' });
    symlinkSync('..', place.file('x/up'));
    symlinkSync('self', place.file('x/self'));
    symlinkSync('a.txt', place.file('x/again'));
    const { stdout, exit } = await place.run(SCAN);
    expect(sorted(stdout)).toEqual([`x/a.txt:1:1: ${shown(key)}`]);
    expect(exit).toBe(1);
    const named = await place.run([...SCAN, 'x/again']);
    expect(named.stdout).toContain('x/again:1:1');
  });
});

describe('what cannot be read', () => {
  it('is told and counted, and the rest is looked through', async () => {
    write({ 'a.txt': newKey() });
    const { stdout, stderr, exit } = await place.run([...SCAN, 'gone.txt', 'a.txt', 'x/gone']);
    expect(stdout).toContain('a.txt:1:1');
    expect(stderr).toContain('gone.txt cannot be read: ENOENT.');
    expect(stderr).toContain('1 found in 1 text (0.0 MB); 2 could not be read.');
    expect(exit).toBe(1);
  });

  it.skipIf(process.platform !== 'linux')('may have a name that is no text', async () => {
    const key = newKey();
    const name = Buffer.from(`${place.file('')}/\u001b[2J${key}`);
    writeFileSync(Buffer.concat([name, Buffer.from([0xff])]), key);
    const { stderr, exit } = await place.run(SCAN);
    expect(stderr).toContain('\\u001b[2Jacme_[redacted]');
    expect(stderr).toContain('cannot be read: ENOENT.');
    expect(stderr).not.toContain('\u001b');
    expect(stderr).not.toContain(key.slice(5, 20));
    expect(exit).toBe(4);
  });

  it('is no clean result: the exit code is 4', async () => {
    write({ 'a.txt': 'none' });
    const { stderr, exit } = await place.run([...SCAN, 'a.txt', 'gone.txt']);
    expect(stderr).toContain('0 found in 1 text (0.0 MB); 1 could not be read.');
    expect(exit).toBe(4);
  });

  it.skipIf(process.getuid?.() === 0)('may be a file without the right to read it', async () => {
    write({ 'a.txt': newKey() });
    chmodSync(place.file('a.txt'), 0);
    const { stderr, exit } = await place.run(SCAN);
    expect(stderr).toContain('a.txt cannot be read: EACCES.');
    expect(exit).toBe(4);
  });

  it.skipIf(!existsSync('/proc/self/mem'))('may fail in the middle', async () => {
    const { stderr, exit } = await place.run([...SCAN, '/proc/self/mem']);
    expect(stderr).toMatch(/\/proc\/self\/mem cannot be read: E\w+\./);
    expect(exit).toBe(4);
  });

  it('may be a file that vanishes between two looks', async () => {
    // A reader of its output that is slow lets files go while their folder is being read.
    for (let index = 0; index < 500; index += 1) {
      write({ [`x/${index}.txt`]: `${newKey()}\n`.repeat(200) });
    }
    const child = place.start(SCAN);
    const ran = ended(child);
    await once(child.stdout, 'data');
    rmSync(place.file('x'), { recursive: true });
    const { stderr, exit } = await ran;
    expect(exit).toBe(1);
    expect(stderr).toMatch(/found in \d+ texts? /);
    const told = stderr.match(/ cannot be read: ENOENT\./g) ?? [];
    expect(stderr).toContain(told.length === 0 ? ' MB).' : `${told.length} could not be read.`);
  });
});

describe('standard input', () => {
  it('is -, and may be a pipe', async () => {
    const key = newKey();
    const { stdout, exit } = await place.run([...SCAN, '-'], `{"a":"\\n${key}"}\n`);
    expect({ stdout, exit }).toEqual({ stdout: `-:1:9: ${shown(key)}\n`, exit: 1 });
    expect((await place.run([...SCAN, '-'], '')).exit).toBe(0);
  });

  it('may be a line of 300 MB, in memory that does not grow with it', async () => {
    const peak = (megabytes: number): number => {
      const make = `head -c ${megabytes}M /dev/zero | tr '\\0' a`;
      const env = { ...process.env, NODE_OPTIONS: `--import ${place.file('peak.mjs')}` };
      write({ 'peak.mjs': PEAK });
      const line = `(${make}; echo ${newKey()}) | ${place.line([...SCAN, '-'])}`;
      const ran = spawnSync('bash', ['-c', line], { cwd: place.file(''), env, encoding: 'utf8' });
      expect(ran.status).toBe(1);
      expect(ran.stdout).toContain(`-:1:${megabytes * 1024 * 1024 + 1}: `);
      return Number(/peak (\d+)/.exec(ran.stderr)?.[1]);
    };
    const few = peak(1);
    const many = peak(300);
    console.log(`scan: ${few} KiB for 1 MB, ${many} KiB for 300 MB`);
    expect(many - few).toBeLessThan(64 * 1024);
  });
});

const PEAK = `process.on('exit', () => {
  if (process.argv.includes('scan')) console.error('peak ' + process.resourceUsage().maxRSS);
});`;

describe('a terminal', () => {
  const clear = '\r\u001b[K';

  it.skipIf(!hasTerminal)(
    'is told how far it is, and finds stand on lines of their own',
    async () => {
      const key = newKey();
      write({ key: `${key}\n` });
      const input =
        '(head -c 300000 /dev/zero; sleep 1; head -c 300000 /dev/zero; sleep 1; cat key)';
      const line = `cd '${place.file('')}' && ${input} | ${place.line([...SCAN, '-'])}`;
      const { stdout, exit } = await talk(line, []);
      expect(exit).toBe(1);
      expect(stdout).toContain(`${clear}0 found in 1 text (0.`);
      expect(stdout).toContain(`${clear}-:1:600001: ${shown(key)}\r\n`);
      const elsewhere = spawnSync('bash', ['-c', line], { encoding: 'utf8' });
      expect(elsewhere.stdout + elsewhere.stderr).not.toContain(clear);
    },
  );
});

describe('an end that comes early', () => {
  it('of a reader that has enough is quiet, and still says that a key was found', async () => {
    write({ 'a.txt': `${newKey()}\n`.repeat(50_000) });
    const line = `${place.line(SCAN)} | head -1 >/dev/null; exit \${PIPESTATUS[0]}`;
    const ran = spawnSync('bash', ['-c', line], { cwd: place.file(''), encoding: 'utf8' });
    expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 1, stderr: '' });
  });

  it('of a signal ends a scan that waits for more', async () => {
    const child = place.start([...SCAN, '-']);
    const ran = ended(child);
    child.stdin.write(`${newKey()}\n`);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const { exit, stderr } = await ran;
    expect(exit).toBe(130);
    expect(stderr).toContain('Interrupted; nothing was changed.');
  });
});

describe('options that contradict each other', () => {
  it.each([
    [['--json', '--sarif']],
    [['--git', '--staged']],
    [['--git', 'x']],
    [['--staged', '-']],
    [['--revoke']],
    [['--revoke', '-']],
  ])('are refused before anything is read: %j', async (options) => {
    const { exit, stdout } = await place.run([...SCAN, ...options]);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
  });
});

describe('--sarif', () => {
  it('prints one log, also where nothing was found or not all was read', async () => {
    const key = newKey();
    write({ 'a b/ü.txt': `\n ${key}` });
    const { stdout, exit } = await place.run([...SCAN, '--sarif']);
    expect(exit).toBe(1);
    const uri = 'a%20b/%C3%BC.txt';
    const region = { startLine: 2, startColumn: 2, endColumn: 39 };
    expect(JSON.parse(stdout)).toMatchObject({
      version: '2.1.0',
      runs: [
        {
          columnKind: 'unicodeCodePoints',
          results: [
            {
              ruleId: 'keyscope/api-key',
              locations: [{ physicalLocation: { artifactLocation: { uri }, region } }],
            },
          ],
          invocations: [{ executionSuccessful: true }],
        },
      ],
    });
    const empty = await place.run([...SCAN, '--sarif', 'gone']);
    expect(empty.exit).toBe(4);
    expect(JSON.parse(empty.stdout)).toMatchObject({
      runs: [{ results: [], invocations: [{ executionSuccessful: false }] }],
    });
  });
});

const hasGit = spawnSync('git', ['--version']).status === 0;

describe.skipIf(!hasGit)('a repository', () => {
  function git(...args: string[]): string {
    const who = ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'commit.gpgSign=false'];
    return execFileSync('git', [...who, ...args], { cwd: place.file(''), encoding: 'utf8' }).trim();
  }
  function commit(message: string): string {
    git('add', '--all');
    git('commit', '--quiet', '--allow-empty', '--message', message);
    return git('rev-parse', 'HEAD').slice(0, 12);
  }
  beforeEach(() => void git('init', '--quiet', '--initial-branch', 'main'));
  const HISTORY = [...SCAN, '--git'];

  it('without commits has no keys', async () => {
    expect((await place.run(HISTORY)).exit).toBe(0);
    expect((await place.run([...SCAN, '--staged'])).exit).toBe(0);
  });

  it('shows a deleted key by the commit and the path that brought it', async () => {
    const key = newKey();
    write({ 'x/a b.txt': `\n${key}\n`, 'bin.dat': `\0${key}` });
    const first = commit('one');
    rmSync(place.file('x'), { recursive: true });
    rmSync(place.file('bin.dat'));
    commit('two');
    write({ 'other/again.txt': `\n${key}\n` });
    commit('three');
    const { stdout, exit } = await place.run(HISTORY);
    expect(exit).toBe(1);
    expect(sorted(stdout)).toEqual([
      `${first}:bin.dat:1:2: ${shown(key)}`,
      `${first}:x/a b.txt:2:1: ${shown(key)}`,
    ]);
    expect((await place.run(SCAN)).stdout).toBe(`other/again.txt:2:1: ${shown(key)}\n`);
  });

  it('shows keys of messages, of tags, of other branches and of a merge alone', async () => {
    const keys = Array.from({ length: 4 }, newKey);
    const [inMessage = '', inTag = '', onBranch = '', inMerge = ''] = keys;
    write({ a: 'a' });
    const first = commit(`a key: ${inMessage}`);
    git('tag', '--annotate', 'v1', '--message', inTag);
    git('checkout', '--quiet', '-b', 'side');
    write({ b: onBranch });
    const side = commit('side');
    git('checkout', '--quiet', 'main');
    write({ c: 'c' });
    commit('main');
    git('merge', '--quiet', '--no-commit', '--no-ff', '--strategy', 'ours', 'side');
    write({ evil: inMerge });
    const merge = commit('merge');
    git('branch', '--delete', '--force', 'side');
    const { stdout } = await place.run(HISTORY);
    const lines = sorted(stdout);
    expect(lines).toHaveLength(4);
    const tag = git('rev-parse', 'v1').slice(0, 12);
    for (const [place, key] of [
      [`${first}:(message)`, inMessage],
      [`${tag}:(message)`, inTag],
      [`${side}:b`, onBranch],
      [`${merge}:evil`, inMerge],
    ] as const) {
      expect(
        lines.filter((line) => line.startsWith(place) && line.endsWith(shown(key))),
      ).toHaveLength(1);
    }
  });

  it('ignores paths, but no copy of the same text elsewhere', async () => {
    const fixture = newKey();
    const copied = newKey();
    write({ '.keyscopeignore': 'fixtures/\n', 'fixtures/a': fixture, 'fixtures/b': copied });
    commit('fixtures');
    write({ 'src/b': copied });
    const second = commit('a copy');
    const { stdout } = await place.run(HISTORY);
    expect(sorted(stdout)).toEqual([`${second}:src/b:1:1: ${shown(copied)}`]);
    // From a folder below, it is the same repository.
    const below = spawnSync('bash', ['-c', place.line(HISTORY)], { cwd: place.file('src') });
    expect(below.stdout.toString()).toBe(stdout);
  });

  it('shows what is staged, and not what is only in the folder', async () => {
    write({ old: newKey() });
    commit('one');
    const staged = newKey();
    write({ 'x/a': staged, 'y\nz': staged, untracked: '' });
    git('add', 'x', 'y\nz');
    write({ 'x/a': 'gone again', untracked: newKey() });
    const { stdout, exit } = await place.run([...SCAN, '--staged']);
    expect(exit).toBe(1);
    expect(sorted(stdout)).toEqual([`x/a:1:1: ${shown(staged)}`, `y?z:1:1: ${shown(staged)}`]);
    git('rm', '--quiet', '--cached', 'old');
    write({ '.keyscopeignore': 'x/\ny*\n' });
    expect((await place.run([...SCAN, '--staged'])).exit).toBe(0);
  });

  it('is told to be shallow', async () => {
    write({ a: newKey() });
    commit('one');
    write({ a: 'none' });
    commit('two');
    git('clone', '--quiet', '--depth', '1', `file://${place.file('')}`, place.file('clone'));
    const line = place.line(HISTORY);
    const ran = spawnSync('bash', ['-c', line], { cwd: place.file('clone'), encoding: 'utf8' });
    expect([ran.status, ran.stdout]).toEqual([0, '']);
    expect(ran.stderr).toContain('This clone is shallow: older commits are not here.');
  });

  it('may be bare', async () => {
    const key = newKey();
    write({ a: key });
    const id = commit('one');
    git('clone', '--quiet', '--bare', '.', 'bare.git');
    const line = place.line(HISTORY);
    const ran = spawnSync('bash', ['-c', line], { cwd: place.file('bare.git'), encoding: 'utf8' });
    expect([ran.status, ran.stdout]).toEqual([1, `${id}:a:1:1: ${shown(key)}\n`]);
  });

  it('whose objects are damaged is no clean result', async () => {
    write({ a: newKey() });
    commit('one');
    const id = git('rev-parse', 'HEAD:a');
    rmSync(place.file(`.git/objects/${id.slice(0, 2)}/${id.slice(2)}`));
    const { exit, stderr } = await place.run(HISTORY);
    expect(exit).toBe(4);
    expect(stderr).toMatch(/failed|cannot be read/);
  });

  it('runs no command that its settings name', async () => {
    write({ 'run.sh': '#!/bin/sh\ntouch ran\nexit 0\n', a: 'a', '.gitattributes': '* diff=x\n' });
    chmodSync(place.file('run.sh'), 0o755);
    commit('one');
    const run = place.file('run.sh');
    for (const name of ['core.fsmonitor', 'diff.external', 'diff.x.textconv', 'diff.x.command']) {
      git('config', name, run);
    }
    git('config', 'log.showSignature', 'true');
    git('config', 'gpg.program', run);
    writeFileSync(place.file('a'), newKey());
    git('-c', 'core.fsmonitor=false', 'add', 'a');
    rmSync(place.file('ran'), { force: true });
    expect((await place.run([...SCAN, '--staged'])).exit).toBe(1);
    expect((await place.run(HISTORY)).exit).toBe(0);
    expect(existsSync(place.file('ran'))).toBe(false);
    expect(readFileSync(place.file('a'), 'utf8')).toContain('acme_');
  });

  it('has to be there', async () => {
    rmSync(place.file('.git'), { recursive: true });
    const { exit, stderr } = await place.run(HISTORY);
    expect(exit).toBe(4);
    expect(stderr).toContain('not a git repository');
  });
});
