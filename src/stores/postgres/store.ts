/**
 * Keys in PostgreSQL 12 or newer, over a client that the service opened: `pg` 8 (a `Pool` or, since
 * 8.21, a dedicated `Client`), `postgres` 3 (postgres.js) or PGlite. Imports no driver.
 *
 * Every parameter is a single text, with lists and records as JSON, and every row comes back as a
 * single JSON text. All drivers read text alike, however they are configured to read integers,
 * arrays, JSON or column names.
 *
 * What is guaranteed, and what you have to ensure:
 * - **Primary.** Reads and writes go to one client, which has to be one of the primary. A replica
 *   is refused, at the start and by each look-up that finds a key, because a client with several
 *   hosts may have switched to one. A replica would accept a key that was revoked a moment ago.
 * - **Durability.** `insert` and `markEnded` override `synchronous_commit = off` for themselves:
 *   otherwise the server acknowledges before it writes, and a crash undoes the revocation. Usage is
 *   written as the server is configured. Nothing prevents the loss of writes through `fsync = off`,
 *   or when a replica that lags is promoted.
 * - **Transactions.** Each statement commits by itself; no method needs two to be atomic. In the
 *   middle of a transaction it would not, so give keyscope the pool. Let nobody return a connection
 *   to the pool with an open transaction: that cannot be detected, and a revocation on it is rolled
 *   back with that transaction. At an isolation level stricter than READ COMMITTED,
 *   the server rolls back all but one of several concurrent writes to a key: they are retried.
 * - **Prepared statements.** Through PgBouncer in transaction mode they need PgBouncer 1.21 with
 *   `max_prepared_statements`; otherwise pass `prepare: false`. Nothing else depends on the
 *   session.
 * - **Schema.** Names are unqualified: the tables are found through the connection's `search_path`,
 *   and created in its first schema. Set it on the role or on the connection.
 * - **Rights.** Once migrated: `USAGE` on that schema, `SELECT` on `keyscope_schema`, and `SELECT,
 *   INSERT, UPDATE (revoked_at, retire_at, last_used_at, scopes_used)` on `keyscope_keys`.
 * - **Lost connections.** A `Pool` and postgres.js reconnect, postgres.js after up to 20 s unless
 *   its `backoff` says otherwise; a `Client` does not. Both `pg` classes emit `error` when a
 *   connection is lost, which ends a process without a listener. The keyring waits for an answer
 *   for `storeTimeoutMs`; an abandoned query goes on until the driver's own time-outs or
 *   `statement_timeout` end it.
 * - **postgres.js 3.4.** Give its URL the parameter `max_pipeline=1` (its types lack the option):
 *   by default it sends queries ahead of answers, and if the server then ends its connections, as
 *   in a restart or a failover, it may leave these and all later queries unanswered until the
 *   process is restarted. Pass `fetch_types: false`, too: nobody awaits the driver's own query on
 *   each new connection, so its failure is an unhandled rejection, which ends a Node process.
 *
 * With a pepper, a row that somebody edited by hand does not authenticate: the column types refuse
 * most edits, and the seal the rest.
 */

import { assert, readFields } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, ListQuery, SchemeSummary } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { isText } from '../bindable.js';
import { batchLookUps } from '../look-up-batches.js';
import type { Reads, Writes } from '../reads-and-writes.js';
import type { UnreadRecord } from '../rows.js';
import { afterStart, startOnce } from '../start.js';
import { usageBatches } from '../usage-batches.js';
import { openSession, type PostgresClient } from './clients.js';
import { migrateIfNeeded, REPLICA } from './migrate.js';
import { CHANGED_BY_CLIENT, createRunner, type RunStatement } from './query.js';

/** How the server is queried. */
export interface PostgresStoreOptions {
  /** Look-ups made in one turn of the event loop are sent as one query. Default: true. */
  readonly batch?: boolean | undefined;
  /** Statements are prepared once per connection. Default: true. */
  readonly prepare?: boolean | undefined;
}

