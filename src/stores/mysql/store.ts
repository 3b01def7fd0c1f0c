/**
 * Keys in MySQL 8.0.16 or newer or MariaDB 10.6 or newer, over a pool or a connection that the
 * service opened with `mysql2/promise` or `mariadb`, each in version 3 or newer. Imports no driver.
 * Tested on MariaDB; of MySQL it uses what the manual documents.
 *
 * What is guaranteed, and what you have to ensure:
 * - **A dedicated handle.** Give keyscope its own connection, or a pool that nobody else takes
 *   connections from. Look-ups run outside any transaction, so they see every acknowledged write,
 *   even at REPEATABLE READ. In a transaction that somebody left open they would see an old state.
 *   MariaDB can be asked about that, and a look-up that finds a row then throws; MySQL cannot, so
 *   it goes unnoticed. With autocommit off, such a look-up throws on both.
 * - **Writes** are one statement each, committed before they are acknowledged, and throw if the
 *   connection is in the middle of a transaction. A pool replaces a lost connection; a single
 *   connection stays lost, and serves one request at a time.
 * - **Primary.** A read-only server is refused, at the start and by each look-up that finds a key,
 *   because a cluster of pools or a proxy may send queries elsewhere: a replica lags, and would
 *   accept a key that was revoked a moment ago. A replica that is writable cannot be told from the
 *   primary.
 * - **Durability** is up to the server: with `innodb_flush_log_at_trx_commit` or `sync_binlog`
 *   other than 1, a crash undoes what was acknowledged in the last second, including revocations.
 * - **Session.** utf8mb4, autocommit on, `sql_safe_updates` off; otherwise the first use is
 *   refused. The SQL mode does not matter, except for `EMPTY_STRING_IS_NULL`, which is refused. Nor
 *   do `sql_select_limit` and the drivers' options: options that change how rows are read are
 *   switched off for each statement or make no difference, and any other such option is refused.
 * - **Rights.** To migrate: CREATE, TRIGGER, SELECT, INSERT and UPDATE on the database. Afterwards:
 *   SELECT on both tables, INSERT and UPDATE on `keyscope_keys`. The triggers run as the user that
 *   migrated: keep that user and its rights, also on a server that a dump is restored to, or no key
 *   can be revoked (error 1449). With a binary log, MySQL lets only SUPER create triggers, unless
 *   `log_bin_trust_function_creators` is on (error 1419).
 *
 * With a pepper, a row that somebody edited by hand does not authenticate. Lists are selected as
 * text: drivers that parse JSON themselves end the process if a row has invalid JSON.
 */
import { assert, readFields } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, SchemeSummary, UsageEntry } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { batchLookUps } from '../look-up-batches.js';
import type { Reads, Writes } from '../reads-and-writes.js';
import type { Value } from '../rows.js';
import { toInteger, toRecord, toValues } from '../rows.js';
import { afterStart, startOnce } from '../start.js';
import { usageBatches } from '../usage-batches.js';
import type { Row } from './answers.js';
import { rowsOf } from './answers.js';
import type { MysqlClient } from './client.js';
import { assertFits, isDigest } from './columns.js';
import type { Connections } from './connections.js';
import { connectionsOf } from './connections.js';
import { requireFresh } from './freshness.js';
import { migrateIfNeeded } from './migrate.js';
import {
  FIND_BY_ID,
  findByDigests,
  INSERT,
  LIST,
  LIST_AFTER,
  RETIRE,
  REVOKE,
  SUMMARIZE,
  TOUCH,
} from './statements.js';
import { write } from './write.js';

/** How the server is queried. */
export interface MysqlStoreOptions {
  /** Look-ups made in one turn of the event loop are sent as one query. Default: true. */
  readonly batch?: boolean | undefined;
}

async function select(
  connections: Connections,
  sql: string,
  values: Value[],
): Promise<readonly Row[]> {
  const answer = await connections.query(sql, values);
  return requireFresh(rowsOf(answer));
}

async function selectRecords(
  connections: Connections,
  sql: string,
  values: Value[],
): Promise<KeyRecord[]> {
  const rows = await select(connections, sql, values);
  return rows.map(toRecord);
}

/** Unchecked: the core checks what comes back. */
function toSummary({ scheme, live, last_used_at }: Row): SchemeSummary {
  const summary: { readonly [Field in keyof SchemeSummary]: unknown } = {
    scheme,
    live: toInteger(live),
    lastUsedAt: toInteger(last_used_at),
  };
  return summary as SchemeSummary;
}

/**
 * An id is always a lower-case UUID and a digest always printable ASCII; anything else is not
 * looked up.
 */
function createReads(connections: Connections, batch: boolean): Reads {
  async function find(digests: readonly string[]): Promise<KeyRecord[]> {
    const asked = digests.filter(isDigest);
    if (asked.length === 0) return [];
    const { sql, values } = findByDigests(asked);
    return selectRecords(connections, sql, values);
  }

  return {
    findByDigest: batch ? batchLookUps(find) : find,

    async findById(keyId) {
      if (!isUuid(keyId)) return null;
      const records = await selectRecords(connections, FIND_BY_ID, [keyId]);
      return records[0] ?? null;
    },

    async list({ entityUuid, after = null, limit }) {
      if (!isUuid(entityUuid)) return [];
      // As text: some versions of mysql2 send a number as a float, which MySQL does not accept as a
      // LIMIT.
      const most = String(limit);
      if (after === null) return selectRecords(connections, LIST, [entityUuid, most]);
      const { createdAt, keyId } = after;
      const values = [entityUuid, createdAt, createdAt, keyId, most];
      return selectRecords(connections, LIST_AFTER, values);
    },

    async summarize(now?: number) {
      const time = now ?? Date.now();
      const rows = await select(connections, SUMMARIZE, [time, time]);
      return rows.map(toSummary);
    },
  };
}

/** An entry as {@link TOUCH} reads it. */
function toTouched({ keyId, lastUsedAt, scopesUsed }: UsageEntry): readonly unknown[] {
  return [keyId, lastUsedAt, Object.entries(scopesUsed)];
}

function createWrites(connections: Connections): Writes {
  return {
    async insert(record) {
      assertFits(record);
      // Duplicates are refused by the primary key and by the digest's UNIQUE.
      await write(connections, INSERT, toValues(record));
    },

    // If the condition holds, the row changes, so it does not matter whether the driver counts
    // matched or changed rows.
    async markEnded(keyId, ending) {
      if (!isUuid(keyId)) return false;
      const written =
        'revokedAt' in ending
          ? await write(connections, REVOKE, [ending.revokedAt, keyId])
          : await write(connections, RETIRE, [ending.retireAt, keyId]);
      return written === 1;
    },

    async touch(entries) {
      const batches = usageBatches(entries, isUuid, toTouched);
      for (const batch of batches) await write(connections, TOUCH, [batch]);
    },
  };
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
 *   option.
 * @example
 * // createPool of 'mysql2/promise'
 * const pool = mysql.createPool({ uri, charset: 'utf8mb4', connectTimeout: 2_000 });
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: mysqlStore(pool), peppers });
 */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): KeyStore {
  const connections = connectionsOf(client);
  const { batch = true } = readFields(options, ['batch'], 'mysqlStore');
  assert(typeof batch === 'boolean', 'mysqlStore: batch is true or false');
  const start = startOnce(() => migrateIfNeeded(connections));
  return afterStart(start, { ...createReads(connections, batch), ...createWrites(connections) });
}
