/**
 * `npm run lab -- scan`: runs the command over a file of 1 GiB with a key every 4 MiB, compared
 * with `grep -P` over the same file, and over a pipe with a git history of 2,000 commits. Prints
 * the speed of each, the memory of the command, and the keys that it found. The exit code says
 * whether it found all of them and nothing else, in memory that did not grow with the file. `--
 * --quick` takes 64 MiB. Not part of `npm test`, because it writes a file of that size.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, closeSync, openSync, writeSync } from 'node:fs';
import { keyPattern } from 'keyscope';
import { type Folder, folder } from '../support/folder.ts';
import { chanceFrom, innocentText, keyFrom } from '../support/planted-keys.ts';

const MEBIBYTE = 2 ** 20;
const BLOCK = 4 * MEBIBYTE;
const BIN = new URL('../../dist/keyscope.js', import.meta.url).pathname;
// One piece of the input; the rest is the memory of Node itself.
const MAX_GROWTH_KIB = 64 * 1024;
const COMMITS = 2_000;

const mebibytes = process.argv.includes('--quick') ? 64 : 1_024;
const chance = chanceFrom(42);
const text = innocentText(BLOCK, chance).slice(0, BLOCK - 64);

interface Measured {
  readonly seconds: number;
  readonly hints: readonly string[];
  readonly peakKib: number;
}

/** Writes a file with a key in each block, and returns their hints. */
function plant(path: string, bytes: number): readonly string[] {
  const file = openSync(path, 'w');
  const hints: string[] = [];
  for (let written = 0; written < bytes; ) {
    const key = keyFrom(chance);
    hints.push(key.slice(-4));
    written += writeSync(file, `${text}${key}\n`);
  }
  closeSync(file);
  return hints;
}

function scan(own: Folder, args: readonly string[], from = ''): Measured {
  const options = { cwd: own.file(''), encoding: 'utf8', maxBuffer: 2 ** 30 } as const;
  const peak = "process.on('exit',()=>console.error('peak '+process.resourceUsage().maxRSS))";
  const argv = ['--import', `data:text/javascript,${peak}`, BIN, 'scan', '--prefix', 'acme'];
  const start = performance.now();
  const quoted = [process.execPath, ...argv, ...args].map((word) => `"${word}"`).join(' ');
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${from}${quoted}`], options);
  const seconds = (performance.now() - start) / 1_000;
  if (status !== 1) throw new Error(`the scan ended with ${status}: ${stderr}`);
  const hints = [...stdout.matchAll(/acme_…(\w{4}) checksum \w+$/gm)].map(([, hint = '']) => hint);
  return { seconds, hints, peakKib: Number(/peak (\d+)/.exec(stderr)?.[1]) };
}

function grep(own: Folder, path: string): number {
  const env = { ...process.env, LC_ALL: 'C' };
  const start = performance.now();
  spawnSync('grep', ['-caP', keyPattern('acme'), path], { cwd: own.file(''), env });
  return (performance.now() - start) / 1_000;
}

let isSound = true;
function check(what: string, holds: boolean): void {
  console.log(`${holds ? 'ok    ' : 'FAILED'} ${what}`);
  isSound &&= holds;
}

function measureFile(own: Folder): void {
  plant(own.file('small'), BLOCK);
  const small = scan(own, ['small']);
  const planted = plant(own.file('large'), mebibytes * MEBIBYTE);
  const large = scan(own, ['large']);
  const grepSeconds = grep(own, 'large');
  const rate = (seconds: number) => `${(mebibytes / seconds).toFixed(0)} MiB/s`;
  console.log(`${mebibytes} MiB: keyscope ${rate(large.seconds)}, grep -P ${rate(grepSeconds)}`);
  console.log(`memory: ${small.peakKib} KiB for 4 MiB, ${large.peakKib} KiB for all`);
  check(
    `${planted.length} keys, ${large.hints.length} found, no other`,
    large.hints.join() === planted.join(),
  );
  check('constant memory', large.peakKib - small.peakKib < MAX_GROWTH_KIB);
}

function measureHistory(): void {
  const own = folder();
  const git = (...args: string[]) => execFileSync('git', args, { cwd: own.file('') });
  git('init', '--quiet');
  const hints: string[] = [];
  const stream: string[] = [];
  for (let index = 0; index < COMMITS; index += 1) {
    const isPlanted = index % 100 === 0;
    const key = keyFrom(chance);
    if (isPlanted) hints.push(key.slice(-4));
    const data = `${innocentText(4_000, chance)}${isPlanted ? key : ''}\n`;
    const about = `commit refs/heads/main\ncommitter a <a@b> ${1_700_000_000 + index} +0000\n`;
    stream.push(`${about}data 3\none\nM 100644 inline f${index % 50}\n`);
    stream.push(`data ${Buffer.byteLength(data)}\n${data}\n`);
  }
  appendFileSync(own.file('.git/stream'), stream.join(''));
  spawnSync('bash', ['-c', 'git fast-import --quiet < .git/stream'], { cwd: own.file('') });
  const { seconds, hints: shown } = scan(own, ['-'], 'git log -p -m -a --all | ');
  // A removed line shows a key again.
  const found = [...new Set(shown)];
  console.log(`a history of ${COMMITS} commits: ${seconds.toFixed(1)} s, git among them`);
  check(
    `${hints.length} keys in it, ${found.length} found, no other`,
    found.sort().join() === [...hints].sort().join(),
  );
  own.remove();
}

const own = folder();
try {
  measureFile(own);
  measureHistory();
} finally {
  own.remove();
}
process.exitCode = isSound ? 0 : 1;
