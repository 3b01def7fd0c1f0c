/**
 * LISTEN and NOTIFY over `pg`, on a dedicated connection that is replaced when it is lost. The
 * other drivers replace theirs themselves.
 */
import { assert, hasMethods } from '../../core/input.js';
import type { PgQuery } from './client.js';
import { pause } from './query.js';

/** The database's channel for the ids of ended keys. */
export const CHANNEL: string = 'keyscope_revoked';

/** Publishes its parameter to all listeners. */
export const NOTIFY: string = `SELECT pg_notify('${CHANNEL}', $1::text)`;

/** How long to wait after a connection was lost or failed to open, in milliseconds. */
const RETRY_MS = 1_000;

/** The error if the argument is not a supported client. */
export const NO_CHANNEL: string =
  'postgresInvalidation: pass () => new pg.Client(…), the result of postgres(), or a PGlite; ' +
  'not a Pool';

/**
 * A `Client` of `pg` that is not connected yet. A `Pool` is rejected, because it would listen on a
 * connection that it also lends to others.
 */
export interface PgListener {
  connect(): PromiseLike<unknown>;
  query(query: PgQuery): PromiseLike<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown;
  end(): PromiseLike<unknown>;
  /** Lets an otherwise idle process end, except while it publishes. */
  unref?(): void;
  ref?(): void;
}

/** Called with every message until the process ends. */
export type OnMessage = (payload: unknown) => void;

/** The two operations of a channel. */
export interface Channel {
  /**
   * Starts listening. Called until it has succeeded once, each time with the same function; after
   * the first call, the channel also retries on its own. Rejects if it does not listen.
   */
  listen(onMessage: OnMessage): PromiseLike<unknown>;
  notify(keyId: string): PromiseLike<unknown>;
}

/** A connection that listens. */
interface Connection {
  notify(keyId: string): Promise<void>;
}

/**
 * Makes a channel with a dedicated connection, opened on first use, and again a second after it was
 * lost or failed to open. There is only one connection at a time: the lost one is ended, and
 * publishers wait for the next.
 */
export function createPgChannel(makeClient: () => PgListener): Channel {
  // Called now, so that a mistake throws now; nobody would see a later error.
  const first = makeClient();
  assertListener(first);
  let registered: OnMessage | undefined;
  let current: Promise<Connection> | undefined;
  const onMessage: OnMessage = (payload) => registered?.(payload);

  /** Makes this client's connection the current one, until it is lost. */
  function open(client: Promise<PgListener>): Promise<Connection> {
    function onLost(): void {
      // May be called several times, and after another connection has replaced this one.
      if (current === opening) void open(pause(RETRY_MS).then(makeClient));
    }
    const opening = client.then((made) => startListening(made, onMessage, onLost));
    opening.catch(onLost);
    current = opening;
    return opening;
  }

  function connection(): Promise<Connection> {
    return current ?? open(Promise.resolve(first));
  }

  return {
    listen(listener) {
      registered = listener;
      return connection();
    },
    async notify(keyId) {
      const { notify } = await connection();
      await notify(keyId);
    },
  };
}

/** Rejects a Pool, which has a `totalCount` and would receive nothing. */
function assertListener(client: PgListener): void {
  const isClient = hasMethods(client, 'connect', 'query', 'on', 'end');
  assert(isClient && !('totalCount' in client), NO_CHANNEL);
}

/**
 * Makes a client listen. Ends the client if that fails or its connection is lost; `onLost` may then
 * be called repeatedly.
 */
async function startListening(
  client: PgListener,
  onMessage: OnMessage,
  onLost: () => void,
): Promise<Connection> {
  function end(): void {
    onLost();
    client.end().then(undefined, () => {});
  }
  client.on('error', end);
  client.on('notification', ({ payload }) => onMessage(payload));
  try {
    await client.connect();
    await client.query({ text: `LISTEN ${CHANNEL}` });
  } catch (error) {
    // A standby accepts connections but refuses LISTEN: without this, one more connection would
    // stay open each second.
    end();
    throw error;
  }
  client.unref?.();
  return { notify: createNotifier(client) };
}

/** Makes a function that publishes on one connection and keeps the process alive only meanwhile. */
function createNotifier(client: PgListener): Connection['notify'] {
  let pending = 0;
  let last: PromiseLike<unknown> = Promise.resolve();

  return async (keyId) => {
    pending += 1;
    client.ref?.();
    // One at a time: a `Client` warns if it is queried while busy, and pg 9 will refuse.
    const sent = last.then(() => client.query({ text: NOTIFY, values: [keyId] }));
    last = sent.then(undefined, () => {});
    try {
      await sent;
    } finally {
      pending -= 1;
      if (pending === 0) client.unref?.();
    }
  };
}
