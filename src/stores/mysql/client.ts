/**
 * The clients that the store accepts, those of `mysql2/promise` and of `mariadb`, and one way to
 * query pools and single connections and to read their answers.
 */
import { assert, hasMethods } from '../../core/input.js';
import { within } from '../../core/thenable.js';
import type { Value } from '../rows.js';
import { withMysqlErrors } from './errors.js';
import { withLiterals } from './literals.js';

/** A statement as both drivers accept it. It may also have options of the driver. */
export interface MysqlStatement {
  /** The SQL, with `?` for each value. */
  readonly sql: string;
}

/** A connection of the promise API. */
export interface MysqlConnection {
  /** Prepares a statement and runs it with values. */
  execute(statement: MysqlStatement, values?: Value[]): Promise<unknown>;
  /** Runs a statement without preparing it. */
  query(statement: MysqlStatement): Promise<unknown>;
}

/** A connection lent by a pool. */
export interface MysqlLoan extends MysqlConnection {
  /** Returns it to the pool. */
  release(): unknown;
  /** Closes it. The pool opens another one when it needs to. */
  destroy(): unknown;
}

/** A pool of the promise API. */
export interface MysqlPool extends MysqlConnection {
  /** Lends a connection. */
  getConnection(): Promise<MysqlLoan>;
}

/** The result of `createPool` or `createConnection` of `mysql2/promise` or `mariadb`. */
export type MysqlClient = MysqlConnection | MysqlPool;

/** Checks whether the client is a pool: only a pool lends connections. */
function isPool(client: MysqlClient): client is MysqlPool {
  return hasMethods(client, 'getConnection');
}

const NO_PROMISES =
  'mysqlStore: this client has the callback API. ' +
  'Take one from mysql2/promise or mariadb, or pass what .promise() of mysql2 returns';

/**
 * Throws a `TypeError` unless `client` looks like a client of the promise API. Not checked: which
 * driver it is from, and whether it is open.
 */
export function assertClient(client: MysqlClient): void {
  // Clusters of pools have an `of`: they cannot execute, although mysql2's has the method.
  const isClient = hasMethods(client, 'execute', 'query') && !hasMethods(client, 'of');
  assert(isClient, 'mysqlStore: pass a pool or a connection of mysql2/promise or mariadb');
  // Both drivers have callback APIs with the same names, where `execute` has one more parameter.
  // mysql2's callback API has `promise()`.
  const hasPromises = !hasMethods(client, 'promise') && client.execute.length < 3;
  assert(hasPromises, NO_PROMISES);
}

// ── Queries ──────────────────────────────────────────────────────────────────────────────────────

/** The connections of a client. Errors keep the server's message, but no parameters. */
export interface Connections {
  /**
   * Runs statements on one connection, with no other statement of keyscope in between. Throws if
   * they take longer than `limitMs`, and closes a pool's connection: over a lost network it would
   * never end, and would block the connection for ever.
   */
  withSession<Result>(
    work: (session: Session) => Promise<Result>,
    limitMs?: number,
  ): Promise<Result>;
  /** Makes all later statements name the database of the tables. */
  stayIn(database: string): void;
}

/** The database of the tables; '' for the connection's own. */
interface Place {
  database: string;
}

/** The tables' names. */
const TABLE = /\bkeyscope_(?:keys|addressing|schema)\b/g;

/**
 * Adds the database, because others on a shared connection may switch it to one with similar
 * tables.
 */
function inDatabase({ database }: Place, sql: string): string {
  if (database === '') return sql;
  const name = database.replaceAll('`', '``');
  return sql.replace(TABLE, (table) => `\`${name}\`.${table}`);
}

/** One connection, while keyscope holds it. */
export interface Session {
  /** Runs one statement. */
  query(sql: string, values?: readonly Value[]): Promise<unknown>;
  /**
   * Does the same for a frequent statement, which is prepared unless the service opted out. Each
   * connection keeps its prepared statements, and a server keeps only 16,382 in all.
   */
  execute(sql: string, values: Value[]): Promise<unknown>;
  /** Keeps the connection from returning to the pool, because its state is unknown. */
  discard(): void;
}

/**
 * Overrides options of the connection. Leaves out `typeCast`: mysql2 caches compiled row readers,
 * which would then run without the `typeCast` that they were compiled for.
 */
