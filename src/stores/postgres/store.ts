/**
 * Keys in PostgreSQL 12 or newer, over a client that the service opened: `pg` 8 (a `Pool` or, since
 * 8.21, a dedicated `Client`), `postgres` 3 (postgres.js) or PGlite. Imports no driver.
 *
 * Every parameter is a single text, with lists and records as JSON, and every row comes back as a
 * single JSON text. All drivers read text alike, however they are configured to read integers,
 * arrays, JSON or column names.
 *
 * What is guaranteed, and what you have to ensure:
 * - **Primary.** Reads and writes go to one client, which has to be one of the primary. A replica
 *   is refused, at the start and by each look-up that finds a key, because a client with several
 *   hosts may have moved on to one: it would let a key pass that was revoked a moment ago.
 * - **Durability.** `insert` and `markEnded` override `synchronous_commit = off` for themselves:
 *   otherwise the server acknowledges before it writes, and a crash undoes the revocation. Usage is
 *   written as the server is configured. Writes lost through `fsync = off`, or a replica that lags
 *   when it is promoted, are lost.
 * - **Transactions.** Each statement commits by itself; no method needs two to be atomic. In a
 *   `Client` that is in the middle of a transaction it would not, so give keyscope the pool, and
 *   let nobody return a connection to it with an open transaction, which cannot be detected: a
 *   revocation on it is rolled back with it. At an isolation level stricter than READ COMMITTED,
 *   the server rolls back all but one of several concurrent writes to a key: they are retried.
 * - **Prepared statements.** Through PgBouncer in transaction mode they need PgBouncer 1.21 with
 *   `max_prepared_statements`; otherwise pass `prepare: false`. Nothing else depends on the
 *   session.
 * - **Schema.** Names are unqualified: the tables are found through the connection's `search_path`,
 *   and created in its first schema. Set it on the role or on the connection.
 * - **Rights.** Once migrated: `USAGE` on that schema, `SELECT` on `keyscope_schema`, and `SELECT,
 *   INSERT, UPDATE (revoked_at, retire_at, last_used_at, scopes_used)` on `keyscope_keys`.
 * - **Lost connections.** A `Pool` and postgres.js reconnect, postgres.js after up to 20 s unless
 *   its `backoff` says otherwise; a `Client` does not. Both `pg` classes emit `error` when a
 *   connection is lost, which ends a process without a listener. The keyring waits for an answer
 *   for `storeTimeoutMs`; an abandoned query goes on until the driver's own time-outs or
 *   `statement_timeout` end it.
 * - **postgres.js 3.4.** Give its URL the parameter `max_pipeline=1` (its types lack the option):
 *   by default it sends queries ahead of answers, and if the server then ends its connections, as
 *   in a restart or a failover, it may leave these and all later queries unanswered until the
 *   process is restarted. Pass `fetch_types: false`, too: nobody awaits the driver's own query on
 *   each new connection, so its failure is an unhandled rejection, which ends a Node process.
 *
 * With a pepper, a row that somebody edited by hand never passes for another: the types refuse most
 * of it, the seal the rest.
 */

import { assert, readFields } from '../../core/input.js';
import type { Invalidation } from '../../core/invalidation.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, SchemeSummary } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import { isText } from '../bindable.js';
import type { Reads, Writes } from '../halves.js';
import { inBatches } from '../look-up-batches.js';
import { COLUMN_LIST } from '../rows.js';
import { MIGRATIONS } from '../schema/migrations.js';
import { knownVersion } from '../schema-version.js';
import { behind, startOnce } from '../start.js';
import { usageBatches } from '../usage-batches.js';

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────

/** A query as `pg` accepts it; if it has a name, it is prepared once per connection. */
export interface PgQuery {
  name?: string;
  text: string;
  values?: string[];
}

/** `Pool`, or a connected `Client`, of `pg`. */
export interface PgClient {
  readonly connect: unknown;
  query(query: PgQuery): PromiseLike<{ readonly rows: readonly unknown[] }>;
  /**
   * Only of a `Client`: `T` or `E` in the middle of a transaction, `null` before it is connected.
   */
  getTransactionStatus?(): string | null;
}

