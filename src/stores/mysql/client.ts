/** The clients that the store works with: those of `mysql2/promise` and of `mariadb`. */
import { assert } from '../../core/input.js';
import type { Value } from '../rows.js';

/** A statement as both drivers accept it, with their own options beside it. */
export interface MysqlStatement {
  /** Its text, with `?` for each value. */
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

/** Whether it lends connections. A connection does not. */
export function isPool(client: MysqlClient): client is MysqlPool {
  return typeof (client as Partial<MysqlPool>).getConnection === 'function';
}

/** What is read of a client before it is known to be one. */
interface UnreadClient {
  readonly execute?: unknown;
  readonly query?: unknown;
  readonly promise?: unknown;
  readonly of?: unknown;
}

const NO_CLIENT = 'mysqlStore: pass a pool or a connection of mysql2/promise or mariadb';
const NO_PROMISES =
  'mysqlStore: pass the promise API, ' +
  "of mysql2 what .promise() returns, or 'mysql2/promise'; of mariadb no callbacks";

/**
 * Throws a `TypeError` unless `client` looks like one of the promise API. Not checked: which driver
 * it is from, and whether it is open.
 */
export function assertClient(client: MysqlClient): void {
  // Without types, somebody may pass nothing at all.
  const unread: UnreadClient = client ?? {};
  const { execute, query, promise, of } = unread;
  assert(typeof execute === 'function' && typeof query === 'function', NO_CLIENT);
  // A cluster of pools, which has an `of`, cannot execute, although the one of mysql2 has the
  // method.
  assert(of === undefined, NO_CLIENT);
  // Both drivers have callback APIs with the same names, where `execute` has one more parameter;
  // mysql2's has `promise()`.
  assert(promise === undefined && execute.length < 3, NO_PROMISES);
}
