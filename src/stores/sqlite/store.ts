/**
 * Keys in a SQLite file, over a handle that the service opened: `node:sqlite`, `better-sqlite3` or
 * `bun:sqlite`. Imports no driver. SQLite 3.37 or newer. Answers synchronously, even if a write has
 * to wait until another process releases its lock: meanwhile nothing else is served. Only usage,
 * which nobody waits for, pauses between attempts.
 *
 * Give keyscope its own handle, even if the file also has the service's own tables. A call that
 * finds the handle in the middle of a transaction throws: a write could still be rolled back, and a
 * read would not see what other processes have revoked since. (A read with `node:sqlite` before
 * 22.16, which cannot tell, does not throw.)
 *
 * With a pepper, a row that somebody edited by hand never passes for another. Lists that are
 * invalid JSON come back as text, and the core refuses the record: `invalid_token` from `verify`,
 * `StoreError` from `list` and `get`. Times beyond 2^53 come back wrong or make the driver throw,
 * which is a `StoreError`.
 */
import type { Awaitable, KeyStore, SchemeSummary } from '../../core/store.js';
import { isText } from '../bindable.js';
import type { Reads, Writes } from '../halves.js';
import { toRecord, toValues } from '../rows.js';
import { MIGRATIONS } from '../schema/migrations.js';
import { knownVersion } from '../schema-version.js';
import { STATEMENTS } from './statements.js';

/** A prepared statement, as all three drivers have it. Parameters are positional. */
export interface SqliteStatement {
  run(...parameters: unknown[]): { readonly changes: number | bigint };
  all(...parameters: unknown[]): unknown[];
}

/**
 * An open database: `DatabaseSync` of `node:sqlite`, `Database` of `better-sqlite3` or of
 * `bun:sqlite`.
 */
export interface SqliteHandle {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
  /** On `node:sqlite`: whether it is in the middle of a transaction. */
  readonly isTransaction?: boolean;
  /** The same on the other two. */
  readonly inTransaction?: boolean;
}

// ── Schema ────────────────────────────────────────────────────────────────────────────────────────────

const VERSIONS = MIGRATIONS.sqlite;

/** The schema's version in this file, 0 if there is none. */
function versionOf(db: SqliteHandle): number {
  if (db.prepare(STATEMENTS.hasVersion).all().length === 0) return 0;
  return knownVersion(
    pick(db.prepare(STATEMENTS.version).all(), 'version'),
    VERSIONS.length,
    'the file',
  );
}

/**
 * Migrates the schema to this release, all of it or nothing; {@link sqliteStore} calls it. Any
 * number of processes may call it at once. If the schema is current, it only reads.
 *
 * Not checked: that nobody has changed the tables since.
 *
 * @param db As for {@link sqliteStore}.
 * @throws TypeError as {@link sqliteStore} does.
 * @throws Error if a newer release has migrated the file; whatever the driver throws.
 * @example
 * migrate(new DatabaseSync('keys.db')); // in a deploy step
 */
export function migrate(db: SqliteHandle): void {
  checkHandle(db, 'migrate');
  if (versionOf(db) === VERSIONS.length) return;
  transaction(db, () => {
    // Read again under the lock: another process may have been faster.
    for (const sql of VERSIONS.slice(versionOf(db)).flat()) db.exec(sql);
    db.prepare('INSERT OR REPLACE INTO keyscope_schema (id, version) VALUES (1, ?)').run(
      VERSIONS.length,
    );
  });
}

// ── The handle ────────────────────────────────────────────────────────────────────────────────────────

// bun's `get` returns null for no row and the others undefined; `all` is the same in all three.
const pick = (rows: readonly unknown[], column: string): unknown =>
  (rows[0] as Record<string, unknown> | undefined)?.[column];
const setting = (db: SqliteHandle, name: 'busy_timeout' | 'synchronous', column: string): number =>
  Number(pick(db.prepare(`PRAGMA ${name}`).all(), column));

function waitForLocks(db: SqliteHandle): void {
  // better-sqlite3 sets 5 s itself, the others 0: with a second process, reads and writes would
  // fail at once.
  if (setting(db, 'busy_timeout', 'timeout') === 0) db.exec('PRAGMA busy_timeout = 5000');
}

