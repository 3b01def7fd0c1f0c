/**
 * Opens the store at an address. Only here does the platform know database drivers; each is loaded
 * only for its own addresses, so a service installs just the one that it uses.
 */
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import type { KeyStore } from 'keyscope';
import type { Invalidation } from 'keyscope/cache';

export interface OpenedStore {
  readonly store: KeyStore;
  /**
   * For `cacheStore`: tells other processes that a key has ended. Absent if the database has no
   * such channel.
   */
  readonly invalidation?: Invalidation;
  /**
   * Ends the connections, including those to a server that no longer answers. Flush the keyring
   * first.
   */
  close(): Promise<void>;
}

/** At most this many connections in a pool. */
const MOST = 10;
/** In milliseconds, how long to wait for a server to accept a connection, and to close it. */
const PATIENCE = 2_000;

/**
 * Without this, a server that accepts connections but never answers would be waited for forever:
 * `sever` ends the wait. Resolves with whether the server answered.
 */
async function patiently(waiting: Promise<unknown>, sever: () => void): Promise<boolean> {
  let answered = true;
  const timer = setTimeout(() => {
    answered = false;
    sever();
  }, PATIENCE);
  try {
    await waiting;
  } catch (error) {
    if (answered) throw error;
  } finally {
    clearTimeout(timer);
  }
  return answered;
}

/**
 * Sockets that can be severed: a driver may end but leave one open, waiting for the server's last
 * word.
 */
function openSockets() {
  const open = new Set<Socket>();
  return {
    make(): Socket {
      const socket = new Socket().setNoDelay(true);
      open.add(socket);
      return socket.once('close', () => open.delete(socket));
    },
    sever(): void {
      for (const socket of open) socket.destroy();
    },
  };
}

// A lost idle connection tells nobody who is waiting; unhandled, its error ends the process. The
// next request is answered by another connection, or with 503. Drivers keep passwords out of these
// messages.
const report = (error: Error) => console.error(`The key store lost a connection: ${error.message}`);

async function openSqlite(url: string): Promise<OpenedStore> {
  const path = url.slice('sqlite:'.length);
  // SQLite would put the file into the file system's root, and with no path at all keep the keys
  // until it is closed.
  if (path === '' || path.startsWith('//')) {
    throw new TypeError(
      'openStore: write the path right behind the colon, as in sqlite:keys.db or sqlite:/srv/keys.db',
    );
  }
  const [{ DatabaseSync }, { sqliteStore }] = await Promise.all([
    import('node:sqlite'),
    import('keyscope/stores/sqlite'),
  ]);
  const db = new DatabaseSync(path);
  return { store: sqliteStore(db), close: async () => db.close() };
}

async function openPostgres(url: string): Promise<OpenedStore> {
  const [{ default: pg }, { postgresInvalidation, postgresStore }] = await Promise.all([
    import('pg'),
    import('keyscope/stores/postgres'),
  ]);
  const sockets = openSockets();
  const config = { connectionString: url, stream: sockets.make, connectionTimeoutMillis: PATIENCE };
  const pool = new pg.Pool({ ...config, max: MOST }).on('error', report);
  // Listening takes a separate connection, and another one if that is lost: an outage sees many
  // come and go.
  const listeners = new Set<InstanceType<typeof pg.Client>>();
  const listen = () => {
    const client = new pg.Client({ ...config, keepAlive: true });
    listeners.add(client);
    return client.once('end', () => listeners.delete(client));
  };
  return {
    store: postgresStore(pool),
    invalidation: postgresInvalidation(listen),
    async close() {
      // A listening connection keeps no process alive; while its end is awaited, it has to. The
      // types lack `ref`.
      for (const client of listeners)
        if ('ref' in client && typeof client.ref === 'function') client.ref();
      await patiently(
        Promise.all([pool.end(), ...[...listeners].map((client) => client.end())]),
        sockets.sever,
      );
    },
  };
}

