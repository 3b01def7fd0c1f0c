/** Every client of PostgreSQL, and empty schemas to use them in. */
import { randomUUID } from 'node:crypto';
import { PGlite } from '@electric-sql/pglite';
import type { PostgresClient } from 'keyscope/stores/postgres';
import pg from 'pg';
import postgres from 'postgres';
import { type Door, openDoor } from './door.ts';
import { SERVERS } from './servers.ts';

/** The address of the server. */
export const url: string = SERVERS.postgres;

/** The settings of a connection, as the server accepts them from any client. */
export type Settings = Readonly<Record<string, string>>;

/** Formats settings like the command line of a server. */
function commandLine(settings: Settings): string {
  const options = Object.entries(settings).map(([name, to]) => {
    // Escapes spaces and backslashes within a value.
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

/** Makes a pool that handles lost connections, as every service must. */
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

/** A client, a function that runs SQL through it, and one that closes it. */
export interface Opened {
  readonly client: PostgresClient;
  /** Returns the rows of the last statement. */
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
    // The instance is shared, so nothing closes it.
    end: async () => {},
  };
}

let pglite: Promise<PGlite> | undefined;

/**
 * Returns the one PGlite of this process, which takes seconds to start on a busy machine. It ends
 * with the process.
 */
export function sharedPglite(): Promise<PGlite> {
  pglite ??= PGlite.create();
  return pglite;
}

/**
 * Every client, by name. All need the server except PGlite, which is a database in this process.
 */
export const CLIENTS: Readonly<Record<string, (settings: Settings) => Promise<Opened>>> = {
  'pg Client': async (settings) => ofPg(await pgClient(settings)),
  'pg Pool of 10': async (settings) => ofPg(pgPool(settings)),
  'postgres.js with one connection': async (settings) =>
    ofPostgresJs(postgresJs(settings, { max: 1 })),
  'postgres.js with ten': async (settings) => ofPostgresJs(postgresJs(settings)),
  PGlite: async () => ofPglite(await sharedPglite()),
};

/**
 * An empty schema: its connection settings, a function that runs SQL in it, and one that drops it.
 */
export interface Schema {
  readonly name: string;
  readonly settings: Settings;
  readonly sql: Opened['sql'];
  drop(): Promise<unknown>;
}

/** Makes an empty schema. PGlite has one connection, which is in one schema at a time. */
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

/** A door in front of the server, and the URL through it. */
export interface ServerDoor extends Door {
  readonly url: string;
}

export async function openServerDoor(): Promise<ServerDoor> {
  const through = new URL(url);
  const door = await openDoor({ host: through.hostname, port: Number(through.port) || 5432 });
  through.host = `127.0.0.1:${door.port}`;
  return { ...door, url: through.href };
}
