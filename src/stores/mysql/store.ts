/**
 * Keys in MySQL 8.0.16 or newer or MariaDB 10.6 or newer, over a pool or a connection that the
 * service opened with `mysql2/promise` or `mariadb`, each in version 3 or newer. Imports no driver.
 * Tested on MariaDB; of MySQL it uses what the manual documents.
 *
 * What is guaranteed, and what you have to ensure:
 * - **A dedicated handle.** Give keyscope its own connection, or a pool that nobody else takes
 *   connections from. Look-ups run outside any transaction, so they see every acknowledged write,
 *   even at REPEATABLE READ. In a transaction that somebody left open they would see the past: on
 *   MariaDB a row that is found there throws, and on either server one that is found with
 *   autocommit off. MySQL cannot be asked, so a transaction left open there goes unnoticed.
 * - **Writes** are one statement each, committed before they are acknowledged, and throw if the
 *   connection is in the middle of a transaction. A pool replaces a lost connection; a single
 *   connection stays lost, and serves one request at a time.
 * - **Primary.** A read-only server is refused, at the start and by each look-up that finds a key,
 *   because a cluster of pools or a proxy may send it elsewhere: a replica lags, and would let a
 *   key pass that was revoked a moment ago. One that may be written to cannot be told from the
 *   primary.
 * - **Durability** is up to the server: with `innodb_flush_log_at_trx_commit` or `sync_binlog`
 *   other than 1, a crash undoes what was acknowledged in the last second, including revocations.
 * - **Session.** utf8mb4, autocommit on, `sql_safe_updates` off; otherwise the first use is
 *   refused. The SQL mode does not matter, except for `EMPTY_STRING_IS_NULL`, which is refused. Nor
 *   do `sql_select_limit` and the drivers' options: those that change how rows are read are
 *   switched off with each statement or read alike, and any effect that remains is refused.
 * - **Rights.** To migrate: CREATE, TRIGGER, SELECT, INSERT and UPDATE on the database. Afterwards:
 *   SELECT on both tables, INSERT and UPDATE on `keyscope_keys`. The triggers run as the user that
 *   migrated: keep that user and its rights, also on a server that a dump is restored to, or no key
 *   can be revoked (error 1449). With a binary log, MySQL lets only SUPER create triggers, unless
 *   `log_bin_trust_function_creators` is on (error 1419).
 *
 * With a pepper, a row that somebody edited by hand never passes for another. Lists leave the
 * database as text: drivers that parse JSON themselves end the process over a row with invalid
 * JSON.
 */
import { assert, readFields } from '../../core/input.js';
import type { KeyRecord } from '../../core/record.js';
import type { KeyStore, SchemeSummary, UsageEntry } from '../../core/store.js';
import { isUuid } from '../../core/uuid.js';
import type { Reads, Writes } from '../halves.js';
import { inBatches } from '../look-up-batches.js';
import type { Value } from '../rows.js';
import { COLUMN_LIST, toRecord, toValues, whole } from '../rows.js';
import { MIGRATIONS } from '../schema/migrations.js';
import { knownVersion } from '../schema-version.js';
import { behind, startOnce } from '../start.js';
import { usageBatches } from '../usage-batches.js';

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────

/** A statement as both drivers accept it, with their own options beside it. */
export interface MysqlStatement {
  readonly sql: string;
}

/** A connection of the promise API. */
export interface MysqlConnection {
  execute(statement: MysqlStatement, values?: Value[]): Promise<unknown>;
  query(statement: MysqlStatement): Promise<unknown>;
}

/** A connection lent by a pool. */
export interface MysqlLoan extends MysqlConnection {
  release(): unknown;
  destroy(): unknown;
}

/** A pool of the promise API. */
export interface MysqlPool extends MysqlConnection {
  getConnection(): Promise<MysqlLoan>;
}

/** What `createPool` or `createConnection` of `mysql2/promise` or of `mariadb` returned. */
export type MysqlClient = MysqlConnection | MysqlPool;

/** How both are queried. Its errors say what the server said. */
interface Link {
  /** One statement, on whichever connection is free. */
  ask(sql: string, values?: Value[]): Promise<unknown>;
  /** Several statements on one connection, with none of keyscope's own between them. */
  alone<T>(work: (on: Session) => Promise<T>): Promise<T>;
}

