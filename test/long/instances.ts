/**
 * `npm run lab -- instances`: measures the load of many instances of a service on one PostgreSQL.
 * Each has its own pool, cache and channel; here they share a process and its processor. Everything
 * except the channel's heartbeat runs five times as fast as by default, so that minutes become
 * seconds. The table converts the figures to the defaults, and a thousand instances are calculated
 * from it. Starts a separate server. `-- 10 30` sets the numbers of instances.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyring, definePolicy, defineScopes, type KeyStore } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { migrate, postgresInvalidation, postgresStore } from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import pg from 'pg';
import { startPostgres } from '../support/postgres-servers.ts';

/** How many times faster than by default. */
const FASTER = 5;
const USAGE = { intervalMs: 5_000 / FASTER, granularityMs: 60_000 / FASTER };
const STALENESS_MS = 10_000 / FASTER;
const WARM_UP_MS = 60_000 / FASTER;
const MEASURED_MS = 3 * WARM_UP_MS;
const POOL = 5;
const KEYS = 1_000;
/** Requests of one instance in a second of this run. */
const RATE = 20;
/** Revocations in a second of this run, over all instances. */
const REVOCATIONS = 1;

const catalog = defineScopes({ threats: { read: 'List and read threats.' } });
const policy = definePolicy(catalog, { list: ['threats:read'] });
const peppers = [{ id: 'p1', secret: 'a pepper of this test alone, with 32 bytes' }];
const authority = { entityId: '0a0a0a0a-0000-4000-8000-00000000000a', scopes: 'all' } as const;
const input = { name: 'n', scopes: ['threats:read'], expiresAt: 'never' } as const;

/** The sums over all instances. */
interface Counts {
  requests: number;
  lookUps: number;
  writes: number;
  rowsWritten: number;
}

interface Instance {
  readonly keyring: ReturnType<typeof ringOver>;
  close(): Promise<void>;
}

function ringOver(store: KeyStore) {
  return createKeyring({ prefix: 'acme', policy, peppers, store, usage: USAGE });
}

/** Counts the calls that reach the database. */
function counting(store: KeyStore, counts: Counts): KeyStore {
  return {
    ...store,
    findByDigest(digests, options) {
      counts.lookUps += 1;
      return store.findByDigest(digests, options);
    },
    touch(entries, options) {
      counts.writes += 1;
      counts.rowsWritten += entries.length;
      return store.touch(entries, options);
    },
  };
}

function openInstance(url: string, isCached: boolean, counts: Counts): Instance {
  const pool = new pg.Pool({ connectionString: url, max: POOL }).on('error', () => {});
  const store = counting(postgresStore(pool), counts);
  const clients: pg.Client[] = [];
  const settings = { connectionString: url, connectionTimeoutMillis: 5_000 };
  const invalidation = postgresInvalidation(() => {
    const client = new pg.Client(settings);
    clients.push(client);
    return client;
  });
  const cache = new LRUCache<string, object>({ max: 10_000 });
  const options = { cache, maxStalenessMs: STALENESS_MS, invalidation };
  const keyring = ringOver(isCached ? cacheStore(store, options) : store);
  async function close(): Promise<void> {
    await keyring.flush();
    for (const client of clients) await client.end();
    await pool.end();
  }
  return { keyring, close };
}

// ── Load ────────────────────────────────────────────────────────────────────────────────────────

/** A few keys make most requests. */
function oneOf<T>(list: readonly T[]): T {
  return list[Math.floor(Math.random() ** 4 * list.length)] as T;
}

/** Sends requests at random times, like many clients, while `isOn` returns true. */
async function ask(
  { keyring }: Instance,
  keys: readonly string[],
  isOn: () => boolean,
  counts: Counts,
): Promise<void> {
  while (isOn()) {
    await sleep((-Math.log(1 - Math.random()) * 1_000) / RATE);
    const request = new Headers({ authorization: `Bearer ${oneOf(keys)}` });
    await keyring.admit(request, { operation: 'list' });
    counts.requests += 1;
  }
}

/** Makes keys and revokes each at once, so that the channel has something to send. */
async function revokeSome({ keyring }: Instance, isOn: () => boolean): Promise<void> {
  while (isOn()) {
    await sleep(1_000 / REVOCATIONS);
    const { info } = await keyring.issue(input, authority);
    await keyring.revoke(info.keyId, authority);
  }
}