function configure(db: SqliteHandle): void {
  enterWal(db);
  // In WAL mode, NORMAL syncs only at checkpoints: commits since the last one survive the end of
  // the process, but a power cut undoes them, and with them an acknowledged revocation. FULL syncs
  // every commit. It is set even if it reads FULL already: builds such as better-sqlite3's say so
  // and then fall back to NORMAL with the first transaction in WAL, unless somebody has set it.
  // EXTRA (3) is stricter still and stays.
  if (setting(db, 'synchronous', 'synchronous') !== 3) db.exec('PRAGMA synchronous = FULL');
}

/** The mode is stored in the file, so this writes once in a file's life. */
function enterWal(db: SqliteHandle): void {
  for (let attempt = 1; ; attempt++) {
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      // This pragma does not wait for locks. Taking the write lock does, so take it, release it and
      // try again.
      if (attempt === 20) throw error;
      db.exec('BEGIN IMMEDIATE; COMMIT');
    }
  }
}

/** Throws in the middle of somebody else's transaction. */
function settled(db: SqliteHandle): void {
  if (db.isTransaction || db.inTransaction)
    throw new Error(
      'keyscope: the handle is in the middle of a transaction; open one for keyscope alone',
    );
}

/**
 * Runs `work` in its own transaction. `BEGIN` throws if the handle is in one already, so nothing is
 * acknowledged that somebody else's rollback could undo. IMMEDIATE takes the write lock at once: a
 * transaction that read first could not wait for it.
 */
function transaction<T>(db: SqliteHandle, work: () => T): T {
  settled(db);
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    try {
      db.exec('ROLLBACK');
    } catch {
      // On a full disk, SQLite has already rolled back; the first error says what happened.
    }
    throw error;
  }
}

function checkHandle(db: SqliteHandle, what: string): void {
  const instead = `${what}: pass an open handle of node:sqlite, better-sqlite3 or bun:sqlite`;
  const usable =
    typeof db === 'object' && db !== null && ['exec', 'prepare'].every((name) => name in db);
  if (!usable) throw new TypeError(instead);
  try {
    // Takes no lock, and succeeds if the handle is open and not in a transaction.
    db.exec('BEGIN');
    db.exec('COMMIT');
  } catch (cause) {
    const said =
      'the handle is closed, or in the middle of a transaction; open one for keyscope alone';
    throw new TypeError(`${what}: ${said}`, { cause });
  }
  // Refuses handles of `sqlite3` and `sql.js`, which answer with callbacks or cursors.
  if (!Array.isArray(db.prepare('PRAGMA busy_timeout')?.all?.())) throw new TypeError(instead);
  // Before anything that reads the file: even preparing a SELECT reads its schema under a lock.
  waitForLocks(db);
  const plain =
    pick(db.prepare('SELECT 9007199254740991 AS whole').all(), 'whole') === Number.MAX_SAFE_INTEGER;
  // Otherwise every record would look tampered with.
  if (!plain)
    throw new TypeError(`${what}: the handle must return rows as objects and integers as numbers`);
  // A text loses a byte order mark at its beginning on the way into UTF-16 or back, and the seal
  // would no longer match.
  const encoding = pick(db.prepare('PRAGMA encoding').all(), 'encoding');
  if (encoding !== 'UTF-8')
    throw new TypeError(`${what}: the file is in ${encoding}; give keyscope one in UTF-8`);
}

/** Runs `work`, which fails at once if another process has the lock. */
function unwaiting<T>(db: SqliteHandle, work: () => T): T {
  const patience = setting(db, 'busy_timeout', 'timeout');
  db.exec('PRAGMA busy_timeout = 0');
  try {
    return work();
  } finally {
    db.exec(`PRAGMA busy_timeout = ${patience}`);
  }
}

/** Less than the time a keyring waits for a store, which is 2 s by default. */
const [TRIES, PAUSE_MS] = [10, 100];

/**
 * Runs `write` at once and, while another process has the lock, again every 100 ms for a second.
 */
