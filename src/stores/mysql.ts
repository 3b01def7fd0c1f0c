/**
 * Keys in MySQL 8.0.16 or newer or MariaDB 10.6 or newer, over a pool or a connection that the service opened with
 * `mysql2/promise` or `mariadb`, each from version 3 on. Imports no driver. Tested on MariaDB; of MySQL it uses what its
 * manual documents.
 *
 * What holds, and what you have to see to:
 * - **A handle of its own.** Give keyscope a connection, or a pool that nobody else takes connections from. Look-ups
 *   run outside any transaction, so they see every write that was acknowledged, at REPEATABLE READ too. In one that
 *   somebody left open they would see the past: on MariaDB a row that is found there throws, and on either server one
 *   that is found with autocommit off. MySQL cannot be asked, so there a transaction left open goes unnoticed.
 * - **Writes** are one statement each, committed before they are acknowledged, and throw where the connection is in the
 *   middle of a transaction. A pool makes new connections when one is lost; a connection by itself stays lost, and it
 *   serves one request after another.
 * - **Primary.** A server that is read-only is refused at the start: a replica lags, and would let a key pass that was
 *   revoked a moment ago. Let no proxy send the look-ups to one either.
 * - **Durability** is the server's: with `innodb_flush_log_at_trx_commit` or `sync_binlog` other than 1, a crash takes
 *   back what was acknowledged in the last second, revocations included.
 * - **Session.** utf8mb4, autocommit on, `sql_safe_updates` off; where not, the first use is refused. The SQL mode does
 *   not matter, but for `EMPTY_STRING_IS_NULL`, which is refused. Nor does `sql_select_limit`, nor the drivers' options:
 *   those that change how rows are read are switched off with each statement or read alike, and what shows all the same
 *   is refused.
 * - **Rights.** To migrate: CREATE, TRIGGER, SELECT, INSERT and UPDATE on the database. Afterwards: SELECT on both
 *   tables, INSERT and UPDATE on `keyscope_keys`. The triggers run as the user that migrated: keep that user and its
 *   rights, on a server that a dump is restored to as well, or no key can be revoked (error 1449). With a binary log
 *   MySQL lets only SUPER make triggers, unless `log_bin_trust_function_creators` is on (error 1419).
 *
 * A row that somebody edited by hand never passes for another. Lists leave the database as text: drivers that read JSON
 * themselves end the process over a row that is none.
 */
import { expect, fields, isUuid } from '../errors.js';
import type { KeyRecord } from '../record.js';
import type { KeyStore, SchemeSummary, UsageEntry } from '../store.js';
import { MIGRATIONS } from './schema.js';
import {
  behind,
  COLUMN_LIST,
  inBatches,
  startOnce,
  toRecord,
  toValues,
  usageBatches,
  type Value,
  whole,
} from './shared.js';

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────

/** A statement as both drivers take it, with options of theirs beside it. */
export interface MysqlStatement {
  readonly sql: string;
}

/** A connection by promises. */
export interface MysqlConnection {
  execute(statement: MysqlStatement, values?: Value[]): Promise<unknown>;
  query(statement: MysqlStatement): Promise<unknown>;
}

/** A connection that a pool lends. */
export interface MysqlLoan extends MysqlConnection {
  release(): unknown;
  destroy(): unknown;
}

/** A pool by promises. */
export interface MysqlPool extends MysqlConnection {
  getConnection(): Promise<MysqlLoan>;
}

/** What `createPool` or `createConnection` of `mysql2/promise` or of `mariadb` made. */
export type MysqlClient = MysqlConnection | MysqlPool;

/** How both are asked. What it throws says what the server said. */
interface Link {
  /** One statement, on whichever connection is free. */
  ask(sql: string, values?: Value[]): Promise<unknown>;
  /** Several on one connection, with nothing of keyscope's between them. */
  alone<T>(work: (on: Session) => Promise<T>): Promise<T>;
}