const OPTIONS = { namedPlaceholders: false, rowsAsArray: false, nestTables: false } as const;

function statement(sql: string): MysqlStatement {
  return { sql, ...OPTIONS };
}

function query(
  connection: MysqlConnection,
  sql: string,
  values: readonly Value[] = [],
): Promise<unknown> {
  return withMysqlErrors(async () => connection.query(statement(withLiterals(sql, values))));
}

function execute(connection: MysqlConnection, sql: string, values: Value[]): Promise<unknown> {
  return withMysqlErrors(() => connection.execute(statement(sql), values));
}

type Send = typeof execute;

/** How and where statements are sent. */
interface Sending {
  readonly send: Send;
  readonly place: Place;
}

function createSession(
  connection: MysqlConnection,
  { send, place }: Sending,
  discard: () => void,
): Session {
  return {
    query: (sql, values) => query(connection, inDatabase(place, sql), values),
    execute: (sql, values) => send(connection, inDatabase(place, sql), values),
    discard,
  };
}

/**
 * The end of each connection's queue. All stores on a connection share it, because a server lock
 * belongs to the connection, too.
 */
const queues = new WeakMap<object, Promise<unknown>>();

function enqueue<Result>(connection: object, work: () => Promise<Result>): Promise<Result> {
  const before = queues.get(connection) ?? Promise.resolve();
  const result = before.then(work);
  // The next in the queue waits until this one has ended, even if it fails.
  const ended = result.catch(() => {});
  queues.set(connection, ended);
  return result;
}

type WithSession = Connections['withSession'];

function singleConnection(connection: MysqlConnection, sending: Sending): WithSession {
  // There is nothing to discard: no other connection could replace this one.
  const session = createSession(connection, sending, () => {});
  return (work) => enqueue(connection, () => work(session));
}

async function returnToPool(loan: MysqlLoan, isDiscarded: boolean): Promise<void> {
  try {
    // One driver returns a promise, the other nothing.
    await (isDiscarded ? loan.destroy() : loan.release());
  } catch {
    // The work on the connection has already succeeded or failed; only that result matters.
  }
}

function pooledConnections(pool: MysqlPool, sending: Sending): WithSession {
  return async (work, limitMs) => {
    const loan = await withMysqlErrors(() => pool.getConnection());
    let isDiscarded = false;
    const session = createSession(loan, sending, () => {
      isDiscarded = true;
    });
    // Ends the work by closing the connection.
    const giveUp = (): never => {
      session.discard();
      const seconds = Number(limitMs) / 1_000;
      throw new Error(`keyscope: the server has not answered for ${seconds} s`);
    };
    try {
      const working = work(session);
      return await (limitMs === undefined ? working : within(limitMs, working, giveUp));
    } finally {
      await returnToPool(loan, isDiscarded);
    }
  };
}

/**
 * Opens nothing and sends nothing. Throws a `TypeError` if `client` is not a supported client.
 *
 * @param isPreparing Whether frequent statements are prepared.
 */
export function connectionsOf(client: MysqlClient, isPreparing: boolean = true): Connections {
  assertClient(client);
  const place: Place = { database: '' };
  const sending = { send: isPreparing ? execute : query, place };
  const isPooled = isPool(client);
  return {
    withSession: isPooled ? pooledConnections(client, sending) : singleConnection(client, sending),
    stayIn(database) {
      place.database = database;
    },
  };
}

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────

/** A row by column names. Unchecked: types depend on the options of the driver. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * Returns the rows of an answer. mysql2 returns `[rows, fields]`. mariadb returns the rows, or with
 * `metaAsArray` the same as mysql2.
 */
export function rowsOf(answer: unknown): readonly Row[] {
  if (!Array.isArray(answer)) return [];
  const list: readonly unknown[] = answer;
  const first = list[0];
  const rows: readonly unknown[] = Array.isArray(first) ? first : list;
  return rows as readonly Row[];
}

/** Returns the number of rows that a write affected. mysql2 returns the header in a list. */
export function affectedRows(answer: unknown): number {
  const header: unknown = Array.isArray(answer) ? answer[0] : answer;
  return Number((header as { readonly affectedRows?: unknown } | undefined)?.affectedRows);
}
