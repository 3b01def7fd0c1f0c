/**
 * The clients that a service may pass, as structural types, and how to query each kind. Imports no
 * driver.
 */
import { assert, hasMethods } from '../../core/input.js';
import { isInTransaction, type PgPool, queryPool } from './pool.js';

/** A query as `pg` accepts it. With a name, it is prepared once per connection. */
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
   * Only a `Client` has it. Returns `T` or `E` in the middle of a transaction, `null` before it is
   * connected.
   */
  getTransactionStatus?(): string | null;
}

/**
 * The result of `postgres(…)` of postgres.js. Not the transaction that its `begin` passes to a
 * callback: writes in it could be rolled back.
 */
export interface PostgresJsClient {
  readonly begin: unknown;
  readonly subscribe: unknown;
  unsafe(
    text: string,
    values?: string[],
    options?: { prepare?: boolean },
  ): PromiseLike<readonly unknown[]>;
}

/**
 * `PGlite` of `@electric-sql/pglite`. Not the transaction that its `transaction` passes to a
 * callback.
 */
export interface PgliteClient {
  /** Absent, or `memory://…`, if the database ends with the process. */
  readonly dataDir?: string | undefined;
  readonly transaction: unknown;
  query(text: string, values?: string[]): PromiseLike<{ readonly rows: readonly unknown[] }>;
  exec(text: string): PromiseLike<unknown>;
}

/** The clients that the store accepts. */
export type PostgresClient = PgClient | PostgresJsClient | PgliteClient;

/** One statement, ready to be sent. */
export interface Statement {
  readonly name: string;
  readonly text: string;
  readonly values: string[];
  /** Whether the connection keeps it prepared. PGlite never does. */
  readonly prepare: boolean;
}

/** One way to query the three kinds of client. */
export interface Session {
  /** Sends one statement, and returns its rows, unchecked. */
  send(statement: Statement): PromiseLike<unknown>;
  /** Runs several statements as one simple query: all of them or none. */
  runScript(script: string): PromiseLike<unknown>;
}

/**
 * Each is a method of an object that is not one of these clients: of connections of mysql and
 * mysql2; of a client that a pool of pg has lent and may lend to others; of pg-promise and slonik.
 */
const OTHERS = ['changeUser', 'release', 'many'] as const;

/**
 * Recognizes the kind of client, and returns how to query it. Throws a `TypeError` for anything
 * else.
 */
export function openSession(client: PostgresClient): Session {
  if (isPostgresJs(client)) return postgresJsSession(client);
  if (isPglite(client)) return pgliteSession(client);
  assert(
    hasMethods(client, 'query', 'connect') && !OTHERS.some((name) => name in client),
    'postgresStore: pass a Pool or Client of pg, the result of postgres(), or a PGlite; ' +
      'not a transaction, a client lent by a pool, or the object of another library',
  );
  return pgSession(client as PgClient);
}

// postgres.js

/**
 * Bun's SQL, which may also be of MySQL or SQLite, has no `subscribe`. Uses `in`, because a proxy
 * of a `pg` client may return a function for any name.
 */
function isPostgresJs(client: PostgresClient): client is PostgresJsClient {
  return hasMethods(client, 'unsafe', 'begin', 'subscribe') && 'unsafe' in client;
}

function postgresJsSession(client: PostgresJsClient): Session {
  return {
    send({ text, values, prepare }) {
      return client.unsafe(text, values, { prepare });
    },
    runScript(script) {
      return client.unsafe(script);
    },
  };
}

// PGlite

function isPglite(client: PostgresClient): client is PgliteClient {
  return hasMethods(client, 'query', 'exec', 'transaction');
}

/** Checks whether the database ends with the process. */
export function isInMemory(client: PostgresClient): boolean {
  if (!isPglite(client)) return false;
  const { dataDir = 'memory://' } = client;
  return dataDir.startsWith('memory://');
}

function pgliteSession(client: PgliteClient): Session {
  return {
    async send({ text, values }) {
      return rowsOf(await client.query(text, values));
    },
    runScript(script) {
      return client.exec(script);
    },
  };
}

// pg

function pgSession(client: PgClient): Session {
  const hasStatus = hasMethods(client, 'getTransactionStatus');
  // Both identify an older Client; `native` is one over libpq. A Pool has neither, and lends a
  // connection to each query.
  const isOlderClient = !hasStatus && ('processID' in client || 'native' in client);
  assert(!isOlderClient, 'postgresStore: a Client needs pg 8.21 or newer. Pass a Pool instead');
  const query = hasStatus ? queryOneByOne(client) : queryMany(client);
  return {
    async send({ name, text, values, prepare }) {
      const unnamed: PgQuery = { text, values };
      const answer = await query(prepare ? { name: `keyscope_${name}`, ...unnamed } : unnamed);
      return rowsOf(answer);
    },
    runScript(script) {
      return query({ text: script });
    },
  };
}

/** A `Pool` accepts several queries at once, and any other object passed here must, too. */
function queryMany(client: PgClient): PgClient['query'] {
  // Only a Pool lends connections and counts them.
  const isPool = 'totalCount' in client && hasMethods(client, 'listenerCount', 'emit');
  if (isPool) return queryPool(client as unknown as PgPool<PgQuery, { rows: readonly unknown[] }>);
  return (query) => client.query(query);
}

/**
 * Sends one query at a time: a `Client` warns if it is queried while busy, and refuses from pg 9
 * on.
 */
function queryOneByOne(client: PgClient): PgClient['query'] {
  let last: PromiseLike<unknown> = Promise.resolve();
  return (query) => {
    const answer = last.then(() => {
      assertOutsideTransaction(client);
      return client.query(query);
    });
    last = answer.then(undefined, () => {});
    return answer;
  };
}

/** Not detected: a BEGIN that the service has queued and the server has not answered. */
function assertOutsideTransaction(client: PgClient): void {
  const status = client.getTransactionStatus?.();
  // The query would wait for a connection that may never open.
  if (status === null) {
    throw new Error('the Client is not connected. Await client.connect() first');
  }
  if (isInTransaction(client)) {
    throw new Error(
      'the Client is in the middle of a transaction. ' +
        'Give keyscope the pool, or its own Client',
    );
  }
}

/** Unchecked: a later check, for all clients, makes sure that this is a list. */
function rowsOf(answer: { readonly rows: unknown } | null | undefined): unknown {
  return answer?.rows;
}
