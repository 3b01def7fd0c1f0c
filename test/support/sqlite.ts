/** SQLite handles of every driver for Node. */
import { createRequire } from 'node:module';
import type { SqliteHandle } from 'keyscope/stores/sqlite';

/** A handle that can be closed, in any driver. */
export type Handle = SqliteHandle & { close(): void };
export type Driver = 'node:sqlite' | 'better-sqlite3';
export const DRIVERS: readonly Driver[] = ['node:sqlite', 'better-sqlite3'];

const load = createRequire(import.meta.url);
type Constructor = new (path: string) => Handle;

function constructorOf(driver: Driver): Constructor {
  const loaded: unknown = load(driver);
  if (driver === 'better-sqlite3') return loaded as Constructor;
  return (loaded as { readonly DatabaseSync: Constructor }).DatabaseSync;
}

/** Opens a file with a driver's defaults. */
export function open(driver: Driver, path: string): Handle {
  const Database = constructorOf(driver);
  return new Database(path);
}

export { OWN } from './keyring.ts';
