/**
 * Keys in MySQL 8.0.16 or newer or MariaDB 10.6 or newer, over a pool or a connection that the
 * service opened with `mysql2` 3.0 (`mysql2/promise`), `mariadb` 3.0 or newer. Imports no driver.
 * Tested on MariaDB 10.11 and MySQL 9.7.
 *
 * - **Guarantees.** Each write is one transaction, committed before it is acknowledged. Look-ups
 *   run outside any transaction, so they see every acknowledged write. A read-only server is
 *   rejected. With a pepper, a row edited by hand does not authenticate, and no listing fails
 *   because of it.
 * - **Requires** a connection or a pool that nobody else uses, to the primary.
 * - **Not checked:** the server's durability, and a replica that can be written to.
 *
 * See docs/stores.md for what to set, and docs/operations.md for the rights.
 */
import type { KeyStore } from '../../core/store.js';
import { readLookUpOptions } from '../look-ups.js';
import { afterStart, startOnce } from '../start.js';
import type { MysqlClient } from './client.js';
import { connectionsOf } from './client.js';
import { createReaders, type ReadMode } from './freshness.js';
import { readModeOf } from './galera.js';
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
 * Not checked: the server's durability; the rights on the tables.
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
  let mode: ReadMode = { prefix: '', isBlind: true };
  const start = startOnce(async () => {
    connections.stayIn(await migrateIfNeeded(connections));
    mode = await readModeOf(connections);
  });
  const readers = createReaders(connections, () => mode);
  return afterStart(start, { ...createReads(readers, maxQueries), ...createWrites(connections) });
}