/**
 * What `postgres(…)` of postgres.js returns; not what its `begin` passes on, whose writes could be
 * rolled back.
 */
export interface PostgresJsClient {
  readonly begin: unknown;
  unsafe(
    text: string,
    values?: string[],
    options?: { prepare?: boolean },
  ): PromiseLike<readonly unknown[]>;
}

/** `PGlite` of `@electric-sql/pglite`; not what its `transaction` passes on. */
export interface PgliteClient {
  readonly transaction: unknown;
  query(text: string, values?: string[]): PromiseLike<{ readonly rows: readonly unknown[] }>;
  exec(text: string): PromiseLike<unknown>;
}

export type PostgresClient = PgClient | PostgresJsClient | PgliteClient;

/** How the three are queried. */
interface Session {
  /** One statement. */
  ask(
    name: string,
    text: string,
    values: string[],
    prepare: boolean,
  ): PromiseLike<readonly unknown[]>;
  /** Several statements, as one simple query: all of them or none. */
  run(script: string): PromiseLike<unknown>;
}

const has = (value: unknown, ...names: readonly string[]): boolean =>
  names.every((name) => typeof Object(value)[name] === 'function');

function sessionOf(client: PostgresClient): Session {
  if ('unsafe' in Object(client) && has(client, 'unsafe', 'begin')) {
    const sql = client as PostgresJsClient;
    const ask: Session['ask'] = (_name, text, values, prepare) =>
      sql.unsafe(text, values, { prepare });
    return { ask, run: (script) => sql.unsafe(script) };
  }
  if (has(client, 'query', 'exec', 'transaction')) {
    const db = client as PgliteClient;
    return {
      ask: (_name, text, values) => db.query(text, values).then((answer) => answer?.rows),
      run: (s) => db.exec(s),
    };
  }
  assert(
    has(client, 'query', 'connect'),
    'postgresStore: pass a Pool or Client of pg, what postgres() returned, or a PGlite; no transaction',
  );
  const pg = client as PgClient;
  const tells = has(client, 'getTransactionStatus');
  // These identify an older Client, the second one over libpq. A Pool has neither, and lends each
  // query a connection.
  const older = !tells && ('processID' in client || 'native' in client);
  assert(!older, 'postgresStore: a Client wants pg 8.21 or newer; pass a Pool');
  const query = tells ? inTurn(pg) : (asked: PgQuery) => pg.query(asked);
  const ask: Session['ask'] = (name, text, values, prepare) =>
    query(prepare ? { name: `keyscope_${name}`, text, values } : { text, values }).then(
      (answer) => answer?.rows,
    );
  return { ask, run: (text) => query({ text }) };
}

/**
 * One query at a time: a `Client` that is queried while it is busy warns, and since pg 9 refuses.
 */
function inTurn(client: PgClient): PgClient['query'] {
  let last: PromiseLike<unknown> = Promise.resolve();
  const send = (query: PgQuery) => {
    const status = client.getTransactionStatus?.();
    // The query would wait for a connection that may never come.
    if (status === null)
      throw new Error('the Client is not connected; await client.connect() first');
    // Not detected: a BEGIN that somebody else has queued and the server has not answered.
    if (status === 'T' || status === 'E') {
      throw new Error(
        'the Client is in the middle of a transaction; give keyscope the pool, or a Client of its own',
      );
    }
    return client.query(query);
  };
  return (query) => {
    const answer = last.then(() => send(query));
    last = answer.then(undefined, () => {});
    return answer;
  };
}

// ── Errors ────────────────────────────────────────────────────────────────────────────────────────────

const UNPREPARED = '; behind a PgBouncer that keeps no prepared statements pass { prepare: false }';
/** What to do, by SQLSTATE. */
const ADVICE: Readonly<Record<string, string>> = {
  '26000': UNPREPARED,
  '42P05': UNPREPARED,
  '25006': '; pass a client of the primary',
  '42501':
    '; run migrate in a deploy step with a role that may create tables, then GRANT what keyscope uses',
  '3F000': '; GRANT USAGE on a schema that exists, and lead search_path to it',
  '22P05': '; keyscope wants a database in UTF8',
};

