/** The SQLite handles. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type SqliteHandle, sqliteStore } from 'keyscope/stores/sqlite';
import type { Place, Range, Trial } from './range.ts';

interface Handle extends SqliteHandle {
  close(): unknown;
}

interface Driver {
  readonly default: new (path: string) => Handle;
}

/** A new file, or a database in memory. */
function trialOf(options: string, nameOf: (folder: string) => string): Trial {
  async function open(loaded: unknown): Promise<Place> {
    const Database = (loaded as Driver).default;
    const folder = mkdtempSync(join(tmpdir(), 'keyscope-drivers-'));
    const db = new Database(nameOf(folder));
    const store = sqliteStore(db);
    return {
      openStore: () => store,
      async close() {
        db.close();
        rmSync(folder, { recursive: true });
      },
    };
  }
  return { options, open };
}

const TRIALS: readonly Trial[] = [
  trialOf('a file', (folder) => join(folder, `${randomUUID()}.db`)),
  trialOf('in memory', () => ':memory:'),
];

const server = { name: 'its own', url: () => '' };

export const SQLITE: readonly Range[] = [
  {
    client: '`better-sqlite3`',
    server,
    lowest: 'better-sqlite3-lowest',
    newest: 'better-sqlite3',
    trials: TRIALS,
  },
  { client: '`libsql`', server, lowest: 'libsql-lowest', newest: 'libsql', trials: TRIALS },
];
