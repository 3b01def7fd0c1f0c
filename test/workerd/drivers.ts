/**
 * A Worker with its keys on a server, for `test/servers/operations/workers.test.ts`. The path names
 * a driver, and whether its client is kept or made in each request. The answer is JSON.
 */
import { Redis } from 'ioredis';
import { causeOf, createKeyring, defineScopes, isStoreError, type KeyStore } from 'keyscope';
import { mysqlStore } from 'keyscope/stores/mysql';
import { postgresStore } from 'keyscope/stores/postgres';
import { redisStore } from 'keyscope/stores/redis';
import * as mariadb from 'mariadb';
import mysql from 'mysql2/promise';
import pg from 'pg';
import postgres from 'postgres';
import { createClient } from 'redis';

interface Env {
  readonly HYPERDRIVE: { readonly connectionString: string };
  readonly MYSQL: string;
  readonly REDIS: string;
  readonly PREFIX: string;
}
interface Context {
  waitUntil(work: Promise<unknown>): void;
}

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const AUTHORITY = { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: 'all' } as const;
const INPUT = { name: 'ci', scopes: ['threats:read'], expiresAt: 'never' } as const;
const PEPPERS = [{ id: 'p1', secret: 'first-pepper-first-pepper-first-pepper!' }];

function keyringOver(store: KeyStore, storeTimeoutMs: number) {
  return createKeyring({ prefix: 'acme', catalog, store, peppers: PEPPERS, storeTimeoutMs });
}

/** What the printed Worker makes in each request. Every request issues a key and uses it. */
export function createApp(store: KeyStore) {
  const keyring = keyringOver(store, 20_000);
  return { keyring, fetch: async (_request: Request) => Response.json(await walk(keyring)) };
}

async function walk(keyring: ReturnType<typeof keyringOver>): Promise<string> {
  const { key } = await keyring.issue(INPUT, AUTHORITY);
  const headers = { authorization: `Bearer ${key}` };
  return (await keyring.authenticate(new Request('http://service', { headers }))).via;
}

// ── Drivers ───────────────────────────────────────────────────────────────────────────────────

interface Opened {
  readonly store: KeyStore;
  end(): Promise<unknown>;
}

function ignore(): void {}

async function openPg({ HYPERDRIVE }: Env): Promise<Opened> {
  const client = new pg.Client({ connectionString: HYPERDRIVE.connectionString });
  client.on('error', ignore);
  await client.connect();
  return { store: postgresStore(client), end: () => client.end() };
}

async function openPgPool({ HYPERDRIVE }: Env): Promise<Opened> {
  const pool = new pg.Pool({ connectionString: HYPERDRIVE.connectionString, max: 5 });
  pool.on('error', ignore);
  return { store: postgresStore(pool), end: () => pool.end() };
}

async function openPostgres({ HYPERDRIVE }: Env): Promise<Opened> {
  const sql = postgres(HYPERDRIVE.connectionString, { max: 5, fetch_types: false });
  return { store: postgresStore(sql), end: () => sql.end() };
}

async function openMysql2({ MYSQL }: Env): Promise<Opened> {
  // Workers evaluate no text as code.
  const pool = mysql.createPool({ uri: MYSQL, disableEval: true });
  return { store: mysqlStore(pool), end: () => pool.end() };
}

async function openMariadb({ MYSQL }: Env): Promise<Opened> {
  const pool = mariadb.createPool(MYSQL.replace('mysql:', 'mariadb:'));
  return { store: mysqlStore(pool), end: () => pool.end() };
}

async function openIoRedis({ REDIS, PREFIX }: Env): Promise<Opened> {
  const client = new Redis(REDIS);
  client.on('error', ignore);
  return { store: redisStore(client, { prefix: PREFIX }), end: () => client.quit() };
}

async function openNodeRedis({ REDIS, PREFIX }: Env): Promise<Opened> {
  const client = createClient({ url: REDIS });
  client.on('error', ignore);
  await client.connect();
  return { store: redisStore(client, { prefix: PREFIX }), end: () => client.close() };
}

const DRIVERS: Readonly<Record<string, (env: Env) => Promise<Opened>>> = {
  'pg-pool': openPgPool,
  'pg-client': openPg,
  postgres: openPostgres,
  mysql2: openMysql2,
  mariadb: openMariadb,
  ioredis: openIoRedis,
  redis: openNodeRedis,
};

// ── Requests ──────────────────────────────────────────────────────────────────────────────────

const kept = new Map<string, Opened>();

async function outcome({ store }: Opened, storeTimeoutMs: number): Promise<string> {
  try {
    return await walk(keyringOver(store, storeTimeoutMs));
  } catch (error) {
    if (!isStoreError(error)) throw error;
    const cause = causeOf(error);
    return cause instanceof Error ? cause.message : error.message;
  }
}

// The runtime expects a default export.
// biome-ignore lint/style/noDefaultExport: see above
export default {
  async fetch(request: Request, env: Env, ctx: Context): Promise<Response> {
    const [, mode, name = ''] = new URL(request.url).pathname.split('/');
    const open = DRIVERS[name];
    if (open === undefined) return new Response(null, { status: 404 });
    const opened = kept.get(name) ?? (await open(env));
    if (mode === 'kept') {
      const isFirst = !kept.has(name);
      kept.set(name, opened);
      // The first request is slow, because it migrates.
      return Response.json(await outcome(opened, isFirst ? 20_000 : 1_500));
    }
    const said = await outcome(opened, 20_000);
    ctx.waitUntil(opened.end());
    return Response.json(said);
  },
};
