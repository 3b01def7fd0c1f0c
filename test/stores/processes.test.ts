/** Processes that are killed and that race. `npm run test:crash` is the long form. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Ledger, Servant } from '../support/crash.ts';
import { crashRound, migrationRound, rotationRound, servant } from '../support/crash.ts';
import { DRIVERS, folder } from '../support/sqlite.ts';

const { file, remove } = folder();
const timeout = 60_000;
// Each start would strip the types of the whole source again.
Object.assign(process.env, { NODE_COMPILE_CACHE: file('cache') });

let servants: readonly Servant[] = [];
beforeAll(() => {
  servants = [...DRIVERS, ...DRIVERS].map(servant);
});
afterAll(async () => {
  await Promise.all(servants.map((one) => one.stop()));
  remove();
});

// The kill comes after so many lines: at 1 the file is about to be made, at odd numbers an operation has begun.
const KILLS = [1, 24, 7, 41, 16] as const;

test.concurrent.each(DRIVERS)('what %s acknowledged is there after kill -9', { timeout }, async (driver) => {
  const ledger: Ledger = new Map();
  const path = file(`${driver.replace(':', '-')}.db`);
  for (const [seed, lines] of KILLS.entries()) await crashRound({ driver, file: path, seed, lines, ledger });
  expect(ledger.size).toBeGreaterThan(10);
});

test('four processes migrate a new file at once', { timeout }, async () => {
  for (let i = 0; i < 10; i++) await migrationRound(servants, file(`migrate-${i}.db`));
});

test('two processes rotate a key at once: one winner', { timeout }, async () => {
  for (let i = 0; i < 20; i++) await rotationRound(servants.slice(0, 2), file('rotate.db'));
});
