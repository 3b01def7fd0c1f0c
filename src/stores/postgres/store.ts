/**
 * Keys in PostgreSQL 12 or newer, over a client that the service opened: `pg` 8.0.3 (a `Pool` or,
 * since 8.21, a dedicated `Client`), `postgres` 3.0 (postgres.js), `@electric-sql/pglite` 0.2 or
 * newer. Imports no driver.
 *
 * Every parameter is a single text, with lists and records as JSON, and every row comes back as a
 * single JSON text. All drivers read text alike, however they are configured to read integers,
 * arrays, JSON or column names.
 *
 * It shares the database with the service's own tables, as three tables and some functions whose
 * names begin with `keyscope_`. Tools that synchronize a database with a schema drop tables they do
 * not know. Exclude these, for example with `tablesFilter: ['!keyscope_*']` of drizzle-kit.
 *
 * Guarantees and requirements:
 * - **Primary.** Pass a client of the primary: the store reads and writes through it. It rejects a
 *   replica at the start, in each look-up and in each row of a listing, because a client with
 *   several hosts may have switched. A replica would accept a key that was revoked a moment ago,
 *   and take a key that was just issued for a bad one. Not noticed: an old primary that comes back
 *   unchanged after another was promoted. Fence it first; otherwise, keys revoked since work again
 *   for anyone who reaches it.
 * - **Durability.** `insert` and `mark` override `synchronous_commit = off` for themselves:
 *   otherwise the server acknowledges before it writes, and a crash undoes the revocation. They
 *   wait for a synchronous standby if the server does; usage never waits. Nothing prevents the loss
 *   of writes through `fsync = off`, or when a lagging replica is promoted.
 * - **Transactions.** Each statement commits on its own; no method needs two to be atomic. In the
 *   middle of a transaction it would not, so give keyscope the pool. If a connection returns to a
 *   `Pool` of pg 8.21 with an open transaction, keyscope ends it, which the pool reports with
 *   `error`, and uses another. Other clients cannot tell. There, writes, look-ups and listings
 *   throw once the transaction has been open for a second; a write before that is rolled back with
 *   it. At an isolation level stricter than READ COMMITTED, the server lets only one of several
 *   concurrent writes to a key through; keyscope retries the others.
 * - **Connections.** Look-ups take at most `maxLookUpQueries` connections at once. A query that
 *   takes longer than a second no longer counts, so a connection that hangs does not block the
 *   others. Make the pool somewhat larger, for everything else.
 * - **Locks.** Usage does not wait long. If another transaction holds the row of a key, the usage
 *   of all other keys is written. This key's usage waits half a second, and is then rejected. Every
 *   other method waits for as long as the server's `lock_timeout` says.
 * - **Prepared statements.** PgBouncer in transaction mode supports them since 1.21, with
 *   `max_prepared_statements`; otherwise pass `prepare: false`. Nothing else depends on the
 *   session.
 * - **Schema.** At the start, the connection's `search_path` determines where the store finds the
 *   tables, or creates them (in its first schema). Set it on the role or on the connection. Every
 *   later statement names that schema, whatever is set on a connection of the pool, and whatever
 *   temporary tables it has. The triggers' functions do not; they can only reject more.
 * - **Sight.** Some keys may be hidden if row-level security applies to the role, or if a view or a
 *   foreign table is in the place of a table. Then every method throws at once, rather than report
 *   that a key does not exist. Even a policy `USING (true)` counts, because its result for the next
 *   row is unknown. Let the role own the tables (without FORCE) or have BYPASSRLS, or disable
 *   row-level security and take away the rights of other roles. Not noticed: rows that a logical
 *   replication has not copied yet. Its subscriber is not a primary; never pass one.
 * - **Triggers** protect what was written and cannot be undone.
 *   `migrate(client, { triggers: false })` leaves them out, for servers that have none. Anyone who
 *   can write to the tables can then rewrite whatever no pepper seals, undo marks, and delete keys
 *   before their time. Migrations are plain statements, and work without advisory locks if the
 *   server refuses them. CockroachDB and YugabyteDB were not tested: this follows the limitations
 *   in their manuals.
 * - **Rights.** Once migrated: `USAGE` on that schema, `SELECT` on `keyscope_schema`,
 *   `SELECT, INSERT` on `keyscope_addressing`, and
 *   `SELECT, INSERT, UPDATE (seal, revoked_at, suspended_at, retire_at, withdrawn, ended_by,
 *   end_reason, changed_at, last_used_at, scopes_used)` on `keyscope_keys`.
 * - **Lost connections.** A `Pool` and postgres.js reconnect, postgres.js after up to 20 s unless
 *   its `backoff` says otherwise; a `Client` does not. Both `pg` classes emit `error` when a
 *   connection is lost, which ends a process without a listener. The keyring waits for an answer
 *   for `storeTimeoutMs`; an abandoned query runs until `statement_timeout` ends it.
 * - **Vanished servers.** If the other side of a connection vanishes silently, for example behind a
 *   firewall that forgot it, queries on it are never answered and never end. A pool of only such
 *   connections never recovers. Give `pg` a `connectionTimeoutMillis` and a `query_timeout` above
 *   `statement_timeout`. The client then drops such a connection, but not before the server could
 *   end the query. postgres.js has no `query_timeout`.
 * - **postgres.js 3.4.** Add the parameter `max_pipeline=1` to its URL (its types lack the option).
 *   By default it sends queries ahead of answers. If the server then ends its connections, as in a
 *   restart or a failover, it may leave these and all later queries unanswered until the process
 *   restarts. Pass `fetch_types: false`, too: nobody awaits the driver's own query on each new
 *   connection, so its failure is an unhandled rejection, which ends a Node process.
 *
 * With a pepper, a row edited by hand does not authenticate: the column types reject most edits,
 * and the seal the rest.
 */