/**
 * Throws the driver's message without what it attached: the server's details quote rows,
 * postgres.js keeps the parameters, and both contain digests and seals. Messages name tables,
 * columns and constraints.
 */
function refuse(error: unknown): never {
  const { message, code } = Object(error) as {
    readonly message?: unknown;
    readonly code?: unknown;
  };
  const advice = Object.hasOwn(ADVICE, String(code)) ? ADVICE[String(code)] : '';
  // The error of a refused connection may have no message.
  throw Object.assign(
    new Error(`keyscope: PostgreSQL: ${message || code || 'the connection failed'}${advice}`),
    { code },
  );
}

const REPLICA = 'keyscope: this is a replica, which lags behind; pass a client of the primary';

type Ask = (
  name: keyof typeof STATEMENTS,
  ...values: readonly string[]
) => Promise<readonly unknown[]>;

const AS_IT_IS =
  'keyscope: PostgreSQL: the client must return rows as objects, and text as it is; pass one whose types and ' +
  'transforms leave text alone';

/**
 * The content of a row's only column. If it cannot be read, the error does not quote it, as the
 * parser's would.
 */
function readAnswer(row: unknown): unknown {
  const { answer } = Object(row);
  try {
    if (typeof answer === 'string') return JSON.parse(answer);
  } catch {}
  throw new Error(AS_IT_IS);
}

/** Serialization failure and deadlock: the whole statement was rolled back. */
const AGAIN: ReadonlySet<unknown> = new Set(['40001', '40P01']);
/**
 * Of concurrent writes to one key, one succeeds each time. After this long, nobody is waiting any
 * more.
 */
const PATIENCE_MS = 5_000;

/** The rows of a statement. */
const asking =
  ({ ask }: Session, prepare: boolean): Ask =>
  async (name, ...values) => {
    const until = performance.now() + PATIENCE_MS;
    const send = (tries: number): PromiseLike<readonly unknown[]> =>
      ask(name, STATEMENTS[name], [...values], prepare).then(undefined, (error: unknown) => {
        if (!AGAIN.has(Object(error).code) || performance.now() > until) return refuse(error);
        // Spread out, so that they do not collide again: some milliseconds, more with each attempt.
        return pause(Math.random() * Math.min(2 ** tries, 50)).then(() => send(tries + 1));
      });
    const rows = await send(1);
    if (!Array.isArray(rows)) throw new Error(AS_IT_IS);
    return rows.map(readAnswer);
  };

// ── Statements ────────────────────────────────────────────────────────────────────────────────────────

/**
 * A row as one JSON array: a seventh less time than sixteen columns, four of them JSON. Last, who
 * answers.
 */
const SELECT = `SELECT json_build_array(${COLUMN_LIST}, pg_is_in_recovery())::text AS answer FROM keyscope_keys`;

/**
 * A condition for writes that is always true: within their transaction, an acknowledged commit is
 * on disk.
 */
const DURABLY = `set_config('synchronous_commit', replace(current_setting('synchronous_commit'), 'off', 'on'), true) <> ''`;