function patiently(write: () => void, tries = TRIES): Awaitable<void> {
  try {
    write();
  } catch (error) {
    // SQLite's own words, through every driver.
    const locked = String((error as Error | undefined)?.message).includes('database is locked');
    if (!locked || tries === 1) throw error;
    return new Promise<void>((resolve) => setTimeout(resolve, PAUSE_MS)).then(() =>
      patiently(write, tries - 1),
    );
  }
}

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

function prepareAll(db: SqliteHandle) {
  return {
    insert: db.prepare(STATEMENTS.insert),
    findOneDigest: db.prepare(STATEMENTS.findOneDigest),
    findDigests: db.prepare(STATEMENTS.findDigests),
    findById: db.prepare(STATEMENTS.findById),
    list: db.prepare(STATEMENTS.list),
    revoke: db.prepare(STATEMENTS.revoke),
    retire: db.prepare(STATEMENTS.retire),
    touch: db.prepare(STATEMENTS.touch),
    summarize: db.prepare(STATEMENTS.summarize),
  };
}

type Statements = ReturnType<typeof prepareAll>;

function reads(db: SqliteHandle, statements: Statements): Reads {
  return {
    findByDigest(digests) {
      settled(db);
      const [only, ...more] = digests.filter(isText);
      if (only === undefined) return [];
      const { findOneDigest, findDigests } = statements;
      const rows =
        more.length === 0
          ? findOneDigest.all(only)
          : findDigests.all(JSON.stringify([only, ...more]));
      return rows.map(toRecord);
    },

    findById(keyId) {
      settled(db);
      const rows = isText(keyId) ? statements.findById.all(keyId) : [];
      return rows.length > 0 ? toRecord(rows[0]) : null;
    },

    list({ entityUuid, after, limit }) {
      settled(db);
      if (!isText(entityUuid)) return [];
      // Everything comes after infinity.
      const { createdAt, keyId } = after ?? { createdAt: Number.POSITIVE_INFINITY, keyId: '' };
      return statements.list.all(entityUuid, createdAt, keyId, limit).map(toRecord);
    },

    summarize(now?: number) {
      settled(db);
      const time = now ?? Date.now();
      return statements.summarize
        .all(time, time)
        .map((row): SchemeSummary => ({ ...(row as SchemeSummary) }));
    },
  };
}

function writes(db: SqliteHandle, statements: Statements): Writes {
  return {
    insert(record) {
      transaction(db, () => statements.insert.run(...toValues(record)));
    },

    markEnded(keyId, ending) {
      if (!isText(keyId)) return false;
      const [statement, time] =
        'revokedAt' in ending
          ? [statements.revoke, ending.revokedAt]
          : [statements.retire, ending.retireAt];
      return transaction(db, () => Number(statement.run(time, keyId).changes) === 1);
    },

    touch(entries) {
      const write = () => {
        for (const { keyId, lastUsedAt, scopesUsed } of entries) {
          if (isText(keyId))
            statements.touch.run(lastUsedAt, lastUsedAt, JSON.stringify(scopesUsed), keyId);
        }
      };
      // One transaction for the batch: one disk sync, and no batch half counted.
      return patiently(() => unwaiting(db, () => transaction(db, write)));
    },
  };
}

/**
 * Makes a store in a SQLite file. Sets WAL, `synchronous = FULL` and, if the handle has none, a
 * busy timeout of 5 s; then migrates. What it has acknowledged survives the end of the process and
 * a power cut.
 *
 * Not checked: the file's permissions; that the disk syncs when told to.
 *
 * @param db An open handle, used by nobody else and not in a transaction. keyscope never closes it.
 * @throws TypeError if `db` is not such a handle, is closed or in a transaction, or returns rows as
 *   arrays or integers as `bigint`; if the file is not in UTF-8.
 * @throws Error if a newer release has migrated the file; whatever the driver throws.
 * @example
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: sqliteStore(new DatabaseSync('keys.db')), peppers });
 */
export function sqliteStore(db: SqliteHandle): KeyStore {
  checkHandle(db, 'sqliteStore');
  configure(db);
  migrate(db);
  const statements = prepareAll(db);
  return { ...reads(db, statements), ...writes(db, statements) };
}
