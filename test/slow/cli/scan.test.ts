/** `keyscope scan` as a process: files and pipes, sound and broken. */
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { generateKey, keyPattern } from 'keyscope';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ended, hasTerminal, openPlace, type Place, shell, talk } from '../../support/command.ts';
import { chanceFrom, innocentText, keyFrom, nearKeyFrom } from '../../support/planted-keys.ts';

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
const shown = (key: string) => `acme_…${key.slice(-4)} checksum right`;
const shownWrong = (near: string) => `acme_…${near.slice(-4)} checksum wrong: not a key`;

describe('files', () => {
  it('are searched in every folder, and only hints are printed', async () => {
    const one = newKey();
    const two = newKey();
    write({
      'a.env': `KEY=${one}\n`,
      'x/y/z.bin': `\0\xff\n\n é ${two}`,
      'x/none.txt': `acme_${'x'.repeat(33)}`,
      'node_modules/m/a.js': newKey(),
      'x/node_modules/a.js': newKey(),
      '.git/config': newKey(),
    });
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect(sorted(stdout)).toEqual([`a.env:1: ${shown(one)}`, `x/y/z.bin:3: ${shown(two)}`]);
    expect(stderr).toMatch(/^2 keys in 3 texts \(0\.0 MB\)\.\n$/);
    expect(exit).toBe(1);
    for (const key of [one, two]) expect(stdout + stderr).not.toContain(key.slice(5, 20));
  });

  it('are the named ones, including folders that are skipped otherwise', async () => {
    const key = newKey();
    write({ 'node_modules/a.js': key, 'b.txt': newKey(), 'c.txt': newKey() });
    const { stdout } = await place.run([...SCAN, 'node_modules', 'b.txt', '--json']);
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const hint = key.slice(-4);
    expect(found).toEqual([
      { path: 'node_modules/a.js', line: 1, prefix: 'acme', hint, checksum: 'right' },
      expect.objectContaining({ path: 'b.txt' }),
    ]);
  });

  it('without keys give exit code 0', async () => {
    write({ 'a.txt': 'acme_\n' });
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 0 });
    expect(stderr).toBe('0 keys in 1 text (0.0 MB).\n');
  });

  it('are searched for several prefixes, which must be valid', async () => {
    const other = generateKey({ prefix: 'acme_test' });
    write({ 'a.txt': `${newKey()} ${other}` });
    const { stdout } = await place.run(['scan', '--prefix', 'acme,acme_test']);
    expect(stdout).toContain(`acme_test_…${other.slice(-4)} checksum right`);
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
    for (const format of [[], ['--json']]) {
      const { stdout, stderr, exit } = await place.run([...SCAN, ...format]);
      expect(exit).toBe(1);
      expect(stdout + stderr).not.toContain(key.slice(5, 20));
      expect(stdout).not.toContain('\u001b');
      expect(stdout).toContain('redacted');
    }
  });
});

describe('a text with the shape of a key', () => {
  const chance = chanceFrom(1);
  const near = nearKeyFrom(chance);

  it('is marked if its checksum is wrong, and does not count', async () => {
    write({ 'a.txt': `${near}\n` });
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect(stdout).toBe(`a.txt:1: ${shownWrong(near)}\n`);
    expect(stderr).toBe('0 keys in 1 text (0.0 MB).\n');
    expect(exit).toBe(0);
    const { stdout: json } = await place.run([...SCAN, '--json']);
    expect(JSON.parse(json)).toMatchObject({ hint: near.slice(-4), checksum: 'wrong' });
    for (const each of [stdout, stderr, json]) expect(each).not.toContain(near.slice(5, 20));
  });

  it('changes no exit code', async () => {
    write({ 'a.txt': near, 'b.txt': newKey() });
    expect((await place.run([...SCAN, 'a.txt', 'gone.txt'])).exit).toBe(4);
    expect((await place.run([...SCAN, 'a.txt', 'b.txt'])).exit).toBe(1);
  });
});