import type { KeyStore } from '../../core/store.js';
import { readLookUpOptions } from '../look-ups.js';
import { afterStart, startOnce } from '../start.js';
import { isInMemory, openSession, type PostgresClient } from './client.js';
import { migrateIfNeeded } from './migrate.js';
import { createRunner, createSender } from './query.js';
import { createReads } from './reads.js';
import { createWrites } from './writes.js';

/** The options of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * Whether look-ups from one turn of the event loop, and look-ups that queue, share a query. If
   * false, each is sent alone and at once, without a limit. Default: true.
   */
  readonly batch?: boolean | undefined;
  /**
   * The most look-up queries in flight, so that other queries find a connection. Further look-ups
   * wait and share a query. 1 to 1,000. Default: 4.
   */
  readonly maxLookUpQueries?: number | undefined;
  /** Whether statements are prepared, once per connection. Default: true. */
  readonly prepare?: boolean | undefined;
}

/**
 * Makes a store in PostgreSQL. Sends nothing to the server until the first use, which migrates.
 *
 * Not checked: that nobody else uses the client in a transaction, the server's `fsync`, the rights
 * on the tables.
 *
 * @param client A `Pool` or a connected `Client` of `pg`, the result of `postgres()`, or a
 *   `PGlite`. keyscope never closes it.
 * @param options How to query the server.
 * @returns A store for `createKeyring` or `cacheStore`.
 * @throws TypeError if `client` is not such a client, or on an unknown or wrong option.
 * @example
 * const limits = { statement_timeout: 4_000, query_timeout: 5_000 };
 * const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 2_000, ...limits });
 * pool.on('error', (error) => log.warn(error));
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: postgresStore(pool), peppers });
 */
export function postgresStore(
  client: PostgresClient,
  options: PostgresStoreOptions = {},
): Required<KeyStore> {
  const session = openSession(client);
  const { maxQueries, prepare } = readLookUpOptions(options, 'postgresStore');
  let schema = '';
  const send = createSender(session, prepare, () => schema);
  const ready = startOnce(async () => {
    schema = await migrateIfNeeded(session);
  });
  const methods = { ...createReads(send, maxQueries), ...createWrites(createRunner(send)) };
  return afterStart(ready, methods, isInMemory(client));
}
