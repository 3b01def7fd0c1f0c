/** One way to query, whether the client is a pool or a single connection. */
import { within } from '../../core/thenable.js';
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
import { withLiterals } from './literals.js';

/** The connections of a client. Errors keep the server's message, but no parameters. */
export interface Connections {
  /**
   * Runs statements on one connection; no other statement of keyscope comes between. If they take
   * longer than `limitMs`, it throws, and a connection of a pool is closed: what a network has lost
   * never ends by itself, and would keep the connection for ever.
   */
  withSession<Result>(
    work: (session: Session) => Promise<Result>,
    limitMs?: number,
  ): Promise<Result>;
}

/** One connection, for as long as keyscope holds it. */
export interface Session {
  /** Runs one statement. */
  query(sql: string, values?: readonly Value[]): Promise<unknown>;
  /**
   * The same for a statement that is sent often: it is prepared, unless the service wants none.
   * Each connection keeps what it has prepared, and a server only 16,382 for all of them.
   */
  execute(sql: string, values: Value[]): Promise<unknown>;
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

function createSession(connection: MysqlConnection, send: Send, discard: () => void): Session {
  return {
    query: (sql, values) => query(connection, sql, values),
    execute: (sql, values) => send(connection, sql, values),
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

function singleConnection(connection: MysqlConnection, send: Send): Connections {
  // There is no other connection to replace it with.
  const session = createSession(connection, send, () => {});
  return { withSession: (work) => enqueue(connection, () => work(session)) };
}

async function returnToPool(loan: MysqlLoan, isDiscarded: boolean): Promise<void> {
  try {
    // One driver returns a promise, the other nothing.
    await (isDiscarded ? loan.destroy() : loan.release());
  } catch {
    // The work on the connection has already succeeded or failed; only that result matters.
  }
}

function pooledConnections(pool: MysqlPool, send: Send): Connections {
  return {
    async withSession(work, limitMs) {
      const loan = await withMysqlErrors(() => pool.getConnection());
      let isDiscarded = false;
      const session = createSession(loan, send, () => {
        isDiscarded = true;
      });
      // What is under way ends with the connection.
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
    },
  };
}

/**
 * Throws a `TypeError` if `client` is not one. Opens nothing and sends nothing.
 *
 * @param isPreparing Whether statements that are sent often are prepared.
 */
export function connectionsOf(client: MysqlClient, isPreparing: boolean = true): Connections {
  assertClient(client);
  const send = isPreparing ? execute : query;
  return isPool(client) ? pooledConnections(client, send) : singleConnection(client, send);
}