describe('1,000 of 1,000 keys', () => {
  /** Writes keys, near-keys and noise into 100 files, and returns the lines of the scan. */
  function plant(): readonly string[] {
    const chance = chanceFrom(20);
    const expected: string[] = [];
    for (let index = 0; index < 100; index += 1) {
      const path = `f/${index % 10}/${index}.txt`;
      const lines = innocentText(2_000, chance).trimEnd().split('\n');
      const noise = lines.length;
      for (let round = 0; round < 10; round += 1) {
        const key = keyFrom(chance);
        lines.push(`key = "${key}"`);
        expected.push(`${path}:${lines.length}: ${shown(key)}`);
      }
      const near = nearKeyFrom(chance);
      lines.push(`${near};`);
      expected.push(`${path}:${lines.length}: ${shownWrong(near)}`);
      expect(lines).toHaveLength(noise + 11);
      write({ [path]: `${lines.join('\n')}\n` });
    }
    return expected.sort();
  }

  it('and nothing else are found in a folder, in files and on standard input', async () => {
    const expected = plant();
    const folder = await place.run(SCAN);
    expect(sorted(folder.stdout)).toEqual(expected);
    expect(folder.stderr).toContain('1000 keys in 100 texts ');
    const files = await shell(`${place.line([...SCAN])} f/*/*.txt`, place.file(''));
    expect(sorted(files.stdout)).toEqual(expected);
    const piped = `cat f/*/*.txt | ${place.line([...SCAN, '-'])}`;
    const input = await shell(piped, place.file(''));
    const hints = (lines: readonly string[]) => lines.map((line) => line.split(': ')[1]).sort();
    expect(hints(sorted(input.stdout))).toEqual(hints(expected));
    for (const { exit, stdout, stderr } of [folder, files, input]) {
      expect(exit).toBe(1);
      expect(stdout + stderr).not.toMatch(new RegExp(keyPattern('acme')));
    }
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
    expect(sorted(stdout)).toEqual([`x/a.txt:1: ${shown(key)}`]);
    expect(exit).toBe(1);
    const named = await place.run([...SCAN, 'x/again']);
    expect(named.stdout).toContain('x/again:1: ');
  });
});

describe('unread input', () => {
  it('is reported and counted, and the rest is searched', async () => {
    write({ 'a.txt': newKey() });
    const { stdout, stderr, exit } = await place.run([...SCAN, 'gone.txt', 'a.txt', 'x/gone']);
    expect(stdout).toContain('a.txt:1: ');
    expect(stderr).toContain('gone.txt cannot be read: ENOENT.');
    expect(stderr).toContain('1 key in 1 text (0.0 MB); 2 could not be read.');
    expect(exit).toBe(1);
  });

  it.skipIf(process.platform !== 'linux')('may have a name that is not UTF-8', async () => {
    const key = newKey();
    const name = Buffer.from(`${place.file('')}/\u001b[2J${key}`);
    writeFileSync(Buffer.concat([name, Buffer.from([0xff])]), key);
    const { stdout, stderr, exit } = await place.run(SCAN);
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 4 });
    expect(stderr).toContain('\\u001b[2Jacme_[redacted]');
    expect(stderr).toContain('cannot be read: ENOENT.');
    expect(stderr).not.toContain('\u001b');
    expect(stderr).not.toContain(key.slice(5, 20));
  });

  it('gives exit code 4, not 0', async () => {
    write({ 'a.txt': 'none' });
    const { stderr, exit } = await place.run([...SCAN, 'a.txt', 'gone.txt']);
    expect(stderr).toContain('0 keys in 1 text (0.0 MB); 1 could not be read.');
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
    expect(stderr).toMatch(/ keys in \d+ texts? /);
    const told = stderr.match(/ cannot be read: ENOENT\./g) ?? [];
    expect(stderr).toContain(told.length === 0 ? ' MB).' : `${told.length} could not be read.`);
  });
});

describe('standard input', () => {
  it('is -, and may be a pipe', async () => {
    const key = newKey();
    const { stdout, exit } = await place.run([...SCAN, '-'], `{"a":"\\n${key}"}\n`);
    expect({ stdout, exit }).toEqual({ stdout: `-:1: ${shown(key)}\n`, exit: 1 });
    const whole = await place.run([...SCAN, '-'], key);
    expect(whole.stdout).toBe(`-:1: ${shown(key)}\n`);
  });

  it('is not clean if it is empty', async () => {
    const { stdout, stderr, exit } = await place.run([...SCAN, '-'], '');
    expect({ stdout, exit }).toEqual({ stdout: '', exit: 4 });
    expect(stderr).toContain(
      '- cannot be read: standard input is empty. Check the command before the pipe.\n',
    );
    write({ 'a.txt': newKey() });
    expect((await place.run([...SCAN, '-', 'a.txt'], '')).exit).toBe(1);
  });

  it('may be a line of 300 MB, in constant memory', async () => {
    const peak = async (megabytes: number): Promise<number> => {
      const make = `head -c ${megabytes}M /dev/zero | tr '\\0' a`;
      const env = { NODE_OPTIONS: `--import ${place.file('peak.mjs')}` };
      write({ 'peak.mjs': PEAK });
      const line = `(${make}; echo ${newKey()}) | ${place.line([...SCAN, '-'])}`;
      const ran = await shell(line, place.file(''), env);
      expect(ran.exit).toBe(1);
      expect(ran.stdout).toMatch(/^-:1: acme_….* checksum right\n$/);
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
    expect(stdout).toContain(`${clear}0 keys in 1 text (0.`);
    expect(stdout).toMatch(/ MB\), \d+\.\d MB\/s/);
    expect(stdout).toContain(`${clear}-:1: ${shown(key)}\r\n`);
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

describe('options', () => {
  it.each([[['--diff']], [['--sarif']], [['--revoke']], [['--revoke', '-']]])(
    'that cannot be followed are errors before anything is read: %j',
    async (options) => {
      write({ 'a.txt': newKey() });
      const { exit, stdout } = await place.run([...SCAN, ...options]);
      expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    },
  );
});
