/**
 * LISTEN and NOTIFY over `pg`, on a connection of its own that is made again when it is lost. The
 * other drivers do this by themselves.
 */
import { assert, hasMethods } from '../../core/input.js';
import type { PgQuery } from './client.js';
import { pause } from './query.js';

/** The database's channel that carries the ids of ended keys. */
export const CHANNEL: string = 'keyscope_revoked';

/** Publishes its parameter to all listeners. */
export const NOTIFY: string = `SELECT pg_notify('${CHANNEL}', $1::text)`;

/** How long to wait after a connection was lost or failed to open, in milliseconds. */
const RETRY_MS = 1_000;

/** The error if something else is passed in place of a channel. */
export const NO_CHANNEL: string =
  'postgresInvalidation: pass () => new pg.Client(…), what postgres() returned, or a PGlite; ' +
  'not a Pool';

/**
 * A `Client` of `pg` that is not connected yet. A `Pool` is refused, because it would listen on a
 * connection that it also lends to others.
 */
export interface PgListener {
  connect(): PromiseLike<unknown>;
  query(query: PgQuery): PromiseLike<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown;
  end(): PromiseLike<unknown>;
  /** With it, an otherwise idle process may end, except while it publishes. */
  unref?(): void;
  ref?(): void;
}

/** Called with every message until the process ends. */
export type OnMessage = (payload: unknown) => void;

/** How to listen and how to notify. */
export interface Channel {
  /**
   * Called until it has succeeded once, each time with the same function; from the first time on,
   * the channel also tries by itself. Rejects if it does not hear.
   */
  listen(onMessage: OnMessage): PromiseLike<unknown>;
  notify(keyId: string): PromiseLike<unknown>;
}

/** A connection that listens. */
interface Connection {
  notify(keyId: string): Promise<void>;
}

/**
 * A dedicated connection that listens and notifies: opened on first use, and again a second after
 * it was lost or failed to open. There is only one at a time: the lost connection is ended, and
 * publishers wait for the next one.
 */
export function createPgChannel(makeClient: () => PgListener): Channel {
  // Called at once, so that a mistake throws now; later, nobody would see the error.
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

/** Refuses a Pool, which has a `totalCount` and would receive nothing. */
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

/** Publishes on one connection, which keeps the process alive only while it does so. */
function createNotifier(client: PgListener): Connection['notify'] {
  let pending = 0;
  let last: PromiseLike<unknown> = Promise.resolve();

  return async (keyId) => {
    pending += 1;
    client.ref?.();
    // One at a time: a `Client` warns if it is queried while it is busy, and pg 9 will refuse.
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