/** One connection, for as long as it is ours. */
interface Session {
  ask(sql: string, values?: Value[]): Promise<unknown>;
  /** What cannot be prepared. */
  run(sql: string): Promise<unknown>;
  /** A connection in an unknown state goes back to no pool. */
  spoil(): void;
}

// Whatever the connection was opened with. Not `typeCast`: mysql2 keeps compiled readers of rows, which would go on
// without the one that they were made for.
const OPTIONS = { namedPlaceholders: false, rowsAsArray: false, nestTables: false } as const;
const statement = (sql: string): MysqlStatement => ({ sql, ...OPTIONS });

const isPool = (client: MysqlClient): client is MysqlPool => typeof Object(client).getConnection === 'function';

function checkClient(client: MysqlClient): void {
  const { execute, query, promise } = Object(client);
  const usable = typeof execute === 'function' && typeof query === 'function';
  expect(usable, 'mysqlStore: pass a pool or a connection of mysql2/promise or mariadb');
  // Each has a twin by callbacks with the same names: `execute` takes one argument more, and mysql2's has `promise()`.
  const byPromise = promise === undefined && execute.length < 3;
  expect(
    byPromise,
    "mysqlStore: pass the promise API, of mysql2 what .promise() returns, or 'mysql2/promise'; of mariadb no callbacks",
  );
}

/** The end of each connection's queue. One for all stores on it: a lock of the server's is the connection's too. */
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
/** A deadlock's victim; MariaDB 11: a row that changed since the transaction began. All of it is rolled back. */
const AGAIN: ReadonlySet<unknown> = new Set([1213, 1020]);

/** By number, where the server's own words quote a digest or do not say what to do. */
const INSTEAD: Readonly<Record<number, string>> = {
  1062: 'a key with this id or digest exists already',
  1568: 'the connection is in the middle of a transaction; give keyscope a pool or connection of its own',
};
/** By number, what to do beside what the server says. */
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
 * What went wrong, without what the driver attached: mariadb can be told to log parameters, and then they stand in the
 * message, digests and seals among them.
 */
