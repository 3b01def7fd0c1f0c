/**
 * `npm run lab -- load`: checks that a distant database answers look-ups in time. Load arrives by
 * the clock, whether or not the earlier requests are answered: a caller that waited for its answer
 * would slow down with the store, and hide a collapse. At least 99 of 100 honest requests have to
 * be answered within `storeTimeoutMs`. Prints a table; the exit code says whether all were. `--
 * --quick` takes two seconds for each instead of eight.
 *
 * Needs PostgreSQL and MySQL or MariaDB, where it creates a schema and a database and drops them. A
 * proxy adds the distance, half of the delay in each direction.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyring, defineScopes, generateKey, type KeyStore } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { mysqlStore } from 'keyscope/stores/mysql';
import { postgresStore } from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { emptyDatabase } from '../support/mysql-clients.ts';
import { emptySchema, url } from '../support/postgres-clients.ts';
import { openTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

const SECONDS = process.argv.includes('--quick') ? 2 : 8;
const POOL = 10;
const KEYS = 500;
const STORE_TIMEOUT_MS = 2_000;
const ENOUGH = 0.99;
const PREFIX = 'acme';
/** To measure other numbers of queries in flight than the default. */
const { KEYSCOPE_TEST_QUERIES } = process.env;
const QUERIES = KEYSCOPE_TEST_QUERIES === undefined ? undefined : Number(KEYSCOPE_TEST_QUERIES);

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const peppers = [{ id: 'p1', secret: 'a pepper of this test alone, with 32 bytes' }];
const authority = { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: 'all' } as const;

// ── The databases ────────────────────────────────────────────────────────────────────────────────

/** A store on a pool, through a proxy. */
interface Place {
  readonly store: KeyStore;
  readonly proxy: TcpProxy;
  end(): Promise<void>;
}

async function openPostgres(): Promise<Place> {
  const schema = await emptySchema();
  const { hostname, port } = new URL(url);
  const proxy = await openTcpProxy({ host: hostname, port: Number(port) || 5432 });
  const through = new URL(url);
  through.host = `127.0.0.1:${proxy.port}`;
  const options = `-c search_path=${schema.name}`;
  const pool = new pg.Pool({ connectionString: through.href, max: POOL, options });
  pool.on('error', () => {});
  async function end(): Promise<void> {
    await pool.end();
    await proxy.close();
    await schema.drop();
  }
  return { store: postgresStore(pool, { maxLookUpQueries: QUERIES }), proxy, end };
}

async function openMysql(): Promise<Place> {
  const database = await emptyDatabase();
  const { host, port } = database.settings;
  const proxy = await openTcpProxy({ host, port });
  const through = { ...database.settings, host: '127.0.0.1', port: proxy.port };
  const pool = mysql.createPool({ ...through, connectionLimit: POOL });
  async function end(): Promise<void> {
    await pool.end();
    await proxy.close();
    await database.drop();
  }
  return { store: mysqlStore(pool, { maxLookUpQueries: QUERIES }), proxy, end };
}

const SERVERS = { PostgreSQL: openPostgres, MariaDB: openMysql } as const;

// ── The load ─────────────────────────────────────────────────────────────────────────────────────

/** The requests in a second, and the distance of the database. */
interface Load {
  readonly honest: number;
  readonly unknown: number;
  readonly delayMs: number;
  readonly isCached: boolean;
}

const LOADS: readonly Load[] = [
  { honest: 800, unknown: 0, delayMs: 20, isCached: false },
  { honest: 1_500, unknown: 0, delayMs: 20, isCached: false },
  { honest: 2_500, unknown: 0, delayMs: 5, isCached: false },
  { honest: 800, unknown: 1_500, delayMs: 10, isCached: false },
  { honest: 800, unknown: 1_500, delayMs: 10, isCached: true },
];

/** Calls `ask` at a fixed rate, which no answer changes. */
async function arrive(rate: number, ask: (due: number) => Promise<void>): Promise<void> {
  const start = performance.now();
  const asked: Promise<void>[] = [];
  const total = rate * SECONDS;
  while (asked.length < total) {
    const due = Math.min(total, Math.floor(((performance.now() - start) * rate) / 1_000));
    while (asked.length < due) asked.push(ask(start + (asked.length * 1_000) / rate));
    await sleep(1);
  }
  await Promise.all(asked);
}

/** The result of the honest requests. */
interface Result {
  readonly asked: number;
  /** Milliseconds from due time to answer, for each request that was answered in time. */
  readonly times: readonly number[];
  readonly longestTurn: number;
}

async function measure({ store, proxy }: Place, load: Load): Promise<Result> {
  const options = { cache: new LRUCache<string, object>({ max: 10_000 }), maxStalenessMs: 10_000 };
  const used = load.isCached ? cacheStore(store, options) : store;
  const settings = { prefix: PREFIX, catalog, peppers, storeTimeoutMs: STORE_TIMEOUT_MS };
  const keyring = createKeyring({ ...settings, store: used, usage: 'off' });
  const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const keys: string[] = [];
  for (let i = 0; i < KEYS; i++) keys.push((await keyring.issue(input, authority)).key);
  const strange = Array.from({ length: load.unknown * SECONDS }, () =>
    generateKey({ prefix: PREFIX }),
  );
  // Opens all connections and prepares their statements.
  await Promise.allSettled([...keys, ...keys].map((key) => keyring.verify(key)));

  const times: number[] = [];
  async function askHonestly(due: number): Promise<void> {
    const key = keys[Math.floor(Math.random() * KEYS)] ?? '';
    const verified = await keyring.verify(key).then(Boolean, () => false);
    const took = performance.now() - due;
    if (verified && took <= STORE_TIMEOUT_MS) times.push(took);
  }
  async function askStrangely(): Promise<void> {
    await keyring.verify(strange.pop() ?? '').catch(() => {});
  }

  proxy.delay(load.delayMs / 2);
  const turns = monitorEventLoopDelay({ resolution: 1 });
  turns.enable();
  await Promise.all([arrive(load.honest, askHonestly), arrive(load.unknown, askStrangely)]);
  turns.disable();
  proxy.delay(0);
  return { asked: load.honest * SECONDS, times, longestTurn: turns.max / 1e6 };
}

function percentile(sorted: readonly number[], share: number): number {
  return Math.round(sorted[Math.floor(sorted.length * share)] ?? Number.NaN);
}

// ── The table ────────────────────────────────────────────────────────────────────────────────────

let isEnough = true;
const table: object[] = [];
for (const [server, open] of Object.entries(SERVERS)) {
  for (const load of LOADS) {
    const place = await open();
    const { asked, times, longestTurn } = await measure(place, load);
    await place.end();
    const share = times.length / asked;
    if (share < ENOUGH) isEnough = false;
    const sorted = times.toSorted((one, other) => one - other);
    table.push({
      server,
      'honest/s': load.honest,
      'unknown/s': load.unknown,
      'delay ms': load.delayMs,
      cached: load.isCached,
      'answered %': Math.floor(share * 1_000) / 10,
      'p50 ms': percentile(sorted, 0.5),
      'p99 ms': percentile(sorted, 0.99),
      'longest turn ms': Math.round(longestTurn),
    });
  }
}
console.table(table);
console.log(isEnough ? 'all were answered in time' : 'NOT answered in time');
process.exitCode = isEnough ? 0 : 1;
