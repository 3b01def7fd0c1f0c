/**
 * Keys in Cloudflare D1, over the binding of a Worker. Imports nothing from Cloudflare.
 *
 * What is guaranteed, and what you have to ensure:
 * - **Primary.** Each method uses its own session, which begins at the primary, so it sees every
 *   acknowledged write. A session as the client is refused: the replica that it reads from may lag
 *   behind.
 * - **Requests.** On Workers a query belongs to the request that sent it, and ends with it. So
 *   look-ups of several requests are not sent as one unless you ask for it, and no request waits
 *   for another's migration.
 * - **Usage.** It is written by a timer, or by `flush`, in one request: pass the flush to
 *   `ctx.waitUntil`.
 * - **Restoring.** A database restored by Time Travel has the keys of that time: what was revoked
 *   since is live again.
 *
 * With a pepper, a row that somebody edited by hand never passes for another. D1 reads integers
 * beyond 2^53 as the nearest number, and the core refuses the record.
 */
import { assert, readFields } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, SchemeSummary } from '../../core/store.js';
import { isText } from '../bindable.js';
import type { Reads, Writes } from '../halves.js';
import { inBatches } from '../look-up-batches.js';
import type { Value } from '../rows.js';
import { toRecord, toValues } from '../rows.js';
import { MIGRATIONS } from '../schema/migrations.js';
import { knownVersion } from '../schema-version.js';
import { STATEMENTS } from '../sqlite/statements.js';
import { behind } from '../start.js';
import { usageBatches } from '../usage-batches.js';

/** A prepared statement of D1. */
export interface D1Statement {
  bind(...parameters: Value[]): D1Statement;
  all(): PromiseLike<{ readonly results: readonly unknown[] }>;
}

/** What a binding and a session have in common. */
export interface D1Session {
  prepare(sql: string): D1Statement;
  /** One transaction: all of the statements or none. */
  batch(statements: D1Statement[]): PromiseLike<readonly unknown[]>;
}

/** A D1 binding, such as `env.DB`. */
export interface D1Client extends D1Session {
  /** Missing before read replication, when there was only the primary. */
  withSession?(constraint: 'first-primary'): D1Session;
}

function checkClient(db: D1Client): void {
  const has = (name: string) => typeof Object(db)[name] === 'function';
  const binding = has('prepare') && has('batch') && !has('getBookmark');
  assert(binding, 'd1Store: pass the D1 binding itself, such as env.DB, and no session of it');
}

/** A session whose first query goes to the primary, so one for each method. */
const atPrimary = (db: D1Client): D1Session => db.withSession?.('first-primary') ?? db;

async function ask(db: D1Client, sql: string, ...values: Value[]): Promise<readonly unknown[]> {
  return (
    await atPrimary(db)
      .prepare(sql)
      .bind(...values)
      .all()
  ).results;
}

// ── Schema ────────────────────────────────────────────────────────────────────────────────────────────

const VERSIONS = MIGRATIONS.sqlite;

/** The schema's version, 0 if there is none. */
async function versionOf(db: D1Client): Promise<number> {
  let rows: readonly unknown[];
  try {
    // One round trip if there is one, and a starting isolate nearly always finds one.
    rows = await ask(db, STATEMENTS.version);
  } catch (error) {
    if ((await ask(db, STATEMENTS.hasVersion)).length > 0) throw error;
    return 0;
  }
  return knownVersion(
    (rows[0] as { readonly version?: unknown } | undefined)?.version,
    VERSIONS.length,
  );
}

/**
 * Migrates the schema to this release, all of it or nothing; {@link d1Store} calls it before its
 * first use. Any number of isolates may call it at once. If the schema is current, it only reads.
 *
 * Not checked: that nobody has changed the tables since.
 *
 * @param db As for {@link d1Store}.
 * @throws TypeError if `db` is not a D1 binding.
 * @throws Error if a newer release has migrated the database; whatever D1 throws.
 * @example
 * await migrate(env.DB); // in a Worker that a deploy step calls
 */