/** One connection, for as long as keyscope holds it. */
interface Session {
  ask(sql: string, values?: Value[]): Promise<unknown>;
  /** Runs a statement that cannot be prepared. */
  run(sql: string): Promise<unknown>;
  /** Marks the connection's state as unknown: it does not return to the pool. */
  spoil(): void;
}

// Overrides what the connection was opened with. Not `typeCast`: mysql2 caches compiled row
// readers, which would run without the `typeCast` that they were made for.
const OPTIONS = { namedPlaceholders: false, rowsAsArray: false, nestTables: false } as const;
const statement = (sql: string): MysqlStatement => ({ sql, ...OPTIONS });

const isPool = (client: MysqlClient): client is MysqlPool =>
  typeof Object(client).getConnection === 'function';

function checkClient(client: MysqlClient): void {
  const { execute, query, promise, of } = Object(client);
  // A cluster of pools, which has an `of`, cannot execute, although the one of mysql2 has the
  // method.
  const usable = typeof execute === 'function' && typeof query === 'function' && of === undefined;
  assert(usable, 'mysqlStore: pass a pool or a connection of mysql2/promise or mariadb');
  // Both drivers have callback APIs with the same names, where `execute` has one more parameter;
  // mysql2's has `promise()`.
  const byPromise = promise === undefined && execute.length < 3;
  assert(
    byPromise,
    "mysqlStore: pass the promise API, of mysql2 what .promise() returns, or 'mysql2/promise'; of mariadb no callbacks",
  );
}

/**
 * The end of each connection's queue, shared by all stores on it: a server lock belongs to the
 * connection, too.
 */
const queues = new WeakMap<object, Promise<unknown>>();

function queued<T>(connection: object, work: () => Promise<T>): Promise<T> {
  const result = (queues.get(connection) ?? Promise.resolve()).then(work);
  queues.set(
    connection,
    result.catch(() => {}),
  );
  return result;
}

const askOn =
  (client: MysqlConnection) =>
  (sql: string, values: Value[] = []): Promise<unknown> =>
    plainly(() => client.execute(statement(sql), values));

const sessionOn = (connection: MysqlConnection, spoil: () => void): Session => ({
  ask: askOn(connection),
  run: (sql) => plainly(() => connection.query(statement(sql))),
  spoil,
});

function linkTo(client: MysqlClient): Link {
  checkClient(client);
  const ask = askOn(client);
  if (!isPool(client)) {
    return {
      ask: (sql, values) => queued(client, () => ask(sql, values)),
      alone: (work) => queued(client, () => work(sessionOn(client, () => {}))),
    };
  }
  return {
    ask,
    async alone(work) {
      const loan = await plainly(() => client.getConnection());
      let spoilt = false;
      try {
        return await work(
          sessionOn(loan, () => {
            spoilt = true;
          }),
        );
      } finally {
        await plainly(async () => (spoilt ? loan.destroy() : loan.release())).catch(() => {});
      }
    },
  };
}

// ── Errors ────────────────────────────────────────────────────────────────────────────────────────────

const NO_TABLE = 1146;
/**
 * A deadlock's victim, or on MariaDB 11 a row that changed since the transaction began. All of it
 * is rolled back.
 */
const AGAIN: ReadonlySet<unknown> = new Set([1213, 1020]);

/** By error number, where the server's own message quotes a digest or does not say what to do. */
const INSTEAD: Readonly<Record<number, string>> = {
  1062: 'a key with this id or digest exists already',
  1568: 'the connection is in the middle of a transaction; give keyscope a pool or connection of its own',
};
/** By error number: what to do, in addition to what the server says. */
const ADVICE: Readonly<Record<number, string>> = {
  1419: '; migrate as a user with SUPER, or set log_bin_trust_function_creators',
  1449: '; the triggers run as the user that migrated: DELETE FROM keyscope_schema, and migrate as one that stays',
};

interface Fault {
  readonly errno?: number;
  readonly code?: unknown;
  readonly sqlMessage?: string | null;
  readonly message?: string;
}

/**
 * The error without what the driver attached: mariadb can be told to log parameters, which are then
 * part of the message, digests and seals included.
 */
function plain(error: unknown): Error {
  const { errno = 0, code, sqlMessage, message } = Object(error) as Fault;
  // The error of a refused connection may have no message.
  const said = INSTEAD[errno] ?? `${sqlMessage || message || code}${ADVICE[errno] ?? ''}`;
  return Object.assign(new Error(`keyscope: ${said}`), { errno, code });
}