/**
 * Makes a store in PostgreSQL. Sends nothing to the server until the first use, which migrates.
 *
 * Not checked: that nobody else uses the client in a transaction, the server's `fsync`, the rights
 * on the tables.
 *
 * @param client A `Pool` or a connected `Client` of `pg`, what `postgres()` returned, or a
 *   `PGlite`. keyscope never closes it.
 * @param options How the server is queried.
 * @returns A store for `createKeyring` or `cacheStore`.
 * @throws TypeError if `client` is not such a client, or on an unknown option.
 * @example
 * const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 2_000 });
 * pool.on('error', (error) => log.warn(error));
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: postgresStore(pool), peppers });
 */
export function postgresStore(
  client: PostgresClient,
  options: PostgresStoreOptions = {},
): KeyStore {
  const session = openSession(client);
  const given = readFields(options, ['batch', 'prepare'], 'postgresStore');
  const batch = readFlag(given.batch);
  const prepare = readFlag(given.prepare);
  const run = createRunner(session, prepare);
  const ready = startOnce(() => migrateIfNeeded(session));
  return afterStart(ready, { ...createReads(run, batch), ...createWrites(run) });
}

/** Reads an option that is on unless it is switched off. */
function readFlag(value: unknown): boolean {
  if (value === undefined) return true;
  assert(typeof value === 'boolean', 'postgresStore: batch and prepare are true or false');
  return value;
}

// An id is always a lower-case UUID. Anything else is never sent, because the type `uuid` would
// refuse it or fold its case.
function createReads(run: RunStatement, batch: boolean): Reads {
  async function findByDigest(digests: readonly string[]): Promise<KeyRecord[]> {
    const possible = digests.filter((digest) => isText(digest) && digest.isWellFormed());
    const first = possible[0];
    if (first === undefined) return [];
    const isOnly = possible.length === 1;
    const rows = isOnly
      ? await run('findDigest', first)
      : await run('findDigests', JSON.stringify(possible));
    return rows.map(readRow);
  }

  return {
    findByDigest: batch ? batchLookUps(findByDigest) : findByDigest,

    async findById(keyId) {
      if (!isUuid(keyId)) return null;
      const rows = await run('findById', keyId);
      return rows.length === 0 ? null : readRow(rows[0]);
    },

    async list(query) {
      if (!isUuid(query.entityUuid)) return [];
      const rows = await run('list', ...listValues(query));
      return rows.map(readRow);
    },

    async summarize(now?: number) {
      const rows = await run('summarize', String(now ?? Date.now()));
      return rows as SchemeSummary[];
    },
  };
}

/** A time later than that of any key: the largest 64-bit integer. */
const END_OF_TIME = '9223372036854775807';

/** The parameters of `list`. Callers may leave out the position to start at the newest key. */
function listValues({ entityUuid, after, limit }: ListQuery): string[] {
  // No key has this time, so any id will do.
  if (!after) return [entityUuid, END_OF_TIME, entityUuid, String(limit)];
  return [entityUuid, String(after.createdAt), after.keyId, String(limit)];
}

function createWrites(run: RunStatement): Writes {
  return {
    // Duplicates are refused by the primary key and by the digest's UNIQUE.
    async insert(record) {
      await run('insert', JSON.stringify(record));
    },

    async markEnded(keyId, ending) {
      if (!isUuid(keyId)) return false;
      const rows =
        'revokedAt' in ending
          ? await run('revoke', keyId, String(ending.revokedAt))
          : await run('retire', keyId, String(ending.retireAt));
      return rows.length === 1;
    },

    async touch(entries) {
      for (const batch of usageBatches(entries, isUuid)) await run('touch', batch);
    },
  };
}

/**
 * The record in a selected row, whose columns are in the order of `COLUMN_LIST`. The core checks
 * its content.
 */
function readRow(row: unknown): KeyRecord {
  if (!Array.isArray(row)) throw new Error(CHANGED_BY_CLIENT);
  const columns: readonly unknown[] = row;
  const isReplica = columns[16];
  if (isReplica) throw new Error(REPLICA);
  const record: UnreadRecord = {
    keyId: columns[0],
    name: columns[1],
    digest: columns[2],
    seal: columns[3],
    entityUuid: columns[4],
    accessibleEntities: columns[5],
    scopes: columns[6],
    justification: columns[7],
    metadata: columns[8],
    createdAt: columns[9],
    expiresAt: columns[10],
    revokedAt: columns[11],
    retireAt: columns[12],
    rotatedFrom: columns[13],
    lastUsedAt: columns[14],
    scopesUsed: columns[15],
  };
  return record as unknown as KeyRecord;
}