const STATEMENTS = {
  start: `
    SELECT json_build_array(to_regclass('keyscope_schema') IS NOT NULL, pg_is_in_recovery())::text AS answer`,
  version: `
    SELECT to_json(coalesce(max(version), 0))::text AS answer FROM keyscope_schema`,
  // The names are the record's, in column order.
  insert: `
    INSERT INTO keyscope_keys (${COLUMN_LIST})
    SELECT * FROM json_to_record($1::text::json) AS record (
      "keyId" uuid, name text, digest text, seal text, "entityUuid" uuid, "accessibleEntities" uuid[], scopes text[],
      justification text, metadata jsonb, "createdAt" bigint, "expiresAt" bigint, "revokedAt" bigint,
      "retireAt" bigint, "rotatedFrom" uuid, "lastUsedAt" bigint, "scopesUsed" jsonb)
    WHERE ${DURABLY}`,
  // A keyring with one pepper looks up a single digest: a tenth less time than as a list.
  findDigest: `
    ${SELECT} WHERE digest = $1::text`,
  findDigests: `
    ${SELECT} WHERE digest = ANY (ARRAY(SELECT json_array_elements_text($1::text::json)))`,
  findById: `
    ${SELECT} WHERE key_id = $1::text::uuid`,
  list: `
    ${SELECT} WHERE entity_uuid = $1::text::uuid AND (created_at, key_id) < ($2::text::bigint, $3::text::uuid)
    ORDER BY created_at DESC, key_id DESC LIMIT $4::text::bigint`,
  revoke: `
    UPDATE keyscope_keys SET revoked_at = $2::text::bigint
    WHERE key_id = $1::text::uuid AND revoked_at IS NULL AND ${DURABLY}
    RETURNING 'true' AS answer`,
  retire: `
    UPDATE keyscope_keys SET retire_at = $2::text::bigint
    WHERE key_id = $1::text::uuid AND retire_at IS NULL AND revoked_at IS NULL AND ${DURABLY}
    RETURNING 'true' AS answer`,
  // Rows are locked in the order of their ids before the first is written: batches wait for each
  // other but never in a cycle. A scope's time that is not a number fails no batch: JSON compares
  // anything.
  touch: `
    WITH used AS MATERIALIZED (
      SELECT stored.key_id, entry."lastUsedAt" AS last_used_at, entry."scopesUsed" AS scopes_used
      FROM json_to_recordset($1::text::json) AS entry ("keyId" uuid, "lastUsedAt" bigint, "scopesUsed" jsonb)
      JOIN keyscope_keys AS stored ON stored.key_id = entry."keyId"
      ORDER BY stored.key_id
      FOR NO KEY UPDATE OF stored
    )
    UPDATE keyscope_keys AS stored SET
      last_used_at = greatest(stored.last_used_at, used.last_used_at),
      scopes_used = stored.scopes_used || (
        SELECT coalesce(jsonb_object_agg(scope, greatest(stored.scopes_used -> scope, time)), '{}')
        FROM jsonb_each(used.scopes_used) AS entry (scope, time))
    FROM used WHERE stored.key_id = used.key_id`,
  summarize: `
    SELECT json_build_object('scheme', scheme, 'live', count(*), 'lastUsedAt', max(last_used_at))::text AS answer
    FROM (
      SELECT substr(digest, 1, greatest(strpos(digest, '$') - 1, 0)) AS scheme, last_used_at
      FROM keyscope_keys
      WHERE revoked_at IS NULL
        AND (retire_at IS NULL OR retire_at > $1::text::bigint) AND (expires_at IS NULL OR expires_at > $1::text::bigint)
    ) AS live
    GROUP BY scheme`,
} as const;

// ── Schema ────────────────────────────────────────────────────────────────────────────────────────────

const VERSIONS = MIGRATIONS.postgres;
/**
 * The advisory lock's number: the letters of "keyscope", so that it collides with no other by
 * chance.
 */
const LOCK = '7738725071202512997';

/** The schema's version, 0 if there is none. */
async function versionOf(ask: Ask): Promise<number> {
  const [[exists, isReplica] = []] = (await ask('start')) as readonly (readonly boolean[])[];
  if (isReplica) throw new Error(REPLICA);
  return knownVersion(exists ? (await ask('version'))[0] : 0, VERSIONS.length);
}

/**
 * All missing versions as one simple query, which is one transaction, whichever connection of a
 * pool runs it. It reads the version again under the lock: another process may have been faster. It
 * must then see what that process wrote, which it would not at a stricter isolation level.
 */
const SCRIPT = `
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
DO $migrate$
DECLARE
  found integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(${LOCK});
  -- Not to_regclass, whose answer from before the wait for the lock may be remembered.
  IF EXISTS (SELECT FROM pg_class WHERE relname = 'keyscope_schema' AND pg_table_is_visible(oid)) THEN
    SELECT coalesce(max(version), 0) INTO found FROM keyscope_schema;
  END IF;
${VERSIONS.map(
  (statements, i) => `
  IF found < ${i + 1} THEN${statements.map((sql) => `\n    EXECUTE $statement$${sql}$statement$;`).join('')}
    INSERT INTO keyscope_schema (id, version) VALUES (1, ${i + 1}) ON CONFLICT (id) DO UPDATE SET version = ${i + 1};
  END IF;`,
).join('')}
END
$migrate$`;