async function plainly<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw plain(error);
  }
}

const errnoOf = (error: unknown): unknown => (error as Fault).errno;

// ── Answers ───────────────────────────────────────────────────────────────────────────────────────────

type Row = Readonly<Record<string, unknown>>;

/**
 * mysql2 returns `[rows, fields]`; mariadb returns the rows, or the same as mysql2 with
 * `metaAsArray`.
 */
function rowsOf(answer: unknown): readonly Row[] {
  const rows = Array.isArray(answer) && Array.isArray(answer[0]) ? answer[0] : answer;
  return Array.isArray(rows) ? rows : [];
}

/** A column of the first row. */
const pick = (answer: unknown, column: string): unknown => rowsOf(answer)[0]?.[column];

/** The number of rows that a write affected. */
const affected = (answer: unknown): number =>
  Number(Object(Array.isArray(answer) ? answer[0] : answer).affectedRows);

/**
 * Whether a statement reads what was last acknowledged, queried with each row: not with autocommit
 * off, where all later look-ups would see the data as the first one did, and not in a transaction
 * that somebody began. Only MariaDB reads the comment as SQL; MySQL has no such variable.
 */
const SETTLED = '@@autocommit = 1 /*M! AND @@in_transaction = 0 */';

/** Whether it is no replica. `read_only` is a number, or on newer versions of MariaDB a text. */
const WRITABLE = "CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0";

/** Columns of each row that is read: what it says is true now if both are. */
const STATE = `(${SETTLED}) AS settled, (${WRITABLE}) AS writable`;

const UNSETTLED =
  'keyscope: the connection has autocommit off, or is in the middle of a transaction; look-ups would miss what was ' +
  'revoked since. Give keyscope a pool or connection of its own, with autocommit on';
const READ_ONLY =
  'keyscope: this server is read-only, as replicas are, which lag; connect to the primary';

const isTrue = (value: unknown): boolean => whole(value) === 1;

/** The rows, if they say what was last acknowledged. */
function current(rows: readonly Row[]): readonly Row[] {
  for (const { settled, writable } of rows) {
    if (!isTrue(writable)) throw new Error(READ_ONLY);
    if (!isTrue(settled)) throw new Error(UNSETTLED);
  }
  return rows;
}

/** Has a character of four bytes in UTF-8, which the older `utf8` cannot hold. */
const FOX = 'é🦊';

const PROBE = `
  SELECT ? AS echo, ? AS nothing, ${Number.MAX_SAFE_INTEGER} AS big, @@sql_safe_updates AS safe, ${STATE},
    (@@character_set_client = 'utf8mb4' AND @@character_set_connection = 'utf8mb4') AS wide`;

const AS_IT_IS =
  'the driver must return rows as objects, text as strings and integers as such; connect without a typeCast';

/** In this order: what is not a row has no columns. */
const NEEDS: readonly (readonly [(row: Row) => boolean, string])[] = [
  [({ echo, big }) => typeof echo === 'string' && whole(big) === Number.MAX_SAFE_INTEGER, AS_IT_IS],
  [
    ({ echo, wide }) => echo === FOX && isTrue(wide),
    "connect with charset 'utf8mb4', or texts are lost",
  ],
  [
    ({ nothing }) => nothing === '',
    'connect without the SQL mode EMPTY_STRING_IS_NULL, or texts are lost',
  ],
  [
    ({ safe }) => whole(safe) === 0,
    'connect with sql_safe_updates off: it refuses joins, and usage is written by one',
  ],
];

/** Checks once that the connection has what the statements below rely on. */
async function inspect({ ask }: Link): Promise<void> {
  const answer = await ask(PROBE, [FOX, '']).catch((error: Fault) => {
    // An error without a code comes from neither server nor network: mysql2 is closed, or could not
    // read the row.
    throw error.code === undefined
      ? new Error(`${error.message}; where it is open, ${AS_IT_IS}`)
      : error;
  });
  const row = rowsOf(answer)[0] ?? {};
  const lacking = NEEDS.find(([holds]) => !holds(row));
  if (lacking !== undefined) throw new Error(`keyscope: ${lacking[1]}`);
  current([row]);
}

// ── Writing ───────────────────────────────────────────────────────────────────────────────────────────

/** How many times a deadlock's victim is tried in all. */
const TRIES = 4;

