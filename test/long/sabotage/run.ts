/**
 * `npm run lab -- sabotage`: switches off one safeguard at a time, in a copy of the repository, and
 * runs the tests. A test must fail each time: a safeguard that nobody misses is not tested. Prints
 * the test that failed. `-- <words>` takes the safeguards whose name contains the words. Those of
 * the stores need their servers.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Safeguard } from './safeguard.ts';
import { SAFEGUARDS } from './safeguards.ts';

const root = resolve(import.meta.dirname, '../../..');
const only = process.argv[2] ?? '';

/** All projects that need no server. */
const ALL = '--project=!servers';
/** These tests run first, because they are the fastest. */
const NEAREST: readonly string[] = ['test/core', 'test/management', 'test/http'];

/**
 * The files that the tests read. Not the packages of the benchmark, because a test that cannot load
 * would notice everything.
 */
const PARTS = [
  'src',
  'test',
  'examples',
  'bench',
  'docs',
  'package.json',
  'tsconfig.json',
  'tsup.config.ts',
  'vitest.config.ts',
  'README.md',
  'docs',
  'dist', // If it was built.
];

/** These tests read the repository itself, and would notice every change of it. */
const LOOK_AT_SOURCE = ['test/architecture', 'test/promises.test.ts', 'test/supply-chain.test.ts'];

function copyRepository(): string {
  const copy = mkdtempSync(join(tmpdir(), 'keyscope-sabotage-'));
  const filter = (path: string): boolean => !path.endsWith('node_modules');
  for (const part of PARTS.filter((each) => existsSync(join(root, each)))) {
    cpSync(join(root, part), join(copy, part), { recursive: true, filter });
  }
  for (const path of LOOK_AT_SOURCE) rmSync(join(copy, path), { recursive: true });
  // Includes frameworks and ORMs if they are installed; their tests copy the built package.
  for (const folder of ['.', 'test/frameworks', 'test/frameworks/nest-11', 'test/orms']) {
    const modules = join(folder, 'node_modules');
    if (existsSync(join(root, modules))) symlinkSync(join(root, modules), join(copy, modules));
  }
  return copy;
}

/**
 * Runs tests in the copy, and returns the first that fails. The compiler may complain about an
 * edit, but the tests do not compile.
 */
function failing(copy: string, ...tests: readonly string[]): string | undefined {
  const args = ['run', '--bail=1', '--reporter=dot', ...tests];
  const env = { ...process.env, NO_COLOR: '1' };
  const vitest = join(root, 'node_modules/.bin/vitest');
  const { status, stdout, stderr } = spawnSync(vitest, args, { cwd: copy, env, encoding: 'utf8' });
  if (status === 0) return undefined;
  const found = `${stderr}\n${stdout}`.match(/FAIL\s+(.+)/)?.[1];
  if (found === undefined) throw new Error(`the tests did not run: ${stderr}`);
  return found;
}

/** Switches off one safeguard while the tests run, and returns the test that noticed it, if any. */
function sabotage(copy: string, { file, text, instead, tests }: Safeguard): string | undefined {
  const path = join(copy, file);
  const source = readFileSync(path, 'utf8');
  writeFileSync(path, source.split(text).join(instead));
  try {
    if (tests !== undefined) return failing(copy, tests);
    return failing(copy, ...NEAREST) ?? failing(copy, ALL);
  } finally {
    writeFileSync(path, source);
  }
}

const unnoticed: string[] = [];
const wanted = SAFEGUARDS.filter(({ name }) => name.includes(only));
const copy = copyRepository();
try {
  if (only === '') {
    const noticed = failing(copy, ALL);
    if (noticed !== undefined) throw new Error(`a test fails with nothing off: ${noticed}`);
  }
  for (const safeguard of wanted) {
    const noticed = sabotage(copy, safeguard);
    if (noticed === undefined) unnoticed.push(safeguard.name);
    const verdict = noticed === undefined ? 'UNNOTICED' : 'noticed  ';
    console.log(`${verdict}  ${safeguard.name.padEnd(44)} ${noticed ?? ''}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
console.log(`\n${wanted.length - unnoticed.length} of ${wanted.length} noticed`);
if (unnoticed.length > 0) process.exit(1);
