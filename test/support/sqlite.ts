/** What the tests of the SQLite store share with the processes that they start. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createKeyring, defineScopes } from 'keyscope';
import type { SqliteHandle } from 'keyscope/stores/sqlite';
import { sqliteStore } from 'keyscope/stores/sqlite';

/** A handle that can be closed, as every driver's can. */
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

/** Opens a file with a driver's own defaults. */
export function open(driver: Driver, path: string): Handle {
  const Database = constructorOf(driver);
  return new Database(path);
}

export const OWN = '0a0a0a0a-0000-4000-8000-00000000000a';
export const OTHER = '0b0b0b0b-0000-4000-8000-00000000000b';
export const AUTHORITY = { entityUuid: OWN } as const;
export const PEPPERS = [{ id: 'p1', secret: 'first-pepper-first-pepper-first-pepper!' }];

export const catalog = defineScopes(
  {
    threats: {
      read: 'List and read threats.',
      write: 'Update threats.',
      delete: 'Delete threats.',
    },
  },
  { reserved: ['*:delete'] },
);

export const INPUT = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' } as const;

/** A keyring over a handle. */
export const keyringOn = (db: SqliteHandle) =>
  createKeyring({ prefix: 'acme', catalog, store: sqliteStore(db), peppers: PEPPERS });

/** A folder of its own for a test's files. */
export function folder(): { readonly file: (name: string) => string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'keyscope-'));
  return {
    file: (name) => join(path, name),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}