/**
 * Runs one statement, which is a transaction by itself. `SET TRANSACTION` applies to the next one
 * and throws inside another, on both servers: so nothing is acknowledged that somebody else's
 * rollback could undo, and nothing of theirs is committed. The commit is for a connection whose
 * autocommit was switched off since.
 */
async function commit(on: Session, sql: string, values: Value[]): Promise<unknown> {
  await on.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE');
  try {
    const answer = await on.ask(sql, values);
    // Overrides whatever `completion_type` does after a commit.
    await on.run('COMMIT AND NO CHAIN NO RELEASE');
    return answer;
  } catch (error) {
    await on.run('ROLLBACK AND NO CHAIN NO RELEASE').catch(on.spoil);
    throw error;
  }
}

/** Returns how many rows a statement wrote. */
async function write(link: Link, sql: string, values: Value[]): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      return affected(await link.alone((on) => commit(on, sql, values)));
    } catch (error) {
      if (attempt === TRIES || !AGAIN.has(errnoOf(error))) throw error;
    }
  }
}

// ── Schema ────────────────────────────────────────────────────────────────────────────────────────────

const VERSIONS = MIGRATIONS.mysql;

/** The schema's version, 0 if there is none or a migration was interrupted. */
async function versionOf(ask: Link['ask']): Promise<number> {
  let version: unknown;
  try {
    version = pick(await ask('SELECT version FROM keyscope_schema WHERE id = 1'), 'version');
  } catch (error) {
    if (errnoOf(error) !== NO_TABLE) throw error;
  }
  return knownVersion(version, VERSIONS.length);
}

/** One lock per database, whose name may be longer than a lock's may be. */
const LOCK = "CONCAT('keyscope_schema_', CRC32(DATABASE()))";
const LOCK_SECONDS = 30;
const VERSION =
  'INSERT INTO keyscope_schema (id, version) VALUES (1, ?) ON DUPLICATE KEY UPDATE version = ?';

async function bringUp(on: Session): Promise<void> {
  const got = pick(await on.ask(`SELECT GET_LOCK(${LOCK}, ${LOCK_SECONDS}) AS got`), 'got');
  if (!isTrue(got))
    throw new Error(
      `keyscope: another process has been migrating for ${LOCK_SECONDS} s; try again`,
    );
  try {
    // Read again under the lock: another process may have been faster.
    const missing = VERSIONS.slice(await versionOf(on.ask)).flat();
    for (const sql of missing) await on.run(sql);
    // Last: DDL commits statement by statement, and an interrupted migration starts over.
    if (missing.length > 0) await commit(on, VERSION, [VERSIONS.length, VERSIONS.length]);
  } finally {
    // Otherwise the lock would return to the pool with the connection.
    await on.ask(`SELECT RELEASE_LOCK(${LOCK}) AS released`).catch(on.spoil);
  }
}

async function bring(link: Link): Promise<void> {
  await inspect(link);
  if ((await versionOf(link.ask)) < VERSIONS.length) await link.alone(bringUp);
}

/**
 * Migrates the schema to this release; {@link mysqlStore} calls it before its first use. Any number
 * of processes may call it at once. If the schema is current, it only reads. Not atomic, because
 * DDL never is here: the next run completes one that was interrupted.
 *
 * Not checked: that nobody has changed the tables since; that they are the primary's on a cluster
 * where `GET_LOCK` holds on only one node: there, migrate from one place.
 *
 * @param client As for {@link mysqlStore}.
 * @throws TypeError if `client` is not such a client.
 * @throws Error if a newer release has migrated the database, the connection is unsuitable, or the
 *   server refuses.
 * @example
 * await migrate(mysql.createPool(url)); // in a deploy step, with a user that may create tables and triggers
 */
export async function migrate(client: MysqlClient): Promise<void> {
  await bring(linkTo(client));
}

// ── Statements ────────────────────────────────────────────────────────────────────────────────────────

/** Text, whatever the driver makes of JSON and bytes. */
const AS_TEXT: Readonly<Record<string, string>> = {
  digest: 'CONVERT(digest USING utf8mb4)',
  accessible_entities: 'CONCAT(accessible_entities)',
  scopes: 'CONCAT(scopes)',
  metadata: 'CONCAT(metadata)',
  scopes_used: 'CONCAT(scopes_used)',
};
const SELECTED = COLUMN_LIST.replace(/\w+/g, (column) =>
  AS_TEXT[column] ? `${AS_TEXT[column]} AS ${column}` : column,
);
const SELECT = `SELECT ${SELECTED}, ${STATE} FROM keyscope_keys`;
const NEWEST_FIRST = 'ORDER BY created_at DESC, key_id DESC LIMIT ?';
/**
 * For every SELECT that may return several rows: without a LIMIT, `sql_select_limit` would truncate
 * it unnoticed.
 */
