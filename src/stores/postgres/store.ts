/**
 * Keys in PostgreSQL 12 or newer, over a client that the service opened: `pg` 8.0.3 (a `Pool` or,
 * since 8.21, a dedicated `Client`), `postgres` 3.0 (postgres.js), `@electric-sql/pglite` 0.2 or
 * newer. Imports no driver.
 *
 * Every parameter is a single text, with lists and records as JSON, and every row comes back as a
 * single JSON text. All drivers read text alike, however they are configured to read integers,
 * arrays, JSON or column names.
 *
 * Lives beside the service's own tables, as three tables and some functions whose names begin with
 * `keyscope_`. Tools that make a database what their schema says drop what they do not know: tell
 * them, as with `tablesFilter: ['!keyscope_*']` of drizzle-kit.
 *
 * What is guaranteed, and what you have to ensure:
 * - **Primary.** Reads and writes go to one client, which has to be one of the primary. A replica
 *   is refused, at the start, by each look-up and with each row of a listing, because a client with
 *   several hosts may have switched to one. A replica would accept a key that was revoked a moment
 *   ago, and take one that was just issued for a bad one. Not noticed: an old primary that comes
 *   back as it was after another was promoted. Fence it first, or keys that were revoked since work
 *   again for whoever reaches it.
 * - **Durability.** `insert` and `mark` override `synchronous_commit = off` for themselves:
 *   otherwise the server acknowledges before it writes, and a crash undoes the revocation. They
 *   wait for a synchronous standby if the server does, usage never. Nothing prevents the loss
 *   of writes through `fsync = off`, or when a replica that lags is promoted.
 * - **Transactions.** Each statement commits by itself; no method needs two to be atomic. In the
 *   middle of a transaction it would not, so give keyscope the pool. A connection that somebody
 *   gave back to a `Pool` of pg 8.21 with an open transaction is ended, which the pool's `error`
 *   tells, and another is used. Other clients do not know: there, writes, look-ups and listings
 *   throw once the transaction has been open for a second, and a write before is rolled back with
 *   it. At an isolation level stricter than READ COMMITTED, the server rolls back all but one of
 *   several concurrent writes to a key: they are retried.
 * - **Connections.** Look-ups take at most `maxLookUpQueries` connections at once. A query that is
 *   not answered within a second no longer counts, so that a connection that hangs does not hold up
 *   the others. Let the pool have some more than that, for everything else.
 * - **Locks.** Usage is not worth a wait. Where somebody holds the row of a key, that of all other
 *   keys is written; the key's own waits for half a second, and is then refused. Every other method
 *   waits as long as the server's `lock_timeout` says.
 * - **Prepared statements.** Through PgBouncer in transaction mode they need PgBouncer 1.21 with
 *   `max_prepared_statements`; otherwise pass `prepare: false`. Nothing else depends on the
 *   session.
 * - **Schema.** At the start, the tables are found through the connection's `search_path`, or
 *   created in its first schema: set it on the role or on the connection. From then on every
 *   statement names that schema, whatever somebody sets on a connection of the pool, and whatever
 *   temporary tables it has. The triggers' functions do not; they only ever refuse more.
 * - **Sight.** Where row-level security holds for the role, or a view or a foreign table is in the
 *   place of a table, some keys may be hidden. Then every method throws, at once: none of them says
 *   that there is no such key. A policy `USING (true)` counts, too, because nobody can tell what it
 *   will say of the next row. Let the role own the tables (without FORCE) or have BYPASSRLS, or
 *   disable row-level security and take away the rights of other roles. Not noticed: rows that a
 *   logical replication has not brought yet. Its subscriber is no primary; never pass one.
 * - **Triggers** guard what is written and cannot be undone. `migrate(client, { triggers: false })`
 *   leaves them out, for servers that have none: then whoever may write the tables can rewrite what
 *   no pepper seals, undo marks, and delete keys before their time. Migrations are plain
 *   statements, and do without advisory locks where the server refuses them. CockroachDB and
 *   YugabyteDB were not run: this follows what their manuals say that they lack.
 * - **Rights.** Once migrated: `USAGE` on that schema, `SELECT` on `keyscope_schema`, `SELECT,
 *   INSERT` on `keyscope_addressing`, and `SELECT, INSERT, UPDATE (seal, revoked_at, suspended_at,
 *   retire_at, withdrawn, ended_by, end_reason, changed_at, last_used_at, scopes_used)` on
 *   `keyscope_keys`.
 * - **Lost connections.** A `Pool` and postgres.js reconnect, postgres.js after up to 20 s unless
 *   its `backoff` says otherwise; a `Client` does not. Both `pg` classes emit `error` when a
 *   connection is lost, which ends a process without a listener. The keyring waits for an answer
 *   for `storeTimeoutMs`; an abandoned query goes on until `statement_timeout` ends it.
 * - **Vanished servers.** A connection whose other side vanished without a word, as behind a
 *   firewall that forgot it, is never answered and never ends, and a pool that has only such ones
 *   never recovers. Give `pg` a `query_timeout` above `statement_timeout`, so that such a
 *   connection is dropped and the server still ends what is dropped first, and a
 *   `connectionTimeoutMillis`. postgres.js has nothing like the former.
 * - **postgres.js 3.4.** Give its URL the parameter `max_pipeline=1` (its types lack the option):
 *   by default it sends queries ahead of answers, and if the server then ends its connections, as
 *   in a restart or a failover, it may leave these and all later queries unanswered until the
 *   process is restarted. Pass `fetch_types: false`, too: nobody awaits the driver's own query on
 *   each new connection, so its failure is an unhandled rejection, which ends a Node process.
 *
 * With a pepper, a row that somebody edited by hand does not authenticate: the column types refuse
 * most edits, and the seal the rest.
 */
import type { KeyStore } from '../../core/store.js';
import { readLookUpOptions } from '../look-ups.js';
import { afterStart, startOnce } from '../start.js';
import { isInMemory, openSession, type PostgresClient } from './client.js';
import { migrateIfNeeded } from './migrate.js';
import { createRunner, createSender } from './query.js';
import { createReads } from './reads.js';
import { createWrites } from './writes.js';

/** How the server is queried. */
export interface PostgresStoreOptions {
  /**
   * Look-ups of one turn of the event loop, and those that wait for others, are sent as one query.
   * If false, each is sent by itself and at once, however many there are. Default: true.
   */
  readonly batch?: boolean | undefined;
  /**
   * At most this many queries of look-ups are in flight at once, so that others find a connection;
   * further look-ups wait and go together. 1 to 1,000. Default: 4.
   */
  readonly maxLookUpQueries?: number | undefined;
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
