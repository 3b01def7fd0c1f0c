/** What the tests of the PostgreSQL store share: every client, and a schema of one's own to use it in. */
import { randomUUID } from 'node:crypto';
import { PGlite } from '@electric-sql/pglite';
import type { PostgresClient } from 'keyscope/stores/postgres';
import pg from 'pg';
import postgres from 'postgres';
import { SERVERS } from './servers.ts';

const url = SERVERS.postgres;

/** A connection's settings, as the server takes them from any client. */
type Settings = Readonly<Record<string, string>>;
const options = (settings: Settings) => Object.entries(settings).flatMap(([name, to]) => ['-c', `${name}=${to}`]);

export const pgClient = async (settings: Settings = {}, connectionString: string = url): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString, options: options(settings).join(' ') });
  await client.connect();
  return client;
};

/** Listens to what it loses, as every service must. */
export function pgPool(settings: Settings = {}, more: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 10, options: options(settings).join(' '), ...more });
  return pool.on('error', () => {});
}

export const postgresJs = (settings: Settings = {}, more: postgres.Options<Record<string, never>> = {}) =>
  postgres(url, { max: 10, connection: settings, onnotice: () => {}, ...more });

/** A client, SQL through it as somebody types it, and its end. */
export interface Opened {
  readonly client: PostgresClient;
  /** Rows of the last statement. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  end(): Promise<unknown>;
}

type Rows = readonly Readonly<Record<string, unknown>>[];

const ofPg = (client: pg.Client | pg.Pool): Opened => ({
  client,
  async sql(text) {
    const results = (await client.query(text)) as pg.QueryResult | pg.QueryResult[];
    return (Array.isArray(results) ? results.at(-1)?.rows : results.rows) ?? [];
  },
  end: () => client.end(),
});

const ofPostgresJs = (client: ReturnType<typeof postgresJs>): Opened => ({
  client,
  sql: async (text) => {
    const rows = (await client.unsafe(text)) as unknown as Rows | readonly Rows[];
    return (Array.isArray(rows[0]) ? rows.at(-1) : rows) as Rows;
  },
  end: () => client.end({ timeout: 5 }),
});

const ofPglite = (client: PGlite): Opened => ({
  client,
  sql: async (text) => ((await client.exec(text)).at(-1)?.rows ?? []) as Rows,
  end: () => client.close(),
});

/** Every client on a server, by name. */
export const CLIENTS = {
  'pg Client': async (settings: Settings) => ofPg(await pgClient(settings)),
  'pg Pool of 10': async (settings: Settings) => ofPg(pgPool(settings)),
  'postgres.js with one connection': async (settings: Settings) => ofPostgresJs(postgresJs(settings, { max: 1 })),
  'postgres.js with ten': async (settings: Settings) => ofPostgresJs(postgresJs(settings)),
} as const satisfies Readonly<Record<string, (settings: Settings) => Promise<Opened>>>;

/** A database in this process, with a schema that is empty. */
export const openPglite = async (): Promise<Opened> => ofPglite(await PGlite.create());

/** Names of schemas that are this process's own. */
export const schemaName = (): string => `keyscope_${randomUUID().replaceAll('-', '').slice(0, 16)}`;

/** An empty schema, how connections come to it, and its end. */
export async function emptySchema() {
  const name = schemaName();
  const admin = await pgClient();
  await admin.query(`CREATE SCHEMA ${name}`);
  return {
    name,
    settings: { search_path: name },
    async drop() {
      await admin.query(`DROP SCHEMA ${name} CASCADE`);
      await admin.end();
    },
  };
}
