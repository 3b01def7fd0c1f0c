/**
 * What a check adds to a request: `node bench/latency.ts`. Requests arrive by the clock, whether or
 * not those before are answered, so that a queue that grows shows as what people wait. Keys are
 * drawn at random among 1,000; a time is from when a request was due to its principal.
 */
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { createKeyring, type Keyring, type KeyStore, requireScopes } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { postgresStore } from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { openTcpProxy } from '../test/support/tcp-proxy.ts';
import { drawer, quantile } from './harness.ts';
import { catalog, ENTITY, EXPIRES, HeaderValues, NEEDED, PEPPERS, PREFIX } from './keys.ts';
import { publish, quick, type Row } from './report.ts';
import { isThere } from './stores/reach.ts';
import { OWN } from './stores/target.ts';

const { KEYSCOPE_TEST_POSTGRES: SERVER = 'postgres://postgres@127.0.0.1:5432/test' } = process.env;
const SCHEMA = `${OWN}_latency`;
const KEYS = 1_000;
const SECONDS = quick ? 0.5 : 3;
const WARM_UP_SECONDS = quick ? 0.2 : 1;
const RATES: readonly number[] = [100, 1_000, 5_000];
/** Each way, and what a timer adds: some 5 ms there and back, which is measured. */
const AWAY_MS = 1.5;
const POOL = 10;

// ── Arrivals ─────────────────────────────────────────────────────────────────────────────────────

type Ask = () => Promise<unknown>;

interface Waited {
  /** Milliseconds. */
  readonly times: readonly number[];
  readonly failed: number;
}

/** Asks `rate` times a second for so many seconds. Looks at the clock in every turn of the loop. */
async function arrive(rate: number, seconds: number, ask: Ask): Promise<Waited> {
  const times: number[] = [];
  const pending = new Set<Promise<void>>();
  let failed = 0;
  const begun = performance.now();
  const total = Math.round(rate * seconds);
  const answer = async (due: number): Promise<void> => {
    try {
      await ask();
      times.push(performance.now() - due);
    } catch {
      failed += 1;
    }
  };
  for (let count = 0; count < total; ) {
    const due = begun + (1000 * count) / rate;
    if (due > performance.now()) {
      await new Promise<void>((turn) => void setImmediate(turn));
      continue;
    }
    const answered = answer(due).finally(() => pending.delete(answered));
    pending.add(answered);
    count += 1;
  }
  await Promise.all(pending);
  return { times, failed };
}

// ── Places ───────────────────────────────────────────────────────────────────────────────────────

interface Place {
  readonly ask: Ask;
  readonly close: () => Promise<unknown>;
}

function keyringOver(store: KeyStore): Keyring<typeof catalog> {
  return createKeyring({ prefix: PREFIX, catalog, store, peppers: PEPPERS });
}

async function issueAll(store: KeyStore): Promise<HeaderValues> {
  const keyring = keyringOver(store);
  const input = { name: 'bench', scopes: [NEEDED], expiresAt: new Date(EXPIRES) } as const;
  const keys: string[] = [];
  while (keys.length < KEYS) {
    const { key } = await keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
    keys.push(key);
  }
  return new HeaderValues(keys, KEYS);
}

/** Every key has been seen once. */
async function askerOf(store: KeyStore, values: HeaderValues): Promise<Ask> {
  const keyring = keyringOver(store);
  const draw = drawer(6);
  const enter = async (index: number): Promise<void> => {
    requireScopes(await keyring.authenticate(values.headers(index)), NEEDED);
  };
  for (let index = 0; index < KEYS; index++) await enter(index);
  return () => enter(draw(KEYS));
}

function cached(store: KeyStore): KeyStore {
  const cache = new LRUCache<string, object>({ max: KEYS });
  return cacheStore(store, { cache, maxStalenessMs: 600_000 });
}

function openPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL,
    options: `-c search_path=${SCHEMA}`,
  });
  pool.on('error', () => {});
  return pool;
}

async function openMemory(): Promise<Place> {
  const store = memoryStore();
  const ask = await askerOf(store, await issueAll(store));
  return { ask, close: async () => {} };
}

async function openPostgres(
  url: string,
  values: HeaderValues,
  wrap = (store: KeyStore) => store,
): Promise<Place> {
  const pool = openPool(url);
  const ask = await askerOf(wrap(postgresStore(pool)), values);
  return { ask, close: () => pool.end() };
}

/** A server that is further away, by a proxy in a thread of its own. */
async function startAway(): Promise<{ readonly url: string; readonly close: () => unknown }> {
  const worker = new Worker(new URL(import.meta.url));
  const [port] = (await once(worker, 'message')) as [number];
  const url = new URL(SERVER);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return { url: url.href, close: () => worker.terminate() };
}

/** The median of what a query takes that does nothing, in milliseconds. */
async function distanceOf(url: string): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const times: number[] = [];
  for (let count = 0; count < 50; count++) {
    const start = performance.now();
    await pool.query('SELECT 1');
    times.push(performance.now() - start);
  }
  await pool.end();
  return quantile(times, 0.5);
}

async function runProxy(): Promise<void> {
  const { hostname, port } = new URL(SERVER);
  const proxy = await openTcpProxy({ host: hostname, port: Number(port || 5432) });
  proxy.delay(AWAY_MS);
  parentPort?.postMessage(proxy.port);
}

// ── All of them ──────────────────────────────────────────────────────────────────────────────────

async function rowsOf(name: string, { ask, close }: Place): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const rate of RATES) {
    await arrive(rate, WARM_UP_SECONDS, ask);
    const { times, failed } = await arrive(rate, SECONDS, ask);
    const micros = (part: number): number => 1000 * quantile(times, part);
    rows.push({
      name: failed === 0 ? name : `${name}; ${failed} not answered`,
      group: `${rate.toLocaleString('en-US')} requests a second`,
      value: micros(0.5),
      tails: [micros(0.99), micros(0.999)],
      ours: true,
    });
  }
  await close();
  return rows;
}

async function main(): Promise<void> {
  if (!(await isThere(SERVER))) {
    console.log('skipped latency: no PostgreSQL answers');
    return;
  }
  const server = new pg.Pool({ connectionString: SERVER, max: 1 });
  await server.query(`CREATE SCHEMA ${SCHEMA}`);
  const away = await startAway();
  try {
    const pool = openPool(SERVER);
    const values = await issueAll(postgresStore(pool));
    await pool.end();
    const distance = (await distanceOf(away.url)) - (await distanceOf(SERVER));
    const places: Readonly<Record<string, () => Promise<Place>>> = {
      memory: openMemory,
      'a warm cache': () => openPostgres(SERVER, values, cached),
      'PostgreSQL, local': () => openPostgres(SERVER, values),
      [`PostgreSQL, ${distance.toFixed(1)} ms away`]: () => openPostgres(away.url, values),
    };
    const rows: Row[] = [];
    for (const [name, open] of Object.entries(places)) {
      rows.push(...(await rowsOf(name, await open())));
    }
    publish({
      name: 'latency',
      title: 'What a check adds to a request',
      about:
        'Requests that arrive by the clock, under a pepper, from when each was due to its ' +
        `principal; the pool has ${POOL} connections, and client and server share the machine. ` +
        'Less is better.',
      unit: 'µs',
      tails: ['p99', 'p99.9'],
      rows,
      aims: [],
    });
  } finally {
    away.close();
    await server.query(`DROP SCHEMA ${SCHEMA} CASCADE`);
    await server.end();
  }
}

await (isMainThread ? main() : runProxy());
