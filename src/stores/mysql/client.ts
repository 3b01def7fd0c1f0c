/** The clients that the store works with: those of `mysql2/promise` and of `mariadb`. */
import { assert } from '../../core/input.js';
import type { Value } from '../rows.js';

/** A statement as both drivers accept it. It may also have options of the driver. */
export interface MysqlStatement {
  /** The SQL, with `?` for each value. */
  readonly sql: string;
}

/** A connection of the promise API. */
export interface MysqlConnection {
  /** Prepares a statement and runs it with values. */
  execute(statement: MysqlStatement, values?: Value[]): Promise<unknown>;
  /** Runs a statement as it is. */
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

/** What `createPool` or `createConnection` of `mysql2/promise` or of `mariadb` returned. */
export type MysqlClient = MysqlConnection | MysqlPool;

/** Whether the client is a pool: only a pool lends connections. */
export function isPool(client: MysqlClient): client is MysqlPool {
  return typeof (client as Partial<MysqlPool>).getConnection === 'function';
}

/** The properties that tell whether a value is a client. */
interface UnreadClient {
  readonly execute?: unknown;
  readonly query?: unknown;
  readonly promise?: unknown;
  readonly of?: unknown;
}

const NO_CLIENT = 'mysqlStore: pass a pool or a connection of mysql2/promise or mariadb';
const NO_PROMISES =
  'mysqlStore: pass the promise API, ' +
  "such as 'mysql2/promise' or what .promise() of mysql2 returns, not the callback API";

/**
 * Throws a `TypeError` unless `client` looks like a client of the promise API. Not checked: which
 * driver it is from, and whether it is open.
 */
export function assertClient(client: MysqlClient): void {
  // Without types, a caller may pass nothing.
  const unread: UnreadClient = client ?? {};
  const { execute, query, promise, of } = unread;
  assert(typeof execute === 'function' && typeof query === 'function', NO_CLIENT);
  // A cluster of pools, which has an `of`, cannot execute, although mysql2's has the method.
  assert(of === undefined, NO_CLIENT);
  // Both drivers have callback APIs with the same names, where `execute` has one more parameter.
  // mysql2's callback API has `promise()`.
  assert(promise === undefined && execute.length < 3, NO_PROMISES);
}
