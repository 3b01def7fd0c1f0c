/** `keyscope scan` as a process: files and pipes, sound and broken. */
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { generateKey } from 'keyscope';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ended, hasTerminal, openPlace, type Place, shell, talk } from '../../support/command.ts';

let place: Place;
beforeEach(() => {
  place = openPlace(null);
});
afterEach(() => place.remove());

const SCAN = ['scan', '--prefix', 'acme'];
const newKey = () => generateKey({ prefix: 'acme' });

/** Writes files and their folders. */
function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(place.file(name)), { recursive: true });
    writeFileSync(place.file(name), text);
  }
}

const sorted = (stdout: string) => stdout.split('\n').filter(Boolean).sort();
const shown = (key: string) => `acme_…${key.slice(-4)}`;

describe('files', () => {
  it('are searched in every folder, and only hints are printed', async () => {
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

  it('are the named ones, including folders that are skipped otherwise', async () => {
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

  it('without keys give exit code 0', async () => {
    write({ 'a.txt': 'acme_\n' });
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 0 });
    expect(stderr).toBe('0 found in 1 text (0.0 MB).\n');
  });

  it('are searched for several prefixes, which must be valid', async () => {
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

  it('have keys masked and control characters escaped in their paths', async () => {
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

  it('are reported if a key is in their name, folders once', async () => {
    const file = newKey();
    const outer = newKey();
    write({ [`x-${outer}/a.txt`]: 'none', [`x-${outer}/b.txt`]: 'none', [`y/${file}`]: '' });
    symlinkSync('gone', place.file(`${newKey()}.link`));
    write({ [`fixtures/${newKey()}`]: '', '.keyscopeignore': 'fixtures/\n*.link' });
    const { stdout, exit } = await place.run(SCAN);
    expect(sorted(stdout)).toEqual([
      `x-acme_[redacted]:(name): ${shown(outer)}`,
      `y/acme_[redacted]:(name): ${shown(file)}`,
    ]);
    expect(exit).toBe(1);
    const { stdout: log } = await place.run([...SCAN, '--sarif', 'y']);
    const { runs } = JSON.parse(log) as { runs: { results: { locations: object[] }[] }[] };
    expect(runs[0]?.results[0]?.locations).toEqual([
      { physicalLocation: { artifactLocation: { uri: 'y/acme_%5Bredacted%5D' } } },
    ]);
  });

  it('are ignored as .keyscopeignore says; an invalid pattern is an error', async () => {
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

describe('unread input', () => {
  it('is reported and counted, and the rest is searched', async () => {
    write({ 'a.txt': newKey() });
    const { stdout, stderr, exit } = await place.run([...SCAN, 'gone.txt', 'a.txt', 'x/gone']);
    expect(stdout).toContain('a.txt:1:1');
    expect(stderr).toContain('gone.txt cannot be read: ENOENT.');
    expect(stderr).toContain('1 found in 1 text (0.0 MB); 2 could not be read.');
    expect(exit).toBe(1);
  });

  it.skipIf(process.platform !== 'linux')('may have a name that is not UTF-8', async () => {
    const key = newKey();
    const name = Buffer.from(`${place.file('')}/\u001b[2J${key}`);
    writeFileSync(Buffer.concat([name, Buffer.from([0xff])]), key);
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect(stderr).toContain('\\u001b[2Jacme_[redacted]');
    expect(stderr).toContain('cannot be read: ENOENT.');
    expect(stderr).not.toContain('\u001b');
    expect(stderr).not.toContain(key.slice(5, 20));
    expect(stdout).toContain(`acme_[redacted]\ufffd:(name): ${shown(key)}`);
    expect(exit).toBe(1);
  });

  it('gives exit code 4, not 0', async () => {
    write({ 'a.txt': 'none' });
    const { stderr, exit } = await place.run([...SCAN, 'a.txt', 'gone.txt']);
    expect(stderr).toContain('0 found in 1 text (0.0 MB); 1 could not be read.');
    expect(exit).toBe(4);
  });

  it.skipIf(process.getuid?.() === 0)('may be a file without read permission', async () => {
    write({ 'a.txt': newKey() });
    chmodSync(place.file('a.txt'), 0);
    const { stderr, exit } = await place.run(SCAN);
    expect(stderr).toContain('a.txt cannot be read: EACCES.');
    expect(exit).toBe(4);
  });

  it.skipIf(!existsSync('/proc/self/mem'))('may fail while it is read', async () => {
    const { stderr, exit } = await place.run([...SCAN, '/proc/self/mem']);
    expect(stderr).toMatch(/\/proc\/self\/mem cannot be read: E\w+\./);
    expect(exit).toBe(4);
  });

  it('may be a file that vanishes during the scan', async () => {
    // A slow reader of the output delays the scan, so that files vanish meanwhile.
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

  it('may be a line of 300 MB, in constant memory', async () => {
    const peak = async (megabytes: number): Promise<number> => {
      const make = `head -c ${megabytes}M /dev/zero | tr '\\0' a`;
      const env = { NODE_OPTIONS: `--import ${place.file('peak.mjs')}` };
      write({ 'peak.mjs': PEAK });
      const line = `(${make}; echo ${newKey()}) | ${place.line([...SCAN, '-'])}`;
      const ran = await shell(line, place.file(''), env);
      expect(ran.exit).toBe(1);
      expect(ran.stdout).toContain(`-:1:${megabytes * 1024 * 1024 + 1}: `);
      return Number(/peak (\d+)/.exec(ran.stderr)?.[1]);
    };
    const few = await peak(1);
    const many = await peak(300);
    console.log(`scan: ${few} KiB for 1 MB, ${many} KiB for 300 MB`);
    expect(many - few).toBeLessThan(64 * 1024);
  });
});

const PEAK = `process.on('exit', () => {
  if (process.argv.includes('scan')) console.error('peak ' + process.resourceUsage().maxRSS);
});`;

describe('on a terminal, keyscope scan', () => {
  const clear = '\r\u001b[K';

  it.skipIf(!hasTerminal)('shows its progress, and finds on their own lines', async () => {
    const key = newKey();
    write({ key: `${key}\n` });
    const input = '(head -c 300000 /dev/zero; sleep 1; head -c 300000 /dev/zero; sleep 1; cat key)';
    const line = `cd '${place.file('')}' && ${input} | ${place.line([...SCAN, '-'])}`;
    const { stdout, exit } = await talk(line, []);
    expect(exit).toBe(1);
    expect(stdout).toContain(`${clear}0 found in 1 text (0.`);
    expect(stdout).toMatch(/ MB\), \d+\.\d MB\/s/);
    expect(stdout).toContain(`${clear}-:1:600001: ${shown(key)}\r\n`);
    const elsewhere = await shell(line, place.file(''));
    expect(elsewhere.stdout + elsewhere.stderr).not.toContain(clear);
  });
});

describe('a slow reader of standard error', () => {
  // The end of the process once dropped the last lines.
  it('gets every line', async () => {
    const missing = Array.from({ length: 3_000 }, (_, index) => `${'x'.repeat(80)}${index}`);
    const child = place.start([...SCAN, ...missing]);
    await new Promise((resolve) => setTimeout(resolve, 2_000));
    const { stderr, exit } = await ended(child);
    expect(stderr.split('\n')).toHaveLength(missing.length + 2);
    expect(stderr).toContain('3000 could not be read.');
    expect(exit).toBe(4);
  });
});

describe('an early end', () => {
  it('of the reader is quiet, and the exit code still says that a key was found', async () => {
    write({ 'a.txt': `${newKey()}\n`.repeat(50_000) });
    const line = `${place.line(SCAN)} | head -1 >/dev/null; exit \${PIPESTATUS[0]}`;
    const { exit, stderr } = await shell(line, place.file(''));
    expect({ exit, stderr }).toEqual({ exit: 1, stderr: '' });
  });

  it('by a signal stops a scan that waits for more input', async () => {
    const child = place.start([...SCAN, '-']);
    const ran = ended(child);
    child.stdin.write(`${newKey()}\n`);
    await once(child.stdout, 'data');
    child.kill('SIGINT');
    const { exit, stderr } = await ran;
    expect(exit).toBe(130);
    expect(stderr).toContain('Interrupted. Nothing was changed.');
  });
});

describe('options that contradict each other', () => {
  it.each([
    [['--json', '--sarif']],
    [['--diff', 'x']],
    [['--diff', '-', 'x']],
    [['--diff', '--revoke']],
    [['--revoke']],
    [['--revoke', '-']],
  ])('are errors before anything is read: %j', async (options) => {
    const { exit, stdout } = await place.run([...SCAN, ...options]);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
  });
});

describe('--sarif', () => {
  it('prints one log, also without finds or with unread input', async () => {
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

describe('--diff', () => {
  const DIFF = [...SCAN, '--diff'];
  const of = (name: string, ...lines: readonly string[]) =>
    `diff --git a/${name} b/${name}\n--- a/${name}\n+++ b/${name}\n${lines.join('\n')}\n`;

  it('shows added keys with file, line and commit, and keys in messages', async () => {
    const added = newKey();
    const inMessage = newKey();
    const head = `commit ${'a1'.repeat(20)}\nAuthor: a\n\n    é ${inMessage}\n\n`;
    const hunk = ['@@ -7,2 +7,2 @@', ` ${newKey()}`, `-${newKey()}`, `+é ${added}`];
    const { stdout, stderr, exit } = await place.run(DIFF, head + of('x/a.txt', ...hunk));
    expect(stdout.split('\n')).toEqual([
      `a1a1a1a1a1a1:(message):4:7: ${shown(inMessage)}`,
      `a1a1a1a1a1a1:x/a.txt:8:3: ${shown(added)}`,
      '',
    ]);
    expect(stderr).toBe('2 found in 2 texts (0.0 MB).\n');
    expect(exit).toBe(1);
  });

  it('skips paths in .keyscopeignore, binaries included, but no messages', async () => {
    write({ '.keyscopeignore': 'fixtures/\n' });
    const key = newKey();
    const ignored = of('fixtures/a', '@@ -0,0 +1 @@', `+${newKey()}`);
    const binary =
      'diff --git a/fixtures/b b/fixtures/b\nBinary files a/fixtures/b and b/fixtures/b differ\n';
    const clean = await place.run(DIFF, ignored + binary);
    expect([clean.exit, clean.stdout]).toEqual([0, '']);
    const { stdout } = await place.run(DIFF, `${ignored}commit ${'b'.repeat(40)}\n\n    ${key}\n`);
    expect(stdout).toBe(`bbbbbbbbbbbb:(message):3:5: ${shown(key)}\n`);
  });

  it('reports what a diff leaves out, and how to get it', async () => {
    const name = newKey();
    const header = `diff --git a/${name} b/${name}\nindex 1..2 100644\n`;
    const input = `${header}Binary files a/${name} and b/${name} differ\n`;
    const { stdout, stderr, exit } = await place.run([...DIFF, '--json'], input);
    expect(JSON.parse(stdout)).toMatchObject({ path: 'acme_[redacted]', line: null, column: null });
    const why = 'the diff leaves out its contents. Run git with -a';
    expect(stderr).toContain(`acme_[redacted] cannot be read: ${why}.\n`);
    expect(stderr).not.toContain(name.slice(5, 20));
    expect(exit).toBe(1);
    const other = await place.run(DIFF, 'Binary files x/a.bin and y/a.bin differ\n');
    expect(other.stderr).toContain(`y/a.bin cannot be read: ${why}.\n`);
    expect(other.exit).toBe(4);
  });

  it('reports a truncated diff', async () => {
    const { stderr, exit } = await place.run(DIFF, of('a', '@@ -1,3 +1,4 @@', '+x', ' y'));
    expect(stderr).toContain('a cannot be read: the diff ends inside a hunk.\n');
    expect(exit).toBe(4);
  });

  it('accepts an empty diff, and says that it is empty', async () => {
    const { stdout, stderr, exit } = await place.run([...DIFF, '-'], '');
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 0 });
    expect(stderr).toBe('Standard input is empty.\n0 found in 0 texts (0.0 MB).\n');
  });

  it.each([
    ['text', 'a\nb\n'],
    ['a diff in colours', of('a', '@@ -0,0 +1 @@', '+x').replace(/^/gm, '\u001b[1m')],
    ['a diff in UTF-16', of('a', '@@ -0,0 +1 @@', '+x').replace(/./g, '$&\0')],
  ])('rejects %s', async (_, input) => {
    const { stdout, stderr, exit } = await place.run(DIFF, input);
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 2 });
    expect(stderr).toContain('it is not a diff');
    const key = newKey();
    const found = await place.run(DIFF, input + key);
    expect([found.stdout, found.exit]).toEqual([expect.stringContaining(shown(key)), 1]);
    expect(found.stderr).toContain('Standard input cannot be read: it is not a diff');
  });

  it('takes constant memory for long lines and for many lines', async () => {
    const peak = async (count: number, length: number): Promise<number> => {
      write({ 'peak.mjs': PEAK });
      const lines = `yes "+$(head -c ${length} /dev/zero | tr '\\0' a)" | head -${count}`;
      const names = '--- a/x\\n+++ b/x\\n';
      const head = `printf -- '${names}@@ -0,0 +1,${count + 1} @@\\n'`;
      const line = `(${head}; ${lines}; echo +${newKey()}) | ${place.line(DIFF)}`;
      const env = { NODE_OPTIONS: `--import ${place.file('peak.mjs')}` };
      const ran = await shell(line, place.file(''), env);
      expect(ran.exit, ran.stderr).toBe(1);
      expect(ran.stdout).toContain(`x:${count + 1}:1: `);
      return Number(/peak (\d+)/.exec(ran.stderr)?.[1]);
    };
    const few = await peak(1, 10);
    const many = await peak(2_000_000, 100);
    const long = await peak(2_000, 100_000);
    console.log(`scan --diff: ${few} KiB, ${many} KiB for many lines, ${long} KiB for long ones`);
    expect(Math.max(many, long) - few).toBeLessThan(64 * 1024);
  });
});