/** Migrates, unless the schema is current. */
async function bring(session: Session): Promise<void> {
  // Not prepared: asked once.
  const ask = asking(session, false);
  if ((await versionOf(ask)) === VERSIONS.length) return;
  await session.run(SCRIPT).then(undefined, refuse);
  await versionOf(ask);
}

/**
 * Migrates the schema to this release, all of it or nothing; {@link postgresStore} calls it before
 * its first use. Any number of processes may call it at once. If the schema is current, it only
 * reads.
 *
 * Not checked: that nobody has changed the tables since.
 *
 * @param client As for {@link postgresStore}.
 * @throws TypeError if `client` is not such a client.
 * @throws Error if a newer release has migrated the database, on a replica, or if PostgreSQL
 *   refuses.
 * @example
 * await migrate(new pg.Pool({ connectionString })); // in a deploy step, with a role that may create tables
 */
export async function migrate(client: PostgresClient): Promise<void> {
  await bring(sessionOf(client));
}

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

/** How the server is queried. */
export interface PostgresStoreOptions {
  /** Look-ups made in one turn of the event loop are sent as one query. Default: true. */
  readonly batch?: boolean | undefined;
  /** Statements are prepared once per connection. Default: true. */
  readonly prepare?: boolean | undefined;
}

/**
 * The record in a selected row, whose columns are in the order of the list. The core checks its
 * content.
 */
function readRow(row: unknown): KeyRecord {
  const [
    keyId,
    name,
    digest,
    seal,
    entityUuid,
    accessibleEntities,
    scopes,
    justification,
    ...more
  ] = row as unknown[];
  const [
    metadata,
    createdAt,
    expiresAt,
    revokedAt,
    retireAt,
    rotatedFrom,
    lastUsedAt,
    scopesUsed,
    isReplica,
  ] = more;
  if (isReplica) throw new Error(REPLICA);
  const sealed = {
    keyId,
    name,
    digest,
    seal,
    entityUuid,
    accessibleEntities,
    scopes,
    justification,
    metadata,
  };
  const record = {
    ...sealed,
    createdAt,
    expiresAt,
    revokedAt,
    retireAt,
    rotatedFrom,
    lastUsedAt,
    scopesUsed,
  };
  return record as unknown as KeyRecord;
}

// Anything but a lower-case UUID is nobody's id. It is never sent: `uuid` would refuse it, or fold
// its case.
function reads(ask: Ask, batch: boolean): Reads {
  const find = async (digests: readonly string[]): Promise<KeyRecord[]> => {
    const [only, ...more] = digests.filter((digest) => isText(digest) && digest.isWellFormed());
    if (only === undefined) return [];
    const asked =
      more.length === 0
        ? ask('findDigest', only)
        : ask('findDigests', JSON.stringify([only, ...more]));
    return (await asked).map(readRow);
  };

  return {
    findByDigest: batch ? inBatches(find) : find,

    async findById(keyId) {
      const [row] = isUuid(keyId) ? await ask('findById', keyId) : [];
      return row === undefined ? null : readRow(row);
    },

    async list({ entityUuid, after, limit }) {
      if (!isUuid(entityUuid)) return [];
      // Everything comes after the largest 64-bit integer.
      const { createdAt, keyId } = after ?? { createdAt: '9223372036854775807', keyId: entityUuid };
      return (await ask('list', entityUuid, String(createdAt), keyId, String(limit))).map(readRow);
    },

    summarize: async (now?: number) =>
      (await ask('summarize', String(now ?? Date.now()))) as SchemeSummary[],
  };
}

function writes(ask: Ask): Writes {
  return {
    // Duplicates are refused by the primary key and by the digest's UNIQUE.
    async insert(record) {
      await ask('insert', JSON.stringify(record));
    },

    async markEnded(keyId, ending) {
      if (!isUuid(keyId)) return false;
      const rows =
        'revokedAt' in ending
          ? await ask('revoke', keyId, String(ending.revokedAt))
          : await ask('retire', keyId, String(ending.retireAt));
      return rows.length === 1;
    },

    async touch(entries) {
      for (const batch of usageBatches(entries, isUuid)) await ask('touch', batch);
    },
  };
}

