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

/** The connections of a client. Errors keep the server's message, but no parameters. */
export interface Connections {
  /** Runs one statement on whichever connection is free. */
  query(sql: string, values?: Value[]): Promise<unknown>;
  /** Runs several statements on one connection; no other statement of keyscope comes between. */
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
 * Overrides options of the connection. Leaves out `typeCast`: mysql2 caches compiled row readers,
 * which would then run without the `typeCast` that they were compiled for.
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
 * The end of the queue of each connection. All stores on a connection share it, because a server
 * lock belongs to the connection, too.
 */
const queues = new WeakMap<object, Promise<unknown>>();

function enqueue<Result>(connection: object, work: () => Promise<Result>): Promise<Result> {
  const before = queues.get(connection) ?? Promise.resolve();
  const result = before.then(work);
  // The next in the queue waits until this has ended, even if it fails.
  const ended = result.catch(() => {});
  queues.set(connection, ended);
  return result;
}

function singleConnection(connection: MysqlConnection): Connections {
  // There is no other connection to replace it with.
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
    // The work on the connection has already succeeded or failed; only that result matters.
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

/** Throws a `TypeError` if `client` is not one. Opens nothing and sends nothing. */
export function connectionsOf(client: MysqlClient): Connections {
  assertClient(client);
  return isPool(client) ? pooledConnections(client) : singleConnection(client);
}
