/** Both drivers of MySQL, by connection and by pool, and empty databases to use them on. */
import type { MysqlClient } from 'keyscope/stores/mysql';
import mariadb from 'mariadb';
import mysql from 'mysql2/promise';
import { SERVERS } from './servers.ts';

/** How to log in to a server, without a database. */
function loginOf(url: string) {
  const { hostname, port, username, password } = new URL(url);
  return {
    host: hostname,
    port: Number(port) || 3306,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
  } as const;
}

export const SERVER = loginOf(SERVERS.mysql);

/** A separate connection, for an operator's view and actions. */
export interface Console {
  rows(sql: string): Promise<Record<string, unknown>[]>;
  /** Returns the first column of the first row. */
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

async function inspectServer(): Promise<boolean> {
  try {
    const server = await openConsole();
    const version = await server.value('SELECT VERSION()');
    await server.end();
    return String(version).includes('MariaDB');
  } catch {
    // The tests are skipped, or fail.
    return true;
  }
}

/** False for MySQL, which lacks some of what MariaDB has. */
export const isMariadb: boolean = await inspectServer();

/** SQL for a table of the numbers from 1 to `count`, in the column `seq`. */
export function numbersTo(count: number): string {
  const list = `CONCAT('[0', REPEAT(',0', ${count - 1}), ']')`;
  return `JSON_TABLE(${list}, '$[*]' COLUMNS (seq FOR ORDINALITY)) AS numbers`;
}

/** Lets an operator's connection write rows that break a CHECK of the keys. */
export async function ignoreChecks({ rows }: Pick<Console, 'rows'>): Promise<void> {
  if (isMariadb) {
    await rows('SET check_constraint_checks = 0');
    return;
  }
  const checks =
    await rows(`SELECT CONSTRAINT_NAME AS name FROM information_schema.TABLE_CONSTRAINTS
    WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'keyscope_keys'
      AND CONSTRAINT_TYPE = 'CHECK' AND ENFORCED = 'YES'`);
  for (const { name } of checks) {
    await rows(`ALTER TABLE keyscope_keys ALTER CHECK ${name} NOT ENFORCED`);
  }
}

/** Lets users without SUPER create triggers, although MySQL writes a binary log by default. */
export async function trustCreators({ rows }: Pick<Console, 'rows'>): Promise<void> {
  if (!isMariadb) await rows('SET GLOBAL log_bin_trust_function_creators = 1');
}

export interface Database {
  readonly name: string;
  /** The settings for either driver. */
  readonly settings: typeof SERVER & { readonly database: string };
  readonly console: Console;
  drop(): Promise<void>;
}

/** Creates an empty database on the server of the tests, or on another. */
export async function emptyDatabase(url: string = SERVERS.mysql): Promise<Database> {
  const name = `keyscope_${globalThis.crypto.randomUUID().replaceAll('-', '')}`;
  const login = loginOf(url);
  const server = await openConsole(login);
  await server.rows(`CREATE DATABASE ${name}`);
  const settings = { ...login, database: name };
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
  /** Sends SQL unchanged, on a connection of this client. */
  query(sql: string): Promise<unknown>;
  end(): Promise<void>;
}

// The real clients, without casts: that this compiles shows that they have the shape the store
// needs.
const opened = (
  client: MysqlClient & { query(sql: string): Promise<unknown>; end(): Promise<void> },
): Opened => ({ client, query: (sql) => client.query(sql), end: () => client.end() });

/** Options of a driver in addition to the server's address. */
export type ClientOptions = Readonly<Record<string, unknown>>;

/** MySQL encrypts passwords with it on connections without TLS; mysql2 always asks for it. */
const KEY_OF_MYSQL = { allowPublicKeyRetrieval: true } as const;

/** A pool of ten, or one connection, with the driver's defaults and the options of a test. */
export const CLIENTS: Readonly<Record<string, (options: ClientOptions) => Promise<Opened>>> = {
  'mysql2 connection': async (options) =>
    opened(await mysql.createConnection({ ...SERVER, ...options })),
  'mysql2 pool': async (options) =>
    opened(mysql.createPool({ ...SERVER, connectionLimit: 10, ...options })),
  'mariadb connection': async (options) =>
    opened(await mariadb.createConnection({ ...SERVER, ...KEY_OF_MYSQL, ...options })),
  'mariadb pool': async (options) =>
    opened(mariadb.createPool({ ...SERVER, connectionLimit: 10, ...KEY_OF_MYSQL, ...options })),
};
