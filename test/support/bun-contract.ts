/**
 * The store contract on `bun:sqlite`, in memory and in the file given: `bun
 * test/support/bun-contract.ts <folder>`.
 */
import { join } from 'node:path';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import type { Handle } from './sqlite.ts';

// By a variable, for only Bun has it.
const name: string = 'bun:sqlite';
const { Database } = (await import(name)) as { readonly Database: new (path: string) => Handle };
const folder = process.argv[2] ?? '.';

const failed: string[] = [];
const tests: (readonly [string, () => Promise<void>])[] = [];
for (const where of ['memory', 'file']) {
  storeContract(
    (title, run) => tests.push([`${where}: ${title}`, run]),
    () => {
      const db = new Database(
        where === 'memory' ? ':memory:' : join(folder, `${tests.length}-${Math.random()}.db`),
      );
      return { ...sqliteStore(db), close: () => db.close() };
    },
  );
}
for (const [title, run] of tests)
  await run().catch((error: unknown) => failed.push(`${title}: ${error}`));
console.log(JSON.stringify({ tests: tests.length, failed }));
