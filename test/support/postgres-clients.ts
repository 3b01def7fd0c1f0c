/** Every PostgreSQL client, and empty schemas for them. */
import { randomUUID } from 'node:crypto';
import { PGlite } from '@electric-sql/pglite';
import type { PostgresClient } from 'keyscope/stores/postgres';
import pg from 'pg';
import postgres from 'postgres';
import { type Door, openDoor } from './door.ts';
import { SERVERS } from './servers.ts';

/** The server's address. */
export const url: string = SERVERS.postgres;

/** A connection's settings, in the form that the server accepts from any client. */
export type Settings = Readonly<Record<string, string>>;

/** The settings as server command-line options. */
function commandLine(settings: Settings): string {
  const options = Object.entries(settings).map(([name, to]) => {
    // Spaces and backslashes within a value are escaped.
    const escaped = to.replace(/[\\ ]/g, '\\$&');
    return `-c ${name}=${escaped}`;
  });
  return options.join(' ');
}

export async function pgClient(
  settings: Settings = {},
  more: pg.ClientConfig = {},
): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: commandLine(settings), ...more });
  await client.connect();
  return client;
}

/** Handles errors of idle connections, as every service must. */
export function pgPool(settings: Settings = {}, more: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: 10,
    options: commandLine(settings),
    ...more,
  });
  return pool.on('error', () => {});
}

export function postgresJs(
  settings: Settings = {},
  more: postgres.Options<Record<string, never>> = {},
): postgres.Sql {
  return postgres(url, {
    max: 10,
    connection: settings,
    onnotice: () => {},
    backoff: () => 0.05,
    ...more,
  });
}

type Rows = readonly Readonly<Record<string, unknown>>[];

/** A client, SQL through it as a person would type it, and a function that closes it. */
export interface Opened {
  readonly client: PostgresClient;
  /** The rows of the last statement. */
  sql(text: string): Promise<Rows>;
  end(): Promise<unknown>;
}

export function ofPg(client: pg.Client | pg.Pool): Opened {
  return {
    client,
    async sql(text) {
      const results = (await client.query(text)) as pg.QueryResult | pg.QueryResult[];
      const last = Array.isArray(results) ? results.at(-1) : results;
      return (last?.rows ?? []) as Rows;
    },
    end: () => client.end(),
  };
}

export function ofPostgresJs(client: postgres.Sql): Opened {
  return {
    client,
    async sql(text) {
      const rows = (await client.unsafe(text)) as unknown as Rows | readonly Rows[];
      return (Array.isArray(rows[0]) ? rows.at(-1) : rows) as Rows;
    },
    end: () => client.end({ timeout: 1 }),
  };
}

function ofPglite(client: PGlite): Opened {
  return {
    client,
    async sql(text) {
      const results = await client.exec(text);
      return (results.at(-1)?.rows ?? []) as Rows;
    },
    // PGlite is shared, so it stays open.
    end: async () => {},
  };
}

let pglite: Promise<PGlite> | undefined;

/**
 * The one PGlite of this process, because starting it takes seconds on a busy machine. It ends with
 * the process.
 */
export function sharedPglite(): Promise<PGlite> {
  pglite ??= PGlite.create();
  return pglite;
}

/** Every client by name. All except PGlite, which runs in this process, need the server. */
export const CLIENTS: Readonly<Record<string, (settings: Settings) => Promise<Opened>>> = {
  'pg Client': async (settings) => ofPg(await pgClient(settings)),
  'pg Pool of 10': async (settings) => ofPg(pgPool(settings)),
  'postgres.js with one connection': async (settings) =>
    ofPostgresJs(postgresJs(settings, { max: 1 })),
  'postgres.js with ten': async (settings) => ofPostgresJs(postgresJs(settings)),
  PGlite: async () => ofPglite(await sharedPglite()),
};

/**
 * An empty schema, how connections reach it, SQL in it as its owner, and a function that drops it.
 */
export interface Schema {
  readonly name: string;
  readonly settings: Settings;
  readonly sql: Opened['sql'];
  drop(): Promise<unknown>;
}

/** PGlite has one connection, which is in one schema at a time. */
export async function emptySchema(kind = 'pg Client'): Promise<Schema> {
  const name = `keyscope_${randomUUID().replaceAll('-', '').slice(0, 16)}`;
  const settings = { search_path: name };
  const inProcess = kind === 'PGlite';
  const owner = inProcess ? ofPglite(await sharedPglite()) : ofPg(await pgClient(settings));
  await owner.sql(
    `SET client_min_messages = error; CREATE SCHEMA ${name}; SET search_path = ${name}`,
  );
  const drop = async () => {
    await owner.sql(`DROP SCHEMA ${name} CASCADE`);
    await owner.end();
  };
  return { name, settings, sql: owner.sql, drop };
}

/** A door in front of the server, and the server's address through it. */
export interface ServerDoor extends Door {
  readonly url: string;
}

export async function openServerDoor(): Promise<ServerDoor> {
  const through = new URL(url);
  const door = await openDoor({ host: through.hostname, port: Number(through.port) || 5432 });
  through.host = `127.0.0.1:${door.port}`;
  return { ...door, url: through.href };
}
