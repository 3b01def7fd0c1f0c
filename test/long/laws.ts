/**
 * `npm run lab -- laws`: runs the property tests with 10,000 runs of each property instead of some
 * hundred. `-- N` sets another number.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const runs = process.argv[2] ?? '10000';
if (!(Number(runs) > 0)) throw new TypeError(`pass a number of runs, not ${runs}`);

const files = globSync(
  'test/{*,{core,text,cache,jwt,mcp,reports,schemas,stores,testing}/**/*}.test.ts',
  { cwd: root },
);
const withLaws = files.filter(hasLaws);
if (withLaws.length === 0) throw new Error('found no file that tests properties');

function hasLaws(file: string): boolean {
  return readFileSync(join(root, file), 'utf8').includes("from 'fast-check'");
}

const args = ['run', '--project=unit', '--testTimeout=1200000', ...withLaws];
const env = { ...process.env, KEYSCOPE_TEST_RUNS: runs };
const { status } = spawnSync(join(root, 'node_modules/.bin/vitest'), args, {
  cwd: root,
  env,
  stdio: 'inherit',
});
const count = Number(runs).toLocaleString('en');
console.log(`${withLaws.length} files of properties, ${count} runs of each`);
process.exitCode = status ?? 1;