/**
 * Makes a store in PostgreSQL. Sends nothing to the server until it is used; then it migrates,
 * once.
 *
 * Not checked: that nobody else uses the client in a transaction, the server's `fsync`, the rights
 * on the tables.
 *
 * @param client A `Pool` or a connected `Client` of `pg`, what `postgres()` returned, or a
 *   `PGlite`. keyscope never closes it.
 * @throws TypeError if `client` is not such a client, or on an unknown option.
 * @example
 * const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 2_000 });
 * pool.on('error', (error) => log.warn(error));
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: postgresStore(pool), peppers });
 */
export function postgresStore(
  client: PostgresClient,
  options: PostgresStoreOptions = {},
): KeyStore {
  const session = sessionOf(client);
  const { batch = true, prepare = true } = readFields(
    options,
    ['batch', 'prepare'],
    'postgresStore',
  );
  for (const option of [batch, prepare]) {
    assert(typeof option === 'boolean', 'postgresStore: batch and prepare are true or false');
  }
  const ask = asking(session, prepare === true);
  return behind(
    startOnce(() => bring(session)),
    { ...reads(ask, batch === true), ...writes(ask) },
  );
}

// ── Invalidation ──────────────────────────────────────────────────────────────────────────────────────

const CHANNEL = 'keyscope_revoked';
const NOTIFY = `SELECT pg_notify('${CHANNEL}', $1::text)`;
/** How long after a connection was lost, or failed to open, the next one is made. */
const RETRY_MS = 1_000;

/**
 * A `Client` of `pg` that is not connected yet. A `Pool` will not do: it would listen on a
 * connection it lends.
 */
export interface PgListener {
  connect(): PromiseLike<unknown>;
  query(query: PgQuery): PromiseLike<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown;
  end(): PromiseLike<unknown>;
  /** Lets a process that has nothing else to do end, except while it publishes. */
  unref?(): void;
  ref?(): void;
}

/** What `postgres(…)` of postgres.js returns. */
export interface PostgresJsChannel {
  listen(channel: string, listener: (payload: string) => void): PromiseLike<unknown>;
  notify(channel: string, payload: string): PromiseLike<unknown>;
}

/** `PGlite` of `@electric-sql/pglite`: one process, so only for tests. */
export interface PgliteChannel {
  listen(channel: string, listener: (payload: string) => void): PromiseLike<unknown>;
  query(text: string, values?: string[]): PromiseLike<unknown>;
}

/**
 * What {@link postgresInvalidation} accepts. For `pg`, a function that makes a `Client`: again when
 * one is lost.
 */
export type PostgresChannel = PostgresJsChannel | PgliteChannel | (() => PgListener);

type Hear = (payload: unknown) => void;

/** Two halves: the listener is called with whatever arrives, until the process ends. */
interface Channel {
  listen(hear: Hear): PromiseLike<unknown>;
  notify(keyId: string): PromiseLike<unknown>;
}

/** A pause that does not keep the process alive. */
const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => {
    (setTimeout(resolve, ms) as { unref?(): void }).unref?.();
  });

/**
 * Makes a client listen. If that fails, or its connection is lost, it is ended; `lost` may be
 * called repeatedly.
 */
async function listening(client: PgListener, hear: Hear, lost: () => void): Promise<PgListener> {
  const end = () => {
    lost();
    client.end().then(undefined, () => {});
  };
  client.on('error', end);
  client.on('notification', ({ payload }) => hear(payload));
  try {
    await client.connect();
    await client.query({ text: `LISTEN ${CHANNEL}` });
  } catch (error) {
    // A standby accepts the connection but refuses LISTEN: left open, there would be one more each
    // second.
    end();
    throw error;
  }
  client.unref?.();
  return client;
}

const NO_CHANNEL =
  'postgresInvalidation: pass () => new pg.Client(…), what postgres() returned, or a PGlite; no Pool';

