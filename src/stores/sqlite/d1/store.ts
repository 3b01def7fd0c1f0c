/**
 * Keys in Cloudflare D1, over the binding of a Worker. Imports nothing from Cloudflare.
 *
 * Guarantees and requirements:
 * - **Primary.** Each method uses its own session, which starts at the primary, so it sees every
 *   acknowledged write. The store rejects a session as the client: it may read from a replica that
 *   lags.
 * - **Requests.** On Workers, a query belongs to the request that sent it, and ends with it. So
 *   look-ups of several requests are sent separately unless you set `batch`, and no request waits
 *   for another's migration.
 * - **Usage.** A timer or `flush` writes usage, in one request. Pass the flush to `ctx.waitUntil`.
 * - **Restoring.** A database restored by Time Travel has the keys of that time: keys revoked since
 *   then are live again.
 *
 * With a pepper, a row edited by hand does not authenticate. D1 reads integers beyond 2^53 as the
 * nearest number, and the core rejects the record.
 */
import { assert, readFields } from '../../../core/input.js';
import type { KeyStore } from '../../../core/store.js';
import { batchLookUps } from '../../look-ups.js';
import { isWholeText, type Reads } from '../../reads.js';
import { afterStart } from '../../start.js';
import { createReads } from '../reads.js';
import { QUERIES } from '../statements.js';
import type { D1Client } from './client.js';
import { assertClient, query } from './client.js';
import { migrate } from './migrate.js';
import { createWrites } from './writes.js';

/** The options of `d1Store`. */
export interface D1StoreOptions {
  /**
   * Whether look-ups made in one turn of the event loop share a query. Default: false; leave it so
   * on Workers.
   */
  readonly batch?: boolean | undefined;
}

/**
 * Makes a store in D1. Sends nothing to the database until the first use, which migrates.
 *
 * Not checked: that the binding is for the right database.
 *
 * @param db The binding. You may create one store per isolate or one per request.
 * @param options How to query D1.
 * @returns The store, for `createKeyring`.
 * @throws TypeError if `db` is not a D1 binding, or on an unknown option.
 * @example
 * // env of 'cloudflare:workers'
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: d1Store(env.DB), peppers });
 */
export function d1Store(db: D1Client, options: D1StoreOptions = {}): Required<KeyStore> {
  assertClient(db);
  const { batch = false } = readFields(options, ['batch'], 'd1Store');
  assert(typeof batch === 'boolean', 'd1Store: batch: pass true or false');
  let isMigrated = false;
  // Until one migration has finished, each request runs its own: a promise shared with another
  // request would never settle if that request is cancelled.
  async function migrateIfNeeded(): Promise<void> {
    if (!isMigrated) await migrate(db);
    isMigrated = true;
  }
  return afterStart(migrateIfNeeded, { ...readsOf(db, batch), ...createWrites(db) });
}

function readsOf(db: D1Client, batch: boolean): Reads {
  const reads = createReads((name, ...values) => query(db, QUERIES[name], ...values), isWholeText);
  if (!batch) return reads;
  return { ...reads, findByDigest: batchLookUps(async (digests) => reads.findByDigest(digests)) };
}
