/**
 * `npm run test:fuzz`: each target for ten minutes, guided by which code its inputs reach. `--
 * <target>` for some alone, `-- --seconds N` for another time, `-- --seed N` for the same mutations
 * again.
 *
 * An input that reaches new code, or reaches code more often than any before, is kept and changed
 * further; it begins with the vectors of `test/vectors`. A fault is an input for which a property
 * of its target does not hold, or with which a call takes more than 50 ms. It is made small and
 * printed; the exit code says that there was one.
 *
 * Of its own making, over V8's counters: the native part of Jazzer.js wants a newer C library than
 * Debian 12 has.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startCoverage } from './coverage.ts';

const options = {
  seconds: { type: 'string', default: '600' },
  seed: { type: 'string' },
  // In a process of its own, in which this program starts itself.
  here: { type: 'boolean', default: false },
} as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const seconds = Number(values.seconds);
const seed = Number(values.seed ?? Date.now() % 2 ** 31);

// Before the package is loaded, or what its modules do then is not counted.
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

/** Fuzzes each in a process of its own: nothing of one is left over in the next. */
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
