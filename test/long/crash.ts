/**
 * The long form of the crash and race tests: `npm run test:crash`, or with numbers of rounds:
 * `npm run test:crash -- 100 1000 200` for kills, rotation races and migration races. Prints what it did.
 */
import type { Ledger } from '../support/crash.ts';
import { crashRound, migrationRound, rotationRound, servant } from '../support/crash.ts';
import { DRIVERS, folder } from '../support/sqlite.ts';

const [kills = 100, rotations = 1000, migrations = 200] = process.argv.slice(2).map(Number);
const { file, remove } = folder();
Object.assign(process.env, { NODE_COMPILE_CACHE: file('cache') });
const seed = Date.now() % 1_000_000;
console.log(`seed ${seed}`);

async function timed(what: string, rounds: number, round: (i: number) => Promise<void>): Promise<void> {
  const start = performance.now();
  for (let i = 0; i < rounds; i++) await round(i);
  console.log(`${what}: ${rounds} rounds in ${((performance.now() - start) / 1000).toFixed(1)} s`);
}

try {
  for (const driver of DRIVERS) {
    let ledger: Ledger = new Map();
    await timed(`kill -9, ${driver}`, kills, async (i) => {
      // A new file every ten rounds: the kill also falls into its creation.
      if (i % 10 === 0) ledger = new Map();
      const lines = ((seed + i * 7919) % 60) + 1;
      await crashRound({
        driver,
        file: file(`${driver.replace(':', '-')}-${Math.floor(i / 10)}.db`),
        seed: seed + i,
        lines,
        ledger,
      });
    });
  }
  const servants = [...DRIVERS, ...DRIVERS].map(servant);
  await timed('four processes migrate', migrations, (i) => migrationRound(servants, file(`migrate-${i}.db`)));
  // A hundred keys a file: the check reads them all.
  const pair = servants.slice(0, 2);
  await timed('two processes rotate', rotations, (i) => rotationRound(pair, file(`rotate-${Math.floor(i / 100)}.db`)));
  await Promise.all(servants.map((one) => one.stop()));
} finally {
  remove();
}
