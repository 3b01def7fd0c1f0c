/**
 * LISTEN and NOTIFY over `pg`, on a connection of its own that is made again when it is lost. The
 * other drivers do this by themselves.
 */
import { assert } from '../../core/input.js';
import { hasMethods, type PgQuery } from './clients.js';
import { pause } from './pause.js';

/** The database's channel that carries the ids of ended keys. */
export const CHANNEL: string = 'keyscope_revoked';

/** Tells everybody who listens; its parameter is what is told. */
export const NOTIFY: string = `SELECT pg_notify('${CHANNEL}', $1::text)`;

/** How long after a connection was lost, or failed to open, the next one is made. */
const RETRY_MS = 1_000;

/** Said of whatever is passed in place of a channel. */
export const NO_CHANNEL: string =
  'postgresInvalidation: pass () => new pg.Client(…), what postgres() returned, or a PGlite; ' +
  'no Pool';

/**
 * A `Client` of `pg` that is not connected yet. A `Pool` will not do: it would listen on a
 * connection it lends.
 */
export interface PgListener {
  connect(): PromiseLike<unknown>;
  query(query: PgQuery): PromiseLike<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown;
  end(): PromiseLike<unknown>;
  /** Lets a process that has nothing else to do end, except while it publishes. */
  unref?(): void;
  ref?(): void;
}

/** Is called with whatever arrives, until the process ends. */
export type Hear = (payload: unknown) => void;

/** The two ends of a channel. */
export interface Channel {
  /** Called once. Settles when the first attempt to listen does. */
  listen(hear: Hear): PromiseLike<unknown>;
  notify(keyId: string): PromiseLike<unknown>;
}

/**
 * A dedicated connection that listens and notifies: opened on first use, and again a second after
 * it was lost or failed to open. One at a time: what is left of the last one is ended, and a
 * publisher waits for the next one meanwhile.
 */
export function createPgChannel(makeClient: () => PgListener): Channel {
  // At once: later, nobody would be told of a mistake.
  const first = makeClient();
  assertListener(first);
  let hearing: Hear | undefined;
  let current: Promise<PgListener> | undefined;
  const hear: Hear = (payload) => hearing?.(payload);

  /** Makes the connection of `coming` the current one, until it is lost. */
  function open(coming: Promise<PgListener>): Promise<PgListener> {
    function lost(): void {
      // Some are lost several times, and some after another has taken their place.
      if (current === opening) void open(pause(RETRY_MS).then(makeClient));
    }
    const opening = coming.then((client) => startListening(client, hear, lost));
    opening.catch(lost);
    current = opening;
    return opening;
  }

  function connection(): Promise<PgListener> {
    return current ?? open(Promise.resolve(first));
  }

  const notifyOn = createNotifier();
  return {
    listen(listener) {
      hearing = listener;
      return connection();
    },
    async notify(keyId) {
      await notifyOn(await connection(), keyId);
    },
  };
}

/** A Pool would hear nothing; no Client has its count. */
function assertListener(client: PgListener): void {
  const isClient = hasMethods(client, 'connect', 'query', 'on', 'end');
  assert(isClient && !('totalCount' in client), NO_CHANNEL);
}

/**
 * Makes a client listen. If that fails, or its connection is lost, it is ended; `lost` may be
 * called repeatedly.
 */
async function startListening(
  client: PgListener,
  hear: Hear,
  lost: () => void,
): Promise<PgListener> {
  function end(): void {
    lost();
    client.end().then(undefined, () => {});
  }
  client.on('error', end);
  client.on('notification', ({ payload }) => hear(payload));
  try {
    await client.connect();
    await client.query({ text: `LISTEN ${CHANNEL}` });
  } catch (error) {
    // A standby accepts the connection but refuses LISTEN: left open, there would be one more each
    // second.
    end();
    throw error;
  }
  client.unref?.();
  return client;
}

/** While it tells something, and only then, a connection keeps the process alive. */
function createNotifier(): (client: PgListener, keyId: string) => Promise<void> {
  let underWay = 0;
  return async (client, keyId) => {
    underWay += 1;
    client.ref?.();
    try {
      await client.query({ text: NOTIFY, values: [keyId] });
    } finally {
      underWay -= 1;
      if (underWay === 0) client.unref?.();
    }
  };
}