export async function migrate(db: D1Client): Promise<void> {
  checkClient(db);
  const found = await versionOf(db);
  if (found === VERSIONS.length) return;
  const session = atPrimary(db);
  // There is no transaction in which to read the version again. If it has changed by now, the first
  // statement fails and with it the batch: on the name of a table, or on the CHECK that no version
  // is 0.
  const guard =
    found > 0 ? [`UPDATE keyscope_schema SET version = iif(version = ${found}, version, 0)`] : [];
  const reached = `INSERT OR REPLACE INTO keyscope_schema (id, version) VALUES (1, ${VERSIONS.length})`;
  const statements = [...guard, ...VERSIONS.slice(found).flat(), reached];
  try {
    await session.batch(statements.map((sql) => session.prepare(sql)));
  } catch (error) {
    // Another isolate was faster, or it is an error.
    if ((await versionOf(db)) !== VERSIONS.length) throw error;
  }
}

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

/** How D1 is queried. */
export interface D1StoreOptions {
  /**
   * Look-ups made in one turn of the event loop are sent as one query. Default: false; on Workers,
   * leave it so.
   */
  readonly batch?: boolean | undefined;
}

// Half a surrogate pair would arrive as U+FFFD.
const isWhole = (value: unknown): value is string => isText(value) && value.isWellFormed();

function reads(db: D1Client, batch: boolean): Reads {
  const find = async (digests: readonly string[]): Promise<readonly KeyRecord[]> => {
    const [only, ...more] = digests.filter(isWhole);
    if (only === undefined) return [];
    // A list is one parameter: D1 accepts at most 100.
    const { findOneDigest, findDigests } = STATEMENTS;
    const rows =
      more.length === 0
        ? ask(db, findOneDigest, only)
        : ask(db, findDigests, JSON.stringify([only, ...more]));
    return (await rows).map(toRecord);
  };

  return {
    findByDigest: batch ? inBatches(find) : find,

    async findById(keyId) {
      const [row] = isWhole(keyId) ? await ask(db, STATEMENTS.findById, keyId) : [];
      return row === undefined ? null : toRecord(row);
    },

    async list({ entityUuid, after, limit }) {
      if (!isWhole(entityUuid)) return [];
      // Parameters are sent as JSON, which has no infinity. Everything comes after the largest
      // number.
      const { createdAt, keyId } = after ?? { createdAt: Number.MAX_VALUE, keyId: '' };
      return (await ask(db, STATEMENTS.list, entityUuid, createdAt, keyId, limit)).map(toRecord);
    },

    async summarize(now?: number) {
      const time = now ?? Date.now();
      return (await ask(db, STATEMENTS.summarize, time, time)) as readonly SchemeSummary[];
    },
  };
}

function writes(db: D1Client): Writes {
  return {
    async insert(record) {
      await ask(db, STATEMENTS.insert, ...toValues(record));
    },

    async markEnded(keyId, ending) {
      if (!isWhole(keyId)) return false;
      const [sql, time] =
        'revokedAt' in ending
          ? [STATEMENTS.revoke, ending.revokedAt]
          : [STATEMENTS.retire, ending.retireAt];
      // Judged by the row: what D1 counts as changes may include those of the service's own
      // triggers.
      return (await ask(db, `${sql} RETURNING key_id`, time, keyId)).length === 1;
    },

    // Few statements, because a request may send 1,000, or 50; and none larger than the 2 MB that a
    // parameter may have.
    async touch(entries) {
      const session = atPrimary(db);
      const statements = usageBatches(entries, isWhole).map((used) =>
        session.prepare(STATEMENTS.touchAll).bind(used),
      );
      if (statements.length > 0) await session.batch(statements);
    },
  };
}

/**
 * Makes a store in D1. Sends nothing to the database until it is used; then it migrates.
 *
 * Not checked: that the binding is the one of the database you mean.
 *
 * @param db The binding. One store per isolate will do, and so will one per request.
 * @throws TypeError if `db` is not a D1 binding, or on an unknown option.
 * @example
 * import { env } from 'cloudflare:workers';
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: d1Store(env.DB), peppers });
 */
export function d1Store(db: D1Client, options: D1StoreOptions = {}): KeyStore {
  checkClient(db);
  const { batch = false } = readFields(options, ['batch'], 'd1Store');
  assert(typeof batch === 'boolean', 'd1Store: batch is true or false');
  let migrated = false;
  // Until one request has finished, each request asks for itself: a promise shared with another
  // request would never settle if that one is cancelled.
  const ready = async () => {
    if (!migrated) await migrate(db);
    migrated = true;
  };
  return behind(ready, { ...reads(db, batch === true), ...writes(db) });
}
