/** Both MySQL drivers, as a connection and as a pool, and empty databases for them. */
import type { MysqlClient } from 'keyscope/stores/mysql';
import mariadb from 'mariadb';
import mysql from 'mysql2/promise';
import { SERVERS } from './servers.ts';

/** The URL of the server, without a database. */
const { hostname, port, username, password } = new URL(SERVERS.mysql);
export const SERVER = {
  host: hostname,
  port: Number(port) || 3306,
  user: decodeURIComponent(username),
  password: decodeURIComponent(password),
} as const;

/** A separate connection, for what an operator sees and does. */
export interface Console {
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** The first column of the first row. */
  value(sql: string): Promise<unknown>;
  end(): Promise<void>;
}

export async function openConsole(options: mysql.ConnectionOptions = {}): Promise<Console> {
  const connection = await mysql.createConnection({ ...SERVER, ...options });
  const rows = async (sql: string) => {
    const [answer] = await connection.query(sql);
    return Array.isArray(answer) ? (answer as Record<string, unknown>[]) : [];
  };
  return {
    rows,
    value: async (sql) => Object.values((await rows(sql))[0] ?? {})[0],
    end: () => connection.end(),
  };
}

export interface Database {
  readonly name: string;
  /** For either driver. */
  readonly settings: typeof SERVER & { readonly database: string };
  readonly console: Console;
  drop(): Promise<void>;
}

/** A new, empty database. */
export async function emptyDatabase(): Promise<Database> {
  const name = `keyscope_${globalThis.crypto.randomUUID().replaceAll('-', '')}`;
  const server = await openConsole();
  await server.rows(`CREATE DATABASE ${name}`);
  const settings = { ...SERVER, database: name };
  const own = await openConsole(settings);
  return {
    name,
    settings,
    console: own,
    async drop() {
      await own.end();
      await server.rows(`DROP DATABASE ${name}`);
      await server.end();
    },
  };
}

export interface Opened {
  readonly client: MysqlClient;
  /** Sent unchanged on a connection of this client. */
  query(sql: string): Promise<unknown>;
  end(): Promise<void>;
}

// The real clients, without casts: this compiles only if they have the shape that the store
// requires.
const opened = (
  client: MysqlClient & { query(sql: string): Promise<unknown>; end(): Promise<void> },
): Opened => ({ client, query: (sql) => client.query(sql), end: () => client.end() });

/** Driver options in addition to the server's address. */
export type ClientOptions = Readonly<Record<string, unknown>>;

/** A pool of ten, or one connection, with a test's options on top of the driver's defaults. */
export const CLIENTS: Readonly<Record<string, (options: ClientOptions) => Promise<Opened>>> = {
  'mysql2 connection': async (options) =>
    opened(await mysql.createConnection({ ...SERVER, ...options })),
  'mysql2 pool': async (options) =>
    opened(mysql.createPool({ ...SERVER, connectionLimit: 10, ...options })),
  'mariadb connection': async (options) =>
    opened(await mariadb.createConnection({ ...SERVER, ...options })),
  'mariadb pool': async (options) =>
    opened(mariadb.createPool({ ...SERVER, connectionLimit: 10, ...options })),
};