/** Counts the notifications of the channel with a separate listener. */
async function countNotifications(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  let heard = 0;
  client.on('notification', () => {
    heard += 1;
  });
  await client.query('LISTEN keyscope_revoked');
  return { heard: () => heard, client };
}

async function connectionsOf(client: pg.Client): Promise<number> {
  const text = `SELECT count(*)::int AS open FROM pg_stat_activity
    WHERE backend_type LIKE 'client%'`;
  const { rows } = await client.query<{ open: number }>(text);
  // Without the connection that asks.
  return (rows[0]?.open ?? 0) - 1;
}

// ── One number of instances ─────────────────────────────────────────────────────────────────────

/** The figures of a second with the defaults. */
interface Row {
  readonly instances: number;
  readonly cached: boolean;
  readonly requests: number;
  readonly 'look-ups': number;
  readonly 'usage writes': number;
  readonly 'rows written': number;
  readonly notifications: number;
  readonly delivered: number;
  readonly connections: number;
}

/** Converts a count to a second with the defaults. */
function perSecond(count: number): number {
  return Math.round((10 * count) / (MEASURED_MS / 1_000) / FASTER) / 10;
}

async function measure(url: string, size: number, cached: boolean): Promise<Row> {
  const counts: Counts = { requests: 0, lookUps: 0, writes: 0, rowsWritten: 0 };
  const instances = Array.from({ length: size }, () => openInstance(url, cached, counts));
  const [first] = instances;
  if (first === undefined) throw new Error('pass the number of instances, such as 10 30');
  const issuing = Array.from({ length: KEYS }, () => first.keyring.issue(input, authority));
  const keys = (await Promise.all(issuing)).map(({ key }) => key);
  const { heard, client } = await countNotifications(url);

  let isOn = true;
  const isStillOn = () => isOn;
  const asking = instances.map((each) => ask(each, keys, isStillOn, counts));
  const running = Promise.all([...asking, revokeSome(first, isStillOn)]);
  running.catch(() => {});
  await sleep(WARM_UP_MS);
  const before = { ...counts, heard: heard() };
  await sleep(MEASURED_MS);
  const notifications = heard() - before.heard;
  const connections = await connectionsOf(client);
  const after = { ...counts };
  isOn = false;
  await running;
  for (const instance of instances) await instance.close();
  await client.end();
  return {
    instances: size,
    cached,
    requests: perSecond(after.requests - before.requests),
    'look-ups': perSecond(after.lookUps - before.lookUps),
    'usage writes': perSecond(after.writes - before.writes),
    'rows written': perSecond(after.rowsWritten - before.rowsWritten),
    // Not converted, because the heartbeats do not run faster here.
    notifications: Math.round((10 * notifications) / (MEASURED_MS / 1_000)) / 10,
    delivered: Math.round((notifications * size) / (MEASURED_MS / 1_000)),
    connections,
  };
}

// ── On paper ────────────────────────────────────────────────────────────────────────────────────

/** Heartbeats in a second of all caches together, however many there are. */
const BEATS = 2;

/** Returns the maximum with the defaults, a cache, and one revocation a second. */
function calculate(instances: number): object {
  const notifications = BEATS + REVOCATIONS;
  return {
    instances,
    // The whole pool, and the channel's connection.
    'connections at most': instances * (POOL + 1),
    // One an interval, for keys whose stored use is older than the granularity.
    'usage writes at most': instances / 5,
    notifications,
    delivered: notifications * instances,
  };
}

const wanted = process.argv.slice(2).map(Number);
const sizes = wanted.length > 0 ? wanted : [10, 30, 100];
const server = await startPostgres({ max_connections: '800' });
try {
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  await migrate(pool);
  await pool.end();
  const table: Row[] = [];
  for (const cached of [false, true]) {
    for (const size of sizes) table.push(await measure(server.url, size, cached));
  }
  console.log('measured, in a second');
  console.table(table);
  console.log('calculated, in a second');
  console.table([...sizes, 1_000].map(calculate));
} finally {
  await server.remove();
}
