/**
 * Keys in MySQL 8.0.16 or newer or MariaDB 10.6 or newer, over a pool or a connection that the
 * service opened with `mysql2` 3.0 (`mysql2/promise`), `mariadb` 3.0 or newer. Imports no driver.
 * Tested on MariaDB; of MySQL it uses what the manual documents.
 *
 * Its tables are `keyscope_keys`, `keyscope_addressing` and `keyscope_schema`, and its triggers
 * begin with `keyscope_`, too. Exclude them from tools that drop what they do not know.
 *
 * What is guaranteed, and what you have to ensure:
 * - **A dedicated handle.** Give keyscope its own connection, or a pool that nobody else takes
 *   connections from. Look-ups run outside any transaction, so they see every acknowledged write,
 *   even at REPEATABLE READ. In a transaction that somebody left open they would see an old state.
 *   MariaDB can be asked about that: a look-up closes such a connection of a pool and uses another,
 *   and throws on a single one. MySQL cannot, so it goes unnoticed. With autocommit off, look-ups
 *   throw on both.
 * - **Database.** The tables are found in the connection's default database at the start, and no
 *   view is accepted in their place. From then on statements name that database, also where
 *   somebody has sent `USE` on a connection; usage fails there. Not noticed: a temporary table of
 *   the same name, which hides even a table that is named with its database. Share the handle with
 *   nobody.
 * - **Writes** are one transaction each, committed before they are acknowledged, and throw if the
 *   connection is in the middle of a transaction. A pool replaces a lost connection; a single
 *   connection stays lost, and serves one request at a time.
 * - **Primary.** A read-only server is refused, at the start and by each look-up, because a
 *   cluster of pools or a proxy may send queries elsewhere: a replica lags, and would accept a key
 *   that was revoked a moment ago. A replica that is writable cannot be told from the primary; a
 *   user with SUPER or READ ONLY ADMIN can write to any, so let keyscope's have neither.
 * - **Galera.** On MariaDB, each read waits until its node has what the cluster acknowledged, with
 *   `wsrep_sync_wait`, and a node without a majority refuses: what one node has revoked, no other
 *   accepts. On Galera for MySQL, set that variable on all nodes; otherwise the first use is
 *   refused.
 * - **Connections.** Look-ups take at most `maxLookUpQueries` connections at once. A query that is
 *   not answered within a second no longer counts, so that a connection that hangs does not hold
 *   up the others. Let the pool have some more than that, for everything else. One that has not
 *   answered a look-up for 5 s, a write for 10 s or a list for a minute is closed.
 * - **Statements.** Look-ups are prepared, at most nine statements on each connection, of which a
 *   server keeps 16,382 in all (`max_prepared_stmt_count`). Everything else, and look-ups too with
 *   `prepare: false`, is sent as text, in which values stand in hexadecimal digits.
 * - **Locks.** Usage is not worth a wait. Where somebody holds the row of a key for half a second,
 *   on MySQL for one, that of all other keys is written, and the key's own is refused. Other
 *   writes wait for 10 s, or as long as the server's `innodb_lock_wait_timeout` says.
 * - **Durability** is up to the server: with `innodb_flush_log_at_trx_commit` or `sync_binlog`
 *   other than 1, a crash undoes what was acknowledged in the last second, including revocations.
 * - **Session.** utf8mb4 and autocommit on; otherwise the first use is refused. The SQL mode does
 *   not matter, except for `EMPTY_STRING_IS_NULL`, which is refused. Nor do `sql_select_limit` and
 *   the drivers' options: options that change how rows are read are switched off for each
 *   statement or make no difference, and any other such option is refused.
 * - **Rights.** To migrate: CREATE, TRIGGER, SELECT, INSERT, UPDATE and DELETE on the database.
 *   Afterwards: SELECT on the tables, INSERT and UPDATE on `keyscope_keys` and
 *   `keyscope_addressing`; to purge, DELETE on both and UPDATE on `keyscope_schema`. The triggers
 *   run as the user that migrated: keep that user and its rights, also on a server that a dump is
 *   restored to, or no key can be revoked (error 1449). With a binary log, and on Galera, only
 *   SUPER may create triggers, unless `log_bin_trust_function_creators` is on (error 1419).
 * - **Triggers** keep what was written as it is. With `{ triggers: false }`, `migrate` leaves them
 *   out, for servers that have none: then whoever may write the tables can rewrite what no pepper
 *   seals, undo marks, and delete keys before their time.
 *
 * With a pepper, a row that somebody edited by hand does not authenticate, and no listing fails
 * because of it. Lists and times are selected as text: drivers that parse JSON themselves end the
 * process if a row has invalid JSON.
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

/** How the server is queried. */
export interface MysqlStoreOptions {
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
  /**
   * Look-ups are prepared statements, at most nine on each connection; nothing else is. If false,
   * none is, for a proxy that keeps none. Default: true.
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
 * @param client What `createPool` or `createConnection` of `mysql2/promise` or `mariadb` returned.
 *   keyscope never closes it.
 * @param options How the server is queried.
 * @returns The store, for `createKeyring`.
 * @throws TypeError if `client` is not such a client or has the callback API, or on an unknown
 *   or wrong option.
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
