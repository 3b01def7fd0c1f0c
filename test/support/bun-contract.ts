/**
 * Runs the store contract on `bun:sqlite`, in memory and in a file of the given folder. Usage: `bun
 * test/support/bun-contract.ts <folder>`.
 */
import { join } from 'node:path';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { storeContract } from '../../src/testing/index.ts';
import type { Handle } from './sqlite.ts';

// In a variable, because only Bun has this module.
const name: string = 'bun:sqlite';
const { Database } = (await import(name)) as { readonly Database: new (path: string) => Handle };
const folder = process.argv[2] ?? '.';

interface Test {
  readonly title: string;
  run(): Promise<void>;
}

const tests: Test[] = [];
const PLACES = { memory: () => ':memory:', file: () => join(folder, `${crypto.randomUUID()}.db`) };
for (const [place, pathOf] of Object.entries(PLACES)) {
  storeContract(
    (title, run) => tests.push({ title: `${place}: ${title}`, run }),
    () => {
      const db = new Database(pathOf());
      return { ...sqliteStore(db), close: () => db.close() };
    },
  );
}

const failed: string[] = [];
for (const { title, run } of tests) {
  try {
    await run();
  } catch (error) {
    failed.push(`${title}: ${String(error)}`);
  }
}
console.log(JSON.stringify({ tests: tests.length, failed }));
