/**
 * Keys in Cloudflare D1, over the binding of a Worker. Imports nothing from Cloudflare.
 *
 * What is guaranteed, and what you have to ensure:
 * - **Primary.** Each method uses its own session, which begins at the primary, so it sees every
 *   acknowledged write. Passing a session as the client is refused: the replica that it reads from
 *   may lag behind.
 * - **Requests.** On Workers a query belongs to the request that sent it, and ends with it. So
 *   look-ups of several requests are sent separately unless you set `batch`, and no request waits
 *   for another's migration.
 * - **Usage.** It is written by a timer, or by `flush`, in one request: pass the flush to
 *   `ctx.waitUntil`.
 * - **Restoring.** A database restored by Time Travel has the keys of that time: keys revoked since
 *   then are live again.
 *
 * With a pepper, a row that somebody edited by hand does not authenticate. D1 reads integers
 * beyond 2^53 as the nearest number, and the core refuses the record.
 */
import { assert, readFields } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, ListPosition, SchemeSummary } from '../../core/store.js';
import { isText } from '../bindable.js';
import { batchLookUps } from '../look-up-batches.js';
import type { Reads, Writes } from '../reads-and-writes.js';
import { toRecord, toValues } from '../rows.js';
import { STATEMENTS } from '../sqlite/statements.js';
import { afterStart } from '../start.js';
import { usageBatches } from '../usage-batches.js';
import type { D1Client } from './binding.js';
import { assertClient, atPrimary, query } from './binding.js';
import { migrate } from './migrate.js';

/** How D1 is queried. */
export interface D1StoreOptions {
  /**
   * Look-ups made in one turn of the event loop are sent as one query. Default: false; on Workers,
   * leave it so.
   */
  readonly batch?: boolean | undefined;
}

/** Whether D1 gets the text unchanged: half a surrogate pair would arrive as U+FFFD. */
function isSendable(value: unknown): value is string {
  return isText(value) && value.isWellFormed();
}

/**
 * A position before every record. Parameters are sent as JSON, which has no infinity, so the time
 * is the largest number.
 */
const BEGINNING: ListPosition = { createdAt: Number.MAX_VALUE, keyId: '' };

function createReads(db: D1Client, batch: boolean): Reads {
  async function find(digests: readonly string[]): Promise<readonly KeyRecord[]> {
    const asked = digests.filter(isSendable);
    const [only] = asked;
    if (only === undefined) return [];
    // A list is one parameter: D1 accepts at most 100.
    const rows =
      asked.length === 1
        ? await query(db, STATEMENTS.findOneDigest, only)
        : await query(db, STATEMENTS.findDigests, JSON.stringify(asked));
    return rows.map(toRecord);
  }

  return {
    findByDigest: batch ? batchLookUps(find) : find,

    async findById(keyId) {
      if (!isSendable(keyId)) return null;
      const rows = await query(db, STATEMENTS.findById, keyId);
      return rows.length > 0 ? toRecord(rows[0]) : null;
    },

    async list({ entityUuid, after, limit }) {
      if (!isSendable(entityUuid)) return [];
      const { createdAt, keyId } = after ?? BEGINNING;
      const rows = await query(db, STATEMENTS.list, entityUuid, createdAt, keyId, limit);
      return rows.map(toRecord);
    },

    async summarize(now?: number) {
      const time = now ?? Date.now();
      const rows = await query(db, STATEMENTS.summarize, time, time);
      return rows as readonly SchemeSummary[];
    },
  };
}

function createWrites(db: D1Client): Writes {
  return {
    async insert(record) {
      await query(db, STATEMENTS.insert, ...toValues(record));
    },

    // Counts rows: the changes that D1 reports may include those of the service's own triggers.
    async markEnded(keyId, ending) {
      if (!isSendable(keyId)) return false;
      const rows =
        'revokedAt' in ending
          ? await query(db, `${STATEMENTS.revoke} RETURNING key_id`, ending.revokedAt, keyId)
          : await query(db, `${STATEMENTS.retire} RETURNING key_id`, ending.retireAt, keyId);
      return rows.length === 1;
    },

    // Few statements, because a request may send only 1,000, or 50 on the free plan; none larger
    // than 2 MB, the limit of a parameter.
    async touch(entries) {
      const session = atPrimary(db);
      const batches = usageBatches(entries, isSendable);
      const statements = batches.map((used) => session.prepare(STATEMENTS.touchAll).bind(used));
      if (statements.length > 0) await session.batch(statements);
    },
  };
}

/**
 * Makes a store in D1. Sends nothing to the database until the first use, which migrates.
 *
 * Not checked: that the binding is for the right database.
 *
 * @param db The binding. One store per isolate will do, and so will one per request.
 * @param options How D1 is queried.
 * @returns The store, for `createKeyring`.
 * @throws TypeError if `db` is not a D1 binding, or on an unknown option.
 * @example
 * import { env } from 'cloudflare:workers';
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: d1Store(env.DB), peppers });
 */
export function d1Store(db: D1Client, options: D1StoreOptions = {}): KeyStore {
  assertClient(db);
  const { batch = false } = readFields(options, ['batch'], 'd1Store');
  assert(typeof batch === 'boolean', 'd1Store: batch is true or false');
  let isMigrated = false;
  // Until one migration has finished, each request runs its own: a promise shared with another
  // request would never settle if that request is cancelled.
  async function migrateIfNeeded(): Promise<void> {
    if (!isMigrated) await migrate(db);
    isMigrated = true;
  }
  return afterStart(migrateIfNeeded, { ...createReads(db, batch), ...createWrites(db) });
}