function plain(error: unknown): Error {
  const { errno = 0, code, sqlMessage, message } = Object(error) as Fault;
  // A refused connection may come without a message.
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

/** mysql2 answers `[rows, fields]`, mariadb the rows, or with `metaAsArray` the same. */
function rowsOf(answer: unknown): readonly Row[] {
  const rows = Array.isArray(answer) && Array.isArray(answer[0]) ? answer[0] : answer;
  return Array.isArray(rows) ? rows : [];
}

/** The column of the first row. */
const pick = (answer: unknown, column: string): unknown => rowsOf(answer)[0]?.[column];

/** The same of a header. */
const affected = (answer: unknown): number => Number(Object(Array.isArray(answer) ? answer[0] : answer).affectedRows);

/**
 * Whether what a statement reads is what was last acknowledged, asked with each row: neither autocommit off, where the
 * first look-up's view of the data would be that of all that follow, nor in a transaction that somebody began. The
 * comment is SQL to MariaDB alone; MySQL has no such variable.
 */
const SETTLED = '@@autocommit = 1 /*M! AND @@in_transaction = 0 */';

const UNSETTLED =
  'keyscope: the connection has autocommit off, or is in the middle of a transaction; look-ups would miss what was ' +
  'revoked since. Give keyscope a pool or connection of its own, with autocommit on';

const isTrue = (value: unknown): boolean => whole(value) === 1;

function settled(rows: readonly Row[]): readonly Row[] {
  if (!rows.every(({ settled: is }) => isTrue(is))) throw new Error(UNSETTLED);
  return rows;
}

/** Four bytes in UTF-8, which the older `utf8` cannot hold. */
const FOX = 'é🦊';

const PROBE = `
  SELECT ? AS echo, ? AS nothing, ${Number.MAX_SAFE_INTEGER} AS big, (${SETTLED}) AS settled,
    (@@character_set_client = 'utf8mb4' AND @@character_set_connection = 'utf8mb4') AS wide,
    (CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0) AS writable, @@sql_safe_updates AS safe`;

const AS_IT_IS =
  'the driver must return rows as objects, text as strings and integers as such; connect without a typeCast';

/** In this order: what is no row has no columns. */
const NEEDS: readonly (readonly [(row: Row) => boolean, string])[] = [
  [({ echo, big }) => typeof echo === 'string' && whole(big) === Number.MAX_SAFE_INTEGER, AS_IT_IS],
  [({ echo, wide }) => echo === FOX && isTrue(wide), "connect with charset 'utf8mb4', or texts are lost"],
  [({ nothing }) => nothing === '', 'connect without the SQL mode EMPTY_STRING_IS_NULL, or texts are lost'],
  [({ writable }) => isTrue(writable), 'this server is read-only, as replicas are, which lag; connect to the primary'],
  [({ safe }) => whole(safe) === 0, 'connect with sql_safe_updates off: it refuses joins, and usage is written by one'],
];

/** Asks once whether the connection is what the statements below rely on. */
async function inspect({ ask }: Link): Promise<void> {
  const answer = await ask(PROBE, [FOX, '']).catch((error: Fault) => {
    // What has no code comes from neither the server nor the network: mysql2 is closed, or could not read the row.
    throw error.code === undefined ? new Error(`${error.message}; where it is open, ${AS_IT_IS}`) : error;
  });
  const row = rowsOf(answer)[0] ?? {};
  const lacking = NEEDS.find(([holds]) => !holds(row));
  if (lacking !== undefined) throw new Error(`keyscope: ${lacking[1]}`);
  settled([row]);
}

// ── Writing ───────────────────────────────────────────────────────────────────────────────────────────

/** A deadlock's victim is tried again so often, all told. */
const TRIES = 4;

/**
 * One statement, which is a transaction by itself. `SET TRANSACTION`, about the next one, throws inside another, on
 * both servers; so nothing is acknowledged that somebody else's rollback could take back, and nothing of theirs is
 * committed. The commit is for a connection whose autocommit was switched off since.
 */
async function commit(on: Session, sql: string, values: Value[]): Promise<unknown> {
  await on.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE');
  try {
    const answer = await on.ask(sql, values);
    // Whatever `completion_type` says comes after a commit.
    await on.run('COMMIT AND NO CHAIN NO RELEASE');
    return answer;
  } catch (error) {
    await on.run('ROLLBACK AND NO CHAIN NO RELEASE').catch(on.spoil);
    throw error;
  }
}

/** How many rows a statement wrote. */
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

/** The schema's version, 0 where there is none or where a migration was cut short. */
async function versionOf(ask: Link['ask']): Promise<number> {
  let version = 0;
  try {
    version = Number(pick(await ask('SELECT version FROM keyscope_schema WHERE id = 1'), 'version') ?? 0);
  } catch (error) {
    if (errnoOf(error) !== NO_TABLE) throw error;
  }
  if (version <= VERSIONS.length) return version;
  throw new Error(`keyscope: the database has schema ${version} and this release knows ${VERSIONS.length}; upgrade it`);
}

/** One a database, whose name may be longer than that of a lock. */
const LOCK = "CONCAT('keyscope_schema_', CRC32(DATABASE()))";
const LOCK_SECONDS = 30;
const VERSION = 'INSERT INTO keyscope_schema (id, version) VALUES (1, ?) ON DUPLICATE KEY UPDATE version = ?';

async function bringUp(on: Session): Promise<void> {
  const got = pick(await on.ask(`SELECT GET_LOCK(${LOCK}, ${LOCK_SECONDS}) AS got`), 'got');
  if (!isTrue(got)) throw new Error(`keyscope: another process has been migrating for ${LOCK_SECONDS} s; try again`);
  try {
    // Asked again under the lock: another process may have been faster.
    const missing = VERSIONS.slice(await versionOf(on.ask)).flat();
    for (const sql of missing) await on.run(sql);
    // Last: DDL commits statement by statement, and what was cut short begins again.
    if (missing.length > 0) await commit(on, VERSION, [VERSIONS.length, VERSIONS.length]);
  } finally {
    // Or the lock would go back to the pool with the connection.
    await on.ask(`SELECT RELEASE_LOCK(${LOCK}) AS released`).catch(on.spoil);
  }
}

async function bring(link: Link): Promise<void> {
  await inspect(link);
  if ((await versionOf(link.ask)) < VERSIONS.length) await link.alone(bringUp);
}

/**
 * Brings the schema up to this release; {@link mysqlStore} calls it before its first use. Any number of processes may
 * call it at once. Where the schema is current it only reads. Not atomic, as DDL never is here: a run that is cut short
 * leaves what the next one completes.
 *
 * Not checked: that nobody changed the tables since; that they are the primary's on a cluster where `GET_LOCK` holds on
 * one node alone: there, migrate from one place.
 *
 * @param client As for {@link mysqlStore}.
 * @throws TypeError where `client` is no such client.
 * @throws Error where a newer release has migrated the database, the connection is not fit, or the server refuses.
 * @example
 * await migrate(mysql.createPool(url)); // in a deploy step, with a user that may create tables and triggers
 */
export async function migrate(client: MysqlClient): Promise<void> {
  await bring(linkTo(client));
}

// ── Statements ────────────────────────────────────────────────────────────────────────────────────────

/** Text whatever the driver makes of JSON and of bytes. */
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
const SELECT = `SELECT ${SELECTED}, (${SETTLED}) AS settled FROM keyscope_keys`;
const NEWEST_FIRST = 'ORDER BY created_at DESC, key_id DESC LIMIT ?';
/** Beside every SELECT that may answer several rows: without a LIMIT, `sql_select_limit` would cut it unseen. */
const ALL = 'LIMIT 18446744073709551615';

const INSERT = `INSERT INTO keyscope_keys (${COLUMN_LIST}) VALUES (${COLUMN_LIST.replace(/\w+/g, '?')})`;
const FIND_ID = `${SELECT} WHERE key_id = ?`;
const LIST = `${SELECT} WHERE entity_uuid = ? ${NEWEST_FIRST}`;
const LIST_BEHIND = `${SELECT}
  WHERE entity_uuid = ? AND created_at <= ? AND (created_at < ? OR key_id < ?) ${NEWEST_FIRST}`;
const REVOKE = 'UPDATE keyscope_keys SET revoked_at = ? WHERE key_id = ? AND revoked_at IS NULL';
const RETIRE = 'UPDATE keyscope_keys SET retire_at = ? WHERE key_id = ? AND retire_at IS NULL AND revoked_at IS NULL';

/** In one of eleven lengths, so that no connection prepares a thousand statements; what is left over says it again. */
function findBy(digests: readonly string[]): [sql: string, values: string[]] {
  const length = 2 ** Math.ceil(Math.log2(digests.length));
  const values = Array.from({ length }, (_, i) => digests[i] ?? digests[0] ?? '');
  return [`${SELECT} WHERE digest IN (${values.map(() => '?').join(', ')}) ${ALL}`, values];
}

/** What the row has as a scope's time, as JSON text; null where there is none. */
const KNOWN = `CAST(JSON_EXTRACT(k.scopes_used, CONCAT('$.', JSON_QUOTE(used.scope))) AS CHAR)`;

/**
 * A batch, `[[key id, last used, [[scope, time], …]], …]`, as one statement. The subquery makes of each scope in the
 * batch the later of both times, which are then merged over those of the row. The rows of the batch are locked in its
 * order, and no others, by STRAIGHT_JOIN and FORCE INDEX: sorted batches wait for each other and never in a circle. What
 * is no JSON object would fail every batch that its key is in, so such a row is passed over; so is a time that is none.
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
    MAX(last_used_at) AS last_used_at, (${SETTLED}) AS settled
  FROM keyscope_keys
  WHERE revoked_at IS NULL AND (retire_at IS NULL OR retire_at > ?) AND (expires_at IS NULL OR expires_at > ?)
  GROUP BY scheme ${ALL}`;

// ── The store ─────────────────────────────────────────────────────────────────────────────────────────

/** How the server is asked. */
export interface MysqlStoreOptions {
  /** Look-ups of one turn of the event loop go out as one query. Default: true. */
  readonly batch?: boolean | undefined;
}

type Reads = 'findByDigest' | 'findById' | 'list' | 'summarize';

const isDigest = (value: unknown): value is string => typeof value === 'string' && /^[ -~]{1,255}$/.test(value);
const isUuidOrNull = (value: unknown): boolean => value === null || isUuid(value);

/** What must be nothing else: a longer text would be cut where the SQL mode is not strict, and no text read as one. */
const FITS: Readonly<Partial<Record<keyof KeyRecord, (value: unknown) => boolean>>> = {
  keyId: isUuid,
  digest: isDigest,
  seal: (value) => value === null || isDigest(value),
  entityUuid: isUuid,
  rotatedFrom: isUuidOrNull,
};

function checkFit(record: KeyRecord): void {
  for (const [field, fits] of Object.entries(FITS)) {
    if (!fits(record[field as keyof KeyRecord])) throw new Error(`keyscope: insert: ${field} does not fit its column`);
  }
}

// What is no UUID in lower case is nobody's id, and what is no such text nobody's digest: neither is asked for.
function reads({ ask }: Link, batch: boolean): Pick<KeyStore, Reads> {
  const select = async (sql: string, values: Value[]) => settled(rowsOf(await ask(sql, values)));
  const records = async (sql: string, values: Value[]) => (await select(sql, values)).map(toRecord);
  const find = async (digests: readonly string[]): Promise<KeyRecord[]> => {
    const asked = digests.filter(isDigest);
    return asked.length === 0 ? [] : records(...findBy(asked));
  };

  return {
    findByDigest: batch ? inBatches(find) : find,

    findById: async (keyId) => (isUuid(keyId) ? ((await records(FIND_ID, [keyId]))[0] ?? null) : null),

    // The limit as text: for a number some versions of mysql2 send a float, which MySQL takes for no LIMIT.
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
const toUsed = ({ keyId, lastUsedAt, scopesUsed }: UsageEntry) => [keyId, lastUsedAt, Object.entries(scopesUsed)];

function writes(link: Link): Omit<KeyStore, Reads> {
  return {
    // Refused by the primary key and by the digest's UNIQUE.
    async insert(record) {
      checkFit(record);
      await write(link, INSERT, toValues(record));
    },

    // The row changes where the condition holds, so rows that match and rows that change are as many: both flags do.
    async markEnded(keyId, ending) {
      if (!isUuid(keyId)) return false;
      const [sql, time] = 'revokedAt' in ending ? [REVOKE, ending.revokedAt] : [RETIRE, ending.retireAt];
      return (await write(link, sql, [time, keyId])) === 1;
    },

    async touch(entries) {
      for (const batch of usageBatches(entries, isUuid, toUsed)) await write(link, TOUCH, [batch]);
    },
  };
}

/**
 * A store in MySQL or MariaDB. Asks the server nothing until it is used; then it inspects the connection and migrates,
 * once.
 *
 * Not checked: that nobody else uses the client in a transaction; the server's durability; the tables' rights.
 *
 * @param client What `createPool` or `createConnection` of `mysql2/promise` or `mariadb` made. keyscope never closes
 *   it.
 * @throws TypeError where `client` is no such client, or is one by callbacks, or on an unknown option.
 * @example
 * const pool = mysql.createPool({ uri, charset: 'utf8mb4', connectTimeout: 2_000 }); // of 'mysql2/promise'
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: mysqlStore(pool), peppers });
 */
export function mysqlStore(client: MysqlClient, options: MysqlStoreOptions = {}): KeyStore {
  const link = linkTo(client);
  const { batch = true } = fields(options, ['batch'], 'mysqlStore');
  expect(typeof batch === 'boolean', 'mysqlStore: batch is true or false');
  return behind(
    startOnce(() => bring(link)),
    { ...reads(link, batch === true), ...writes(link) },
  );
}
