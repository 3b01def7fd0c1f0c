/**
 * Keys in a SQLite file, over a handle that the service opened: `node:sqlite`, `better-sqlite3` or
 * `bun:sqlite`. Imports no driver. Needs SQLite 3.37 or newer. All methods are synchronous, and
 * block the process while another one has the write lock. Only usage, which no caller waits for,
 * pauses between attempts.
 *
 * Give keyscope its own handle, even if the file also has the service's own tables. A call that
 * finds the handle in the middle of a transaction throws: a write could still be rolled back, and a
 * read would not see what other processes have revoked since. (A read with `node:sqlite` before
 * 22.16, which cannot tell, does not throw.)
 *
 * With a pepper, a row that somebody edited by hand does not authenticate. Lists that are invalid
 * JSON are returned as text, and the core refuses the record: `invalid_token` from `verify`,
 * `StoreError` from `list` and `get`. Times beyond 2^53 are read incorrectly or make the driver
 * throw, which is a `StoreError`.
 */
import type { KeyStore, ListPosition, SchemeSummary } from '../../core/store.js';
import { isText } from '../bindable.js';
import type { Reads, Writes } from '../reads-and-writes.js';
import { toRecord, toValues } from '../rows.js';
import type { SqliteHandle, SqliteStatement } from './handle.js';
import { makeDurable, prepareHandle } from './handle.js';
import { migrateIfNeeded } from './migrate.js';
import { STATEMENTS } from './statements.js';
import {
  assertNoTransaction,
  transaction,
  withoutWaiting,
  writeWhenUnlocked,
} from './transactions.js';

/** The prepared statements of the store. */
interface Prepared {
  readonly insert: SqliteStatement;
  readonly findOneDigest: SqliteStatement;
  readonly findDigests: SqliteStatement;
  readonly findById: SqliteStatement;
  readonly list: SqliteStatement;
  readonly revoke: SqliteStatement;
  readonly retire: SqliteStatement;
  readonly touch: SqliteStatement;
  readonly summarize: SqliteStatement;
}

function prepareAll(db: SqliteHandle): Prepared {
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

/** A position before every record. */
const BEGINNING: ListPosition = { createdAt: Number.POSITIVE_INFINITY, keyId: '' };

function createReads(db: SqliteHandle, statements: Prepared): Reads {
  return {
    findByDigest(digests) {
      assertNoTransaction(db);
      const asked = digests.filter(isText);
      if (asked.length === 0) return [];
      const rows =
        asked.length === 1
          ? statements.findOneDigest.all(asked[0])
          : statements.findDigests.all(JSON.stringify(asked));
      return rows.map(toRecord);
    },

    findById(keyId) {
      assertNoTransaction(db);
      if (!isText(keyId)) return null;
      const rows = statements.findById.all(keyId);
      return rows.length > 0 ? toRecord(rows[0]) : null;
    },

    list({ entityUuid, after, limit }) {
      assertNoTransaction(db);
      if (!isText(entityUuid)) return [];
      const { createdAt, keyId } = after ?? BEGINNING;
      const rows = statements.list.all(entityUuid, createdAt, keyId, limit);
      return rows.map(toRecord);
    },

    summarize(now?: number) {
      assertNoTransaction(db);
      const time = now ?? Date.now();
      const rows = statements.summarize.all(time, time) as SchemeSummary[];
      // Copies: the rows of some drivers have no prototype.
      return rows.map((row) => ({ ...row }));
    },
  };
}

function createWrites(db: SqliteHandle, statements: Prepared): Writes {
  return {
    insert(record) {
      transaction(db, () => statements.insert.run(...toValues(record)));
    },

    markEnded(keyId, ending) {
      if (!isText(keyId)) return false;
      const { changes } = transaction(db, () =>
        'revokedAt' in ending
          ? statements.revoke.run(ending.revokedAt, keyId)
          : statements.retire.run(ending.retireAt, keyId),
      );
      return Number(changes) === 1;
    },

    touch(entries) {
      function touchEach(): void {
        for (const { keyId, lastUsedAt, scopesUsed } of entries) {
          if (!isText(keyId)) continue;
          statements.touch.run(lastUsedAt, lastUsedAt, JSON.stringify(scopesUsed), keyId);
        }
      }
      // One transaction for the batch: one disk sync, and never half a batch.
      const write = () => withoutWaiting(db, () => transaction(db, touchEach));
      return writeWhenUnlocked(write);
    },
  };
}

/**
 * Makes a store in a SQLite file. Sets WAL, `synchronous = FULL` and, if the handle has none, a
 * busy timeout of 5 s; then migrates. Acknowledged writes survive the end of the process and a
 * power cut.
 *
 * Not checked: the file's permissions; that the disk syncs when told to.
 *
 * @param db An open handle, used by nobody else and not in a transaction. keyscope never closes it.
 * @returns The store, for `createKeyring`.
 * @throws TypeError if `db` is not such a handle, is closed or in a transaction, or returns rows as
 *   arrays or integers as `bigint`; if the file is not in UTF-8.
 * @throws Error if a newer release has migrated the file; whatever the driver throws.
 * @example
 * const store = sqliteStore(new DatabaseSync('keys.db'));
 * const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers });
 */
export function sqliteStore(db: SqliteHandle): KeyStore {
  prepareHandle(db, 'sqliteStore');
  makeDurable(db);
  migrateIfNeeded(db);
  const statements = prepareAll(db);
  return { ...createReads(db, statements), ...createWrites(db, statements) };
}
