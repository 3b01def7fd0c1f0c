/** One way to query, whether the client is a pool or a single connection. */
import type { Value } from '../rows.js';
import type {
  MysqlClient,
  MysqlConnection,
  MysqlLoan,
  MysqlPool,
  MysqlStatement,
} from './client.js';
import { assertClient, isPool } from './client.js';
import { withMysqlErrors } from './errors.js';

/** The connections of a client. What they throw says what the server said. */
export interface Connections {
  /** Runs one statement on whichever connection is free. */
  query(sql: string, values?: Value[]): Promise<unknown>;
  /** Runs several statements on one connection, with none of keyscope's own between them. */
  withSession<Result>(work: (session: Session) => Promise<Result>): Promise<Result>;
}

/** One connection, for as long as keyscope holds it. */
export interface Session {
  /** Runs one statement. */
  query(sql: string, values?: Value[]): Promise<unknown>;
  /** Runs a statement that cannot be prepared. */
  run(sql: string): Promise<unknown>;
  /** Marks the connection's state as unknown, so that it does not return to the pool. */
  discard(): void;
}

/**
 * Overrides what the connection was opened with. Not `typeCast`: mysql2 caches compiled row
 * readers, which would run without the `typeCast` that they were made for.
 */
const OPTIONS = { namedPlaceholders: false, rowsAsArray: false, nestTables: false } as const;

function statement(sql: string): MysqlStatement {
  return { sql, ...OPTIONS };
}

function execute(connection: MysqlConnection, sql: string, values: Value[] = []): Promise<unknown> {
  return withMysqlErrors(() => connection.execute(statement(sql), values));
}

function createSession(connection: MysqlConnection, discard: () => void): Session {
  return {
    query: (sql, values) => execute(connection, sql, values),
    run: (sql) => withMysqlErrors(() => connection.query(statement(sql))),
    discard,
  };
}

/**
 * The last of what waits for each connection, shared by all stores on it: a server lock belongs to
 * the connection, too.
 */
const queues = new WeakMap<object, Promise<unknown>>();

function enqueue<Result>(connection: object, work: () => Promise<Result>): Promise<Result> {
  const before = queues.get(connection) ?? Promise.resolve();
  const result = before.then(work);
  // Whoever comes next waits for the end of it, and not for its success.
  const ended = result.catch(() => {});
  queues.set(connection, ended);
  return result;
}

function singleConnection(connection: MysqlConnection): Connections {
  // There is no other that it could be replaced by.
  const session = createSession(connection, () => {});
  return {
    query: (sql, values) => enqueue(connection, () => session.query(sql, values)),
    withSession: (work) => enqueue(connection, () => work(session)),
  };
}

async function returnToPool(loan: MysqlLoan, isDiscarded: boolean): Promise<void> {
  try {
    // One driver returns a promise, the other nothing.
    await (isDiscarded ? loan.destroy() : loan.release());
  } catch {
    // What the connection was borrowed for has succeeded or failed by now, and that is the answer.
  }
}

function pooledConnections(pool: MysqlPool): Connections {
  return {
    query: (sql, values) => execute(pool, sql, values),

    async withSession(work) {
      const loan = await withMysqlErrors(() => pool.getConnection());
      let isDiscarded = false;
      const session = createSession(loan, () => {
        isDiscarded = true;
      });
      try {
        return await work(session);
      } finally {
        await returnToPool(loan, isDiscarded);
      }
    },
  };
}

/** Throws a `TypeError` if `client` is none. Opens nothing and sends nothing. */
export function connectionsOf(client: MysqlClient): Connections {
  assertClient(client);
  return isPool(client) ? pooledConnections(client) : singleConnection(client);
}