const ALL = 'LIMIT 18446744073709551615';

const INSERT = `INSERT INTO keyscope_keys (${COLUMN_LIST}) VALUES (${COLUMN_LIST.replace(/\w+/g, '?')})`;
const FIND_ID = `${SELECT} WHERE key_id = ?`;
const LIST = `${SELECT} WHERE entity_uuid = ? ${NEWEST_FIRST}`;
const LIST_BEHIND = `${SELECT}
  WHERE entity_uuid = ? AND created_at <= ? AND (created_at < ? OR key_id < ?) ${NEWEST_FIRST}`;
const REVOKE = 'UPDATE keyscope_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL';
const RETIRE =
  'UPDATE keyscope_keys SET retire_at = ? WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL';

/**
 * In one of eleven lengths, so that no connection prepares a thousand statements; spare places
 * repeat a digest.
 */
function findBy(digests: readonly string[]): [sql: string, values: string[]] {
  const length = 2 ** Math.ceil(Math.log2(digests.length));
  const values = Array.from({ length }, (_, i) => digests[i] ?? digests[0] ?? '');
  return [`${SELECT} WHERE digest IN (${values.map(() => '?').join(', ')}) ${ALL}`, values];
}

/** The time of a scope in the row, as JSON text; null if there is none. */
const KNOWN = `CAST(JSON_EXTRACT(k.scopes_used, CONCAT('$.', JSON_QUOTE(used.scope))) AS CHAR)`;

/**
 * A batch, `[[key id, last used, [[scope, time], …]], …]`, as one statement. For each scope in the
 * batch, the subquery picks the later of both times; these are merged over the row's. STRAIGHT_JOIN
 * and FORCE INDEX lock the rows of the batch in its order, and no others: sorted batches wait for
 * each other but never in a cycle. Scopes that are not a JSON object would fail every batch that
 * their key is in, so such a row is skipped; so is an invalid time.
 */
const TOUCH = `
  UPDATE JSON_TABLE(?, '$[*]' COLUMNS (
    key_id VARCHAR(36) PATH '$[0]', last_used_at BIGINT PATH '$[1]', scopes_used JSON PATH '$[2]')) AS entry
  STRAIGHT_JOIN keyscope_keys AS k FORCE INDEX (PRIMARY) ON k.key_id = CONVERT(entry.key_id USING ascii) COLLATE ascii_bin
  SET
    k.last_used_at = GREATEST(COALESCE(k.last_used_at, entry.last_used_at), entry.last_used_at),
    k.scopes_used = JSON_MERGE_PATCH(k.scopes_used, COALESCE((
      SELECT JSON_OBJECTAGG(used.scope, GREATEST(used.time, COALESCE(
        CASE WHEN ${KNOWN} REGEXP '^-?[0-9]{1,16}$' THEN CAST(${KNOWN} AS SIGNED) END, used.time)))
      FROM JSON_TABLE(entry.scopes_used, '$[*]' COLUMNS (
        scope VARCHAR(255) PATH '$[0]', time BIGINT PATH '$[1]')) AS used), '{}'))
  WHERE CASE WHEN JSON_VALID(k.scopes_used) THEN JSON_TYPE(k.scopes_used) = 'OBJECT' END`;

const SUMMARIZE = `
  SELECT CONVERT(LEFT(digest, LOCATE('$', digest) - 1) USING utf8mb4) AS scheme, COUNT(*) AS live,
    MAX(last_used_at) AS last_used_at, ${STATE}
  FROM keyscope_keys
  WHERE revoked_at IS NULL AND (retire_at IS NULL OR retire_at > ?) AND (expires_at IS NULL OR expires_at > ?)
  GROUP BY scheme ${ALL}`;

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

/** How the server is queried. */
export interface MysqlStoreOptions {
  /** Look-ups made in one turn of the event loop are sent as one query. Default: true. */
  readonly batch?: boolean | undefined;
}