/**
 * A dedicated connection that listens and notifies: opened on first use, and again a second after
 * it was lost or failed to open. One at a time: what is left of the last one is ended, and a
 * publisher waits for the next one meanwhile.
 */
function pgChannel(make: () => PgListener): Channel {
  // At once: later, nobody would be told of a mistake. A Pool would hear nothing; no Client has its
  // count.
  const first = make();
  assert(has(first, 'connect', 'query', 'on', 'end') && !('totalCount' in first), NO_CHANNEL);
  let hearing: Hear | undefined;
  let current: Promise<PgListener> | undefined;

  function begin(coming: Promise<PgListener>): Promise<PgListener> {
    const lost = () => {
      if (current === opening) begin(pause(RETRY_MS).then(make));
    };
    const opening = coming.then((client) =>
      listening(client, (payload) => hearing?.(payload), lost),
    );
    opening.catch(lost);
    current = opening;
    return opening;
  }

  const connection = () => current ?? begin(Promise.resolve(first));

  let telling = 0;
  async function notify(keyId: string): Promise<void> {
    const client = await connection();
    telling += 1;
    client.ref?.();
    try {
      await client.query({ text: NOTIFY, values: [keyId] });
    } finally {
      telling -= 1;
      if (telling === 0) client.unref?.();
    }
  }

  return {
    listen(hear) {
      hearing = hear;
      return connection();
    },
    notify,
  };
}

function channelOf(client: PostgresChannel): Channel {
  if (has(client, 'listen', 'notify')) {
    const sql = client as PostgresJsChannel;
    return {
      listen: (hear) => sql.listen(CHANNEL, hear),
      notify: (keyId) => sql.notify(CHANNEL, keyId),
    };
  }
  if (has(client, 'listen', 'query')) {
    const db = client as PgliteChannel;
    return {
      listen: (hear) => db.listen(CHANNEL, hear),
      notify: (keyId) => db.query(NOTIFY, [keyId]),
    };
  }
  assert(typeof client === 'function', NO_CHANNEL);
  return pgChannel(client as () => PgListener);
}

/**
 * Tells other processes over LISTEN and NOTIFY which key has ended, for `cacheStore`. Carries only
 * key ids, on the database's channel `keyscope_revoked`.
 *
 * Listens on a dedicated connection, which PgBouncer in transaction mode cannot provide: pass one
 * that goes to the server. If that is lost, postgres.js makes another, and for `pg` this does so, a
 * second later. Messages published in between are missed: a key that was revoked then works for at
 * most `maxStalenessMs`, as without a channel. How long a connection may take to open is the
 * `Client`'s own `connectionTimeoutMillis`: without one, a connection that hangs is waited for. A
 * standby refuses LISTEN: `pg` tries again each second, postgres.js only once its connection is
 * lost.
 *
 * Not checked: who publishes. Whoever may use the database can make caches ask it again, and
 * nothing worse.
 *
 * @param client For `pg`, a function that makes a `Client`, which is connected here; what
 *   `postgres()` returned; or a `PGlite`. The function is called at once, and again for each
 *   further connection.
 * @throws TypeError if `client` is none of them, or makes anything else.
 * @example
 * const settings = { connectionString, keepAlive: true, connectionTimeoutMillis: 5_000 };
 * const invalidation = postgresInvalidation(() => new pg.Client(settings));
 * const store = cacheStore(postgresStore(pool), { cache, maxStalenessMs: 10_000, invalidation });
 */
export function postgresInvalidation(client: PostgresChannel): Invalidation {
  const channel = channelOf(client);
  const listeners = new Set<(keyId: string) => void>();
  const hear = (payload: unknown) => {
    if (isUuid(payload)) for (const listener of listeners) listener(payload);
  };
  let listening: Promise<unknown> | undefined;

  return {
    async publish(keyId) {
      if (isUuid(keyId)) await channel.notify(keyId);
    },
    // Once begun, it is retried whether or not the first attempt succeeds: for `pg` above, by
    // postgres.js itself.
    async subscribe(listener) {
      listeners.add(listener);
      listening ??= Promise.resolve(channel.listen(hear)).catch(() => {});
      await listening;
    },
  };
}
