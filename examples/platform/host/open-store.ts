/**
 * Opens the store at an address. This is the only file that knows database drivers. It loads each
 * only for its own addresses, so you install just the driver that you use.
 */
import { existsSync, writeFileSync } from 'node:fs';
import type { KeyStore } from 'keyscope';
import type { Invalidation } from 'keyscope/cache';
import {
  MOST_CONNECTIONS,
  openSockets,
  PATIENCE_MS,
  reportLost,
  waitPatiently,
} from './connections.ts';

export interface OpenedStore {
  readonly store: KeyStore;
  /**
   * For `cacheStore`: notifies other processes when a key ends. Absent if the database has no such
   * channel.
   */
  readonly invalidation?: Invalidation;
  /** Closes the connections, even if the server no longer answers. Flush the keyring first. */
  close(): Promise<void>;
}

async function openSqlite(url: string): Promise<OpenedStore> {
  const path = url.slice('sqlite:'.length);
  // SQLite would put the file into the root of the file system. Without a path, it would lose the
  // keys at the end.
  if (path === '' || path.startsWith('//')) {
    const examples = 'sqlite:keys.db or sqlite:/srv/keys.db';
    throw new TypeError(`openStore: write the path right after the colon, as in ${examples}`);
  }
  const { DatabaseSync } = await import('node:sqlite');
  const { sqliteStore } = await import('keyscope/stores/sqlite');
  // SQLite would let everyone on the machine read a new file. Names of databases in memory have a
  // colon. Closing an existing file would release the locks of other handles.
  const isNew = !path.includes(':') && !existsSync(path);
  if (isNew) writeFileSync(path, '', { flag: 'a', mode: 0o600 });
  const db = new DatabaseSync(path);
  return { store: sqliteStore(db), close: async () => db.close() };
}

async function openPostgres(url: string): Promise<OpenedStore> {
  const { default: pg } = await import('pg');
  const { postgresInvalidation, postgresStore } = await import('keyscope/stores/postgres');
  const sockets = openSockets();
  const config = {
    connectionString: url,
    stream: sockets.make,
    connectionTimeoutMillis: PATIENCE_MS,
  };
  const pool = new pg.Pool({ ...config, max: MOST_CONNECTIONS });
  pool.on('error', reportLost);
  // Listening needs its own connection, and another one if that is lost, so an outage creates many.
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
      const ends = [pool.end()];
      for (const client of listeners) {
        // A listening connection does not keep the process alive, but it has to until it has
        // ended. The types lack `ref`.
        const { ref } = client as { readonly ref?: () => void };
        ref?.call(client);
        ends.push(client.end());
      }
      await waitPatiently(Promise.all(ends), sockets.sever);
    },
  };
}

interface MysqlStream {
  readonly config: { readonly host: string; readonly port: number };
}

async function openMysql(url: string): Promise<OpenedStore> {
  const { createPool } = await import('mysql2/promise');
  const { mysqlStore } = await import('keyscope/stores/mysql');
  const sockets = openSockets();
  const pool = createPool({
    uri: url,
    connectionLimit: MOST_CONNECTIONS,
    connectTimeout: PATIENCE_MS,
    stream: ({ config }: MysqlStream) => sockets.make().connect(config.port, config.host),
  });
  return {
    store: mysqlStore(pool),
    async close() {
      // Waits for the server only if an answer is pending. Rejects if it never had a connection.
      await waitPatiently(pool.end(), sockets.sever).catch(() => {});
      sockets.sever();
    },
  };
}

/** Every Redis key of the store begins with `?prefix=`. Default: `keyscope:`. */
async function openRedis(url: string): Promise<OpenedStore> {
  const { createClient } = await import('redis');
  const { redisInvalidation, redisStore } = await import('keyscope/stores/redis');
  const address = new URL(url);
  const prefix = address.searchParams.get('prefix') ?? 'keyscope:';
  address.search = '';
  // Without the server, requests fail at once. Redis would carry out a queued command after the
  // answer.
  const publisher = createClient({ url: address.href, disableOfflineQueue: true });
  publisher.on('error', reportLost);
  const subscriber = publisher.duplicate();
  subscriber.on('error', reportLost);
  const sever = (): void => {
    publisher.destroy();
    subscriber.destroy();
  };
  const connecting = Promise.all([publisher.connect(), subscriber.connect()]);
  const connected = await waitPatiently(connecting, sever);
  if (!connected) throw new Error(`Redis did not answer within ${PATIENCE_MS} ms`);
  return {
    store: redisStore(publisher, { prefix }),
    invalidation: redisInvalidation({ publisher, subscriber }, { channel: `${prefix}ended` }),
    async close() {
      await waitPatiently(Promise.all([publisher.close(), subscriber.close()]), sever);
    },
  };
}

type Open = (url: string) => Promise<OpenedStore>;

const OPENERS: ReadonlyMap<string, Open> = new Map([
  ['sqlite', openSqlite],
  ['postgres', openPostgres],
  ['postgresql', openPostgres],
  ['mysql', openMysql],
  ['mariadb', openMysql],
  ['redis', openRedis],
  ['rediss', openRedis],
]);

/** The addresses that `openStore` accepts, for the usage and for errors. */
export const ADDRESSES =
  'sqlite:<path>, postgres://…, postgresql://…, mysql://…, mariadb://…, redis://… or rediss://…';

/** Returns the scheme of an address; empty if it has none. */
const schemeOf = (url: string): string => /^([a-z]+):/.exec(url)?.[1] ?? '';

/**
 * Opens the store at `sqlite:<path>`, `postgres://…`, `mysql://…` or `redis://…`. It also accepts
 * `postgresql://…`, `mariadb://…`, and `rediss://…` for Redis over TLS. On first use, the SQL
 * stores create their tables, and the Redis store writes its version.
 *
 * Not checked: whether the server answers. If not, the first operation fails with a `StoreError`.
 * For Redis, this function waits at most two seconds and rejects.
 *
 * @throws TypeError on any other scheme, and on `sqlite://`. The message has only the scheme,
 *   because the rest may contain a password.
 * @example
 * const { store, close } = await openStore(process.env.KEYSCOPE_STORE ?? 'sqlite:keys.db');
 */
export async function openStore(url: string): Promise<OpenedStore> {
  const scheme = schemeOf(url);
  const open = OPENERS.get(scheme);
  if (open !== undefined) return open(url);
  const given = scheme === '' ? 'an address without a scheme' : `${scheme}:`;
  throw new TypeError(`openStore: pass ${ADDRESSES}, not ${given}`);
}
