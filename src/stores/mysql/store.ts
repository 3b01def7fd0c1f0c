/**
 * Keys in MySQL 8.0.16 or newer or MariaDB 10.6 or newer, over a pool or a connection that the
 * service opened with `mysql2` 3.0 (`mysql2/promise`), `mariadb` 3.0 or newer. Imports no driver.
 * Tested on MariaDB. On MySQL it relies on what the manual documents.
 *
 * Its tables are `keyscope_keys`, `keyscope_addressing` and `keyscope_schema`; its triggers begin
 * with `keyscope_`, too. Exclude them from tools that drop unknown tables.
 *
 * Guarantees and requirements:
 * - **A dedicated handle.** Give keyscope its own connection, or a pool that nobody else takes
 *   connections from. Look-ups run outside any transaction, so they see every acknowledged write,
 *   even at REPEATABLE READ. In a transaction left open they would see an old state. MariaDB can
 *   report that: a look-up closes such a connection of a pool and uses another, and throws on a
 *   single connection. MySQL cannot, so it goes unnoticed. With autocommit off, look-ups throw on
 *   both.
 * - **Database.** At the start, the store finds its tables in the connection's default database,
 *   and accepts no view in their place. Later statements name that database, even after another
 *   user has sent `USE` on a connection; usage fails there. Not noticed: a temporary table with the
 *   same name, which hides even a table that is named with its database. Do not share
 *   the handle.
 * - **Writes** are one transaction each, committed before they are acknowledged. They throw if the
 *   connection is in the middle of a transaction. A pool replaces a lost connection. A single
 *   connection stays lost, and serves one request at a time.
 * - **Primary.** The store rejects a read-only server, at the start and in each look-up, because a
 *   cluster of pools or a proxy may send queries elsewhere. A replica lags, and would accept a key
 *   that was revoked a moment ago. A writable replica looks like the primary. A user with SUPER or
 *   READ ONLY ADMIN can write to any replica, so give keyscope's user neither.
 * - **Galera.** On MariaDB, each read waits until its node has everything that the cluster
 *   acknowledged, with `wsrep_sync_wait`, and a node without a majority refuses. No node accepts a
 *   key that another has revoked. On Galera for MySQL, set that variable on all nodes; otherwise
 *   the first use fails.
 * - **Connections.** Look-ups take at most `maxLookUpQueries` connections at once. A query that
 *   takes longer than a second no longer counts, so a connection that hangs does not block the
 *   others. Make the pool somewhat larger, for everything else. The store closes a connection that
 *   has not answered a look-up for 5 s, a write for 10 s or a list for a minute.
 * - **Statements.** Look-ups are prepared, at most nine statements on each connection. A server
 *   keeps 16,382 in all (`max_prepared_stmt_count`). Everything else is sent as text with the
 *   values in hexadecimal digits; so are look-ups with `prepare: false`.
 * - **Locks.** Usage does not wait long. If another transaction holds the row of a key for half a
 *   second (one second on MySQL), the usage of all other keys is written, and this key's is
 *   rejected. Other writes wait for 10 s, or for as long as the server's `innodb_lock_wait_timeout`
 *   says.
 * - **Durability** is up to the server: with `innodb_flush_log_at_trx_commit` or `sync_binlog`
 *   other than 1, a crash undoes what was acknowledged in the last second, including revocations.
 * - **Session.** It needs utf8mb4 and autocommit; otherwise the first use fails. The SQL mode does
 *   not matter, except for `EMPTY_STRING_IS_NULL`, which the store rejects. Neither
 *   `sql_select_limit` nor the drivers' options matter: the store switches off options that change
 *   how rows are read, or rejects them.
 * - **Rights.** To migrate: CREATE, TRIGGER, SELECT, INSERT, UPDATE and DELETE on the database.
 *   Afterwards: SELECT on the tables, INSERT and UPDATE on `keyscope_keys` and
 *   `keyscope_addressing`; to purge, DELETE on both and UPDATE on `keyscope_schema`. The triggers
 *   run as the user that migrated. Keep that user and its rights, also on a server where you
 *   restore a dump, or no key can be revoked (error 1449). With a binary log, and on Galera, only
 *   SUPER may create triggers, unless `log_bin_trust_function_creators` is on (error 1419).
 * - **Triggers** protect what was written. With `{ triggers: false }`, `migrate` leaves them out,
 *   for servers that have none. Anyone who can write to the tables can then rewrite whatever no
 *   pepper seals, undo marks, and delete keys before their time.
 *
 * With a pepper, a row edited by hand does not authenticate, and no listing fails because of it.
 * Lists and times are selected as text: drivers that parse JSON themselves end the process if a row
 * has invalid JSON.
 */
import type { KeyStore } from '../../core/store.js';
import { readLookUpOptions } from '../look-ups.js';
import { afterStart, startOnce } from '../start.js';
import type { MysqlClient } from './client.js';
import { connectionsOf } from './client.js';
import { createReaders } from './freshness.js';
import { beforeReads } from './galera.js';
import { migrateIfNeeded } from './migrate.js';
import { createReads } from './reads.js';
import { createWrites } from './writes.js';

/** The options of `mysqlStore`. */
export interface MysqlStoreOptions {
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
  /**
   * Whether look-ups are prepared statements, at most nine on each connection; nothing else is. Set
   * it to false for a proxy that keeps no prepared statements. Default: true.
   */
  readonly prepare?: boolean | undefined;
}

/**
 * Makes a store in MySQL or MariaDB. Sends nothing to the server until the first use, which
 * inspects the connection and migrates.
 *
 * Not checked: that nobody else uses the client in a transaction; the server's durability; the
 * rights on the tables.
 *
 * @param client The result of `createPool` or `createConnection` of `mysql2/promise` or `mariadb`.
 *   keyscope never closes it.
 * @param options How to query the server.
 * @returns The store, for `createKeyring`.
 * @throws TypeError if `client` is not such a client or has the callback API, or on an unknown or
 *   wrong option.
 * @example
 * // createPool of 'mysql2/promise'
 * const pool = mysql.createPool({ uri, charset: 'utf8mb4', connectTimeout: 2_000 });
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: mysqlStore(pool), peppers });
 */
export function mysqlStore(
  client: MysqlClient,
  options: MysqlStoreOptions = {},
): Required<KeyStore> {
  const { maxQueries, prepare } = readLookUpOptions(options, 'mysqlStore');
  const connections = connectionsOf(client, prepare);
  let before = '';
  const start = startOnce(async () => {
    connections.stayIn(await migrateIfNeeded(connections));
    before = await beforeReads(connections);
  });
  const readers = createReaders(connections, () => before);
  return afterStart(start, { ...createReads(readers, maxQueries), ...createWrites(connections) });
}