async function openMysql(url: string): Promise<OpenedStore> {
  const [{ createPool }, { mysqlStore }] = await Promise.all([
    import('mysql2/promise'),
    import('keyscope/stores/mysql'),
  ]);
  const sockets = openSockets();
  const stream = ({ config }: { config: { port: number; host: string } }) =>
    sockets.make().connect(config.port, config.host);
  const pool = createPool({ uri: url, connectionLimit: MOST, connectTimeout: PATIENCE, stream });
  return {
    store: mysqlStore(pool),
    async close() {
      // It waits for the server only if an answer is pending, and rejects if a connection was never
      // made.
      await patiently(pool.end(), sockets.sever).catch(() => {});
      sockets.sever();
    },
  };
}

/** `?prefix=` is what every Redis key of the store begins with; default `keyscope:`. */
async function openRedis(url: string): Promise<OpenedStore> {
  const [{ createClient }, { redisInvalidation, redisStore }] = await Promise.all([
    import('redis'),
    import('keyscope/stores/redis'),
  ]);
  const address = new URL(url);
  const prefix = address.searchParams.get('prefix') ?? 'keyscope:';
  address.search = '';
  // While the server is away, requests are refused at once: a queued command would be carried out
  // after the answer.
  const publisher = createClient({ url: address.href, disableOfflineQueue: true }).on(
    'error',
    report,
  );
  const subscriber = publisher.duplicate().on('error', report);
  const sever = () => {
    publisher.destroy();
    subscriber.destroy();
  };
  const connected = await patiently(
    Promise.all([publisher.connect(), subscriber.connect()]),
    sever,
  );
  if (!connected) throw new Error(`Redis did not answer within ${PATIENCE} ms`);
  return {
    store: redisStore(publisher, { prefix }),
    invalidation: redisInvalidation({ publisher, subscriber }, { channel: `${prefix}ended` }),
    async close() {
      await patiently(Promise.all([publisher.close(), subscriber.close()]), sever);
    },
  };
}

const OPENERS: Readonly<Record<string, (url: string) => Promise<OpenedStore>>> = {
  sqlite: openSqlite,
  postgres: openPostgres,
  postgresql: openPostgres,
  mysql: openMysql,
  mariadb: openMysql,
  redis: openRedis,
  rediss: openRedis,
};

/** What `openStore` accepts, for usage and errors. */
export const ADDRESSES =
  'sqlite:<path>, postgres://…, postgresql://…, mysql://…, mariadb://…, redis://… or rediss://…';

const schemeOf = (url: string): string => /^([a-z]+):/.exec(url)?.[1] ?? '';

/** Where a store's keys are, in words that may be shown: no user, password or parameters. */
export type Place =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'server'; readonly name: string };

/** Where the keys are for an address that `openStore` accepts. */
export function placeOf(url: string): Place {
  const scheme = schemeOf(url);
  if (scheme !== 'sqlite') {
    const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '…', pathname: '' };
    return { kind: 'server', name: `${scheme}://${host}${pathname}` };
  }
  const path = url.slice('sqlite:'.length);
  // SQLite reads a path that begins with `file:` as a URI.
  const uri = /^file:(?:\/\/(?:localhost)?(?=\/))?([^?#]*)(?:\?([^#]*))?/.exec(path);
  const [, name = path, query = ''] = uri ?? [];
  if (name === ':memory:' || new URLSearchParams(query).get('mode') === 'memory')
    return { kind: 'memory' };
  return { kind: 'file', path: resolve(uri ? decodeURIComponent(name) : name) };
}

/**
 * Opens the store at `sqlite:<path>`, `postgres://…`, `mysql://…` or `redis://…`, or as their own
 * tools write it: `postgresql://…`, `mariadb://…`, and `rediss://…` for Redis over TLS. The SQL
 * stores create their tables on first use, Redis its version.
 *
 * Not checked: that the server is there. The first operation says so, with a `StoreError`; Redis is
 * waited for, at most two seconds.
 *
 * @throws TypeError on any other scheme, and on `sqlite://`. It names only the scheme: the rest may
 *   contain a password.
 * @example
 * const { store, close } = await openStore(process.env.KEYSCOPE_STORE ?? 'sqlite:keys.db');
 */
export async function openStore(url: string): Promise<OpenedStore> {
  const scheme = schemeOf(url);
  const open = Object.hasOwn(OPENERS, scheme) ? OPENERS[scheme] : undefined;
  if (open !== undefined) return open(url);
  throw new TypeError(
    `openStore: pass ${ADDRESSES}, not ${scheme === '' ? 'an address without a scheme' : `${scheme}:`}`,
  );
}
