/**
 * `npm run lab -- NAME`: runs one of `experiments.ts`, with the arguments behind the name. Without
 * a name, lists them with their minutes.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { EXPERIMENTS, type Experiment, type Step } from './experiments.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const [, , name = '', ...args] = process.argv;

const experiment = Object.hasOwn(EXPERIMENTS, name) ? EXPERIMENTS[name] : undefined;
if (experiment === undefined) list();
else run(experiment);

function list(): void {
  if (name !== '') {
    console.error(`There is no ${name}.`);
    process.exitCode = 2;
  }
  console.log('npm run lab -- NAME, where NAME is one of these (minutes):');
  for (const [each, { minutes, about }] of Object.entries(EXPERIMENTS)) {
    console.log(`  ${each.padEnd(12)} ${String(minutes).padStart(3)}  ${about}`);
  }
}

function run({ folders = [], imports, steps }: Experiment): void {
  if (folders.length > 0) command('node', ['.ci/setup.mjs', ...folders]);
  if (imports === 'build') command('npm', ['run', '--silent', 'build']);
  const loader = imports === 'source' ? ['--import', './test/support/typescript.ts'] : [];
  for (const step of steps) follow(step, loader);
}

function follow(step: Step, loader: readonly string[]): void {
  if ('file' in step) {
    command('node', [...loader, step.file, ...(step.args ?? []), ...args]);
    return;
  }
  const vitest = 'node_modules/vitest/vitest.mjs';
  command('node', [vitest, 'run', '--project', 'servers', ...step.tests, ...args], step.env);
}

/** Runs a command, and ends with its status if it fails. */
function command(program: string, given: readonly string[], env: NodeJS.ProcessEnv = {}): void {
  const path = program === 'node' ? process.execPath : program;
  const { status } = spawnSync(path, given, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: 'inherit',
    // On Windows npm is a script.
    shell: program === 'npm' && process.platform === 'win32',
  });
  if (status !== 0) process.exit(status ?? 1);
}
