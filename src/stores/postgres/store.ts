/**
 * Keys in PostgreSQL 12 or newer, over a client that the service opened: `pg` 8.0.3 (a `Pool` or,
 * since 8.21, a dedicated `Client`), `postgres` 3.0 (postgres.js), `@electric-sql/pglite` 0.2 or
 * newer. Imports no driver.
 *
 * - **Guarantees.** Each statement commits on its own, and new keys and marks are on disk once they
 *   are acknowledged. On a replica, or if some rows may be hidden, every method throws: it never
 *   reports that a key does not exist. With a pepper, a row edited by hand does not authenticate.
 * - **Requires** a client of the primary that nobody uses in a transaction.
 * - **Not checked:** `fsync`, and an old primary that comes back after another was promoted.
 *
 * See docs/stores.md for what to set, and docs/operations.md for the rights.
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