const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && /^[ -~]{1,255}$/.test(value);
const isUuidOrNull = (value: unknown): boolean => value === null || isUuid(value);

/**
 * Strict formats: unless the SQL mode is strict, a longer text is truncated, and another type
 * stored as text.
 */
const FITS: Readonly<Partial<Record<keyof KeyRecord, (value: unknown) => boolean>>> = {
  keyId: isUuid,
  digest: isDigest,
  seal: (value) => value === null || isDigest(value),
  entityUuid: isUuid,
  rotatedFrom: isUuidOrNull,
};

function checkFit(record: KeyRecord): void {
  for (const [field, fits] of Object.entries(FITS)) {
    if (!fits(record[field as keyof KeyRecord]))
      throw new Error(`keyscope: insert: ${field} does not fit its column`);
  }
}

// Anything but a lower-case UUID is nobody's id, and anything but such a text nobody's digest:
// neither is looked up.
function reads({ ask }: Link, batch: boolean): Reads {
  const select = async (sql: string, values: Value[]) => current(rowsOf(await ask(sql, values)));
  const records = async (sql: string, values: Value[]) => (await select(sql, values)).map(toRecord);
  const find = async (digests: readonly string[]): Promise<KeyRecord[]> => {
    const asked = digests.filter(isDigest);
    return asked.length === 0 ? [] : records(...findBy(asked));
  };

  return {
    findByDigest: batch ? inBatches(find) : find,

    findById: async (keyId) =>
      isUuid(keyId) ? ((await records(FIND_ID, [keyId]))[0] ?? null) : null,

    // The limit as text: for a number, some versions of mysql2 send a float, which MySQL does not
    // accept as a LIMIT.
    async list({ entityUuid, after = null, limit }) {
      if (!isUuid(entityUuid)) return [];
      if (after === null) return records(LIST, [entityUuid, String(limit)]);
      const { createdAt, keyId } = after;
      return records(LIST_BEHIND, [entityUuid, createdAt, createdAt, keyId, String(limit)]);
    },

    async summarize(now?: number) {
      const time = now ?? Date.now();
      const rows = await select(SUMMARIZE, [time, time]);
      const line = ({ scheme, live, last_used_at }: Row) => ({
        scheme,
        live: whole(live),
        lastUsedAt: whole(last_used_at),
      });
      return rows.map(line) as SchemeSummary[];
    },
  };
}

/** An entry as {@link TOUCH} reads it. */
const toUsed = ({ keyId, lastUsedAt, scopesUsed }: UsageEntry) => [
  keyId,
  lastUsedAt,
  Object.entries(scopesUsed),
];

function writes(link: Link): Writes {
  return {
    // Duplicates are refused by the primary key and by the digest's UNIQUE.
    async insert(record) {
      checkFit(record);
      await write(link, INSERT, toValues(record));
    },

    // If the condition holds, the row changes, so matched and changed rows are equally many: both
    // flags will do.
    async markEnded(keyId, ending) {
      if (!isUuid(keyId)) return false;
      const [sql, time] =
        'revokedAt' in ending ? [REVOKE, ending.revokedAt] : [RETIRE, ending.retireAt];
      return (await write(link, sql, [time, keyId])) === 1;
    },

    async touch(entries) {
      for (const batch of usageBatches(entries, isUuid, toUsed)) await write(link, TOUCH, [batch]);
    },
  };
}

/**
 * Makes a store in MySQL or MariaDB. Sends nothing to the server until it is used; then it inspects
 * the connection and migrates, once.
 *
 * Not checked: that nobody else uses the client in a transaction; the server's durability; the
 * rights on the tables.
 *
 * @param client What `createPool` or `createConnection` of `mysql2/promise` or `mariadb` returned.
 *   keyscope never closes it.
 * @throws TypeError if `client` is not such a client or has the callback API, or on an unknown
 *   option.
 * @example
 * const pool = mysql.createPool({ uri, charset: 'utf8mb4', connectTimeout: 2_000 }); // of 'mysql2/promise'
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: mysqlStore(pool), peppers });
 */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): KeyStore {
  const link = linkTo(client);
  const { batch = true } = readFields(options, ['batch'], 'mysqlStore');
  assert(typeof batch === 'boolean', 'mysqlStore: batch is true or false');
  return behind(
    startOnce(() => bring(link)),
    { ...reads(link, batch === true), ...writes(link) },
  );
}
