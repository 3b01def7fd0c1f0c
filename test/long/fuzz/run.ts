/**
 * `npm run lab -- fuzz`: fuzzes each target for ten minutes, guided by the code that its inputs
 * reach. `-- <target>` fuzzes only some, `-- --seconds N` sets the time, `-- --seed N` repeats
 * mutations.
 *
 * It starts with the vectors of `test/vectors`. It keeps an input that reaches new code, or reaches
 * code more often than any before, and mutates it further. A fault is an input for which a property
 * of its target fails, or with which a call takes more than 50 ms. It is shrunk and printed, and
 * the exit code is not 0.
 *
 * The fuzzer is our own, over V8's counters: the native part of Jazzer.js needs a newer C library
 * than Debian 12 has.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startCoverage } from './coverage.ts';

const options = {
  seconds: { type: 'string', default: '600' },
  seed: { type: 'string' },
  // Runs each target in a separate process of this program.
  here: { type: 'boolean', default: false },
} as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const seconds = Number(values.seconds);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);

// Before the package is loaded: otherwise the counters miss what its modules do then.
const coverage = startCoverage(new URL('../../../src/', import.meta.url).href);
const { fuzz } = await import('./fuzz.ts');
const { TARGETS } = await import('./targets.ts');

const isKnown = positionals.every((name) => Object.hasOwn(TARGETS, name));
if (!isKnown || !(seconds > 0)) {
  const names = Object.keys(TARGETS).join(' ');
  throw new TypeError(`pass --seconds N, --seed N and some of ${names}`);
}
const names = positionals.length > 0 ? positionals : Object.keys(TARGETS);
const isSound = values.here ? await areSound(names) : areSoundApart(names);
process.exitCode = isSound ? 0 : 1;

async function areSound(names: readonly string[]): Promise<boolean> {
  let all = true;
  for (const name of names) {
    const target = TARGETS[name];
    if (target === undefined) continue;
    const found = await fuzz({ name, target, seconds, seed, coverage });
    all &&= found === undefined;
  }
  return all;
}

/** Fuzzes each target in a separate process, so that none affects the next. */
function areSoundApart(names: readonly string[]): boolean {
  const program = fileURLToPath(import.meta.url);
  const timeout = 1000 * (seconds + 300);
  let all = true;
  for (const name of names) {
    const args = [
      ...process.execArgv,
      program,
      '--here',
      name,
      `--seconds=${seconds}`,
      `--seed=${seed}`,
    ];
    const { status } = spawnSync(process.execPath, args, { stdio: 'inherit', timeout });
    all &&= status === 0;
  }
  return all;
}
