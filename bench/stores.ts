/**
 * What a store costs beside its bare driver: `npm run bench:stores`, with `-- --quick` for fewer
 * rounds and no million keys, `-- --large` for ten million in PostgreSQL, and the names of stores
 * to run those alone. Every figure of a table is * is from one run, in rounds whose order is drawn
 * anew. Prints figures and aims; asserts no time. A store whose server does not answer is skipped
 * by name; what is kept sums up a run of all of them.
 *
 * Look-ups are of random keys among all. `bare`: the driver with the same prepared look-up, its row
 * unread. `batch: false` and `store`: `findByDigest` without and with batches. `cached`:
 * `cacheStore` before it, warm.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Awaitable, KeyRecord, KeyStore } from 'keyscope';
import { createKeyring } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { mysqlStore } from 'keyscope/stores/mysql';
import { postgresStore } from 'keyscope/stores/postgres';
import { redisStore } from 'keyscope/stores/redis';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { LRUCache } from 'lru-cache';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { createClient } from 'redis';
import { drawer, quantile, shuffled, table } from './harness.ts';
import { catalog, ENTITY, idOf, PEPPERS, PREFIX } from './keys.ts';
import { type Aim, aim, aimsOf, publish, quick, type Row } from './report.ts';

const flags = process.argv.slice(2).filter((arg) => arg.startsWith('--'));
const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const ROUNDS = quick ? 5 : 11;
const SIZES = quick ? [1_000, 100_000] : [1_000, 100_000, 1_000_000];
const LARGEST = flags.includes('--large') ? [10_000_000] : [];
const CONCURRENT = [1, 16, 128];
const draw = drawer(3);
const thousands = (n: number): string => Math.round(n).toLocaleString('en-US');

// ── Keys without plaintexts ───────────────────────────────────────────────────────────────────────────

// What stands in the tables here are digests of numbers: servers make a million of them faster than
// we send them.
const digestOf = (i: number): string =>
  `s1$${createHash('sha256').update(`key ${i}`).digest('hex')}`;

const recordOf = (i: number): KeyRecord => ({
  keyId: idOf(i),
  name: 'integration',
  digest: digestOf(i),
  seal: null,
  entityUuid: ENTITY,
  accessibleEntities: [ENTITY],
  scopes: ['threats:read', 'decoys:read'],
  justification: null,
  metadata: {},
  createdAt: 1_700_000_000_000 + i,
  expiresAt: null,
  revokedAt: null,
  retireAt: null,
  rotatedFrom: null,
  lastUsedAt: null,
  scopesUsed: {},
});

// ── Targets ───────────────────────────────────────────────────────────────────────────────────────────

type Find = (digest: string) => Awaitable<unknown>;

/** A table of its own with `count` keys. */
interface Filled {
  readonly bare: Find;
  readonly store: (batch: boolean) => KeyStore;
  /** Bytes of the table and of its indexes, as far as the server tells them apart. */
  readonly bytes: () => Promise<readonly [number, number | null]>;
  /** How many rows or values the server has written so far. */
  readonly writes: () => Promise<number>;
  readonly close: () => Awaitable<unknown>;
}

const {
  KEYSCOPE_TEST_POSTGRES: POSTGRES = 'postgres://postgres@127.0.0.1:5432/test',
  KEYSCOPE_TEST_MYSQL: MYSQL = 'mysql://root@127.0.0.1:3306/test',
  KEYSCOPE_TEST_REDIS: REDIS = 'redis://127.0.0.1:6379',
} = process.env;
const COLUMNS = `key_id, name, digest, seal, entity_uuid, accessible_entities, scopes, justification, metadata, created_at,
  expires_at, revoked_at, retire_at, rotated_from, last_used_at, scopes_used`;
const LOOK_UP = `SELECT ${COLUMNS} FROM keyscope_keys WHERE digest = `;
const own = `keyscope_bench_${process.pid}`;

async function postgres(count: number): Promise<Filled> {
  const schema = `${own}_${count}`;
  const pool = new pg.Pool({
    connectionString: POSTGRES,
    max: 10,
    options: `-c search_path=${schema}`,
  });
  const number = async (sql: string) => Number(Object.values((await pool.query(sql)).rows[0])[0]);
  await pool.query(`CREATE SCHEMA ${schema}`);
  await postgresStore(pool).findById(idOf(0));
  // The id's last group is beyond what idOf makes of a number, so the number stands in the first.
  await pool.query(`
    INSERT INTO keyscope_keys
    SELECT (lpad(to_hex(i), 8, '0') || '-0000-4000-8000-000000000000')::uuid, 'integration',
      's1$' || encode(sha256(convert_to('key ' || i, 'UTF8')), 'hex'), NULL, '${ENTITY}', '{${ENTITY}}',
      '{threats:read,decoys:read}', NULL, '{}', 1700000000000 + i, NULL, NULL, NULL, NULL, NULL, '{}'
    FROM generate_series(0, ${count - 1}) AS i`);
  await pool.query('VACUUM ANALYZE keyscope_keys');
  return {
    bare: async (digest) =>
      (await pool.query({ name: 'bare', text: `${LOOK_UP}$1`, values: [digest] })).rows[0],
    store: (batch) => postgresStore(pool, { batch }),
    bytes: async () => [
      await number("SELECT pg_table_size('keyscope_keys')"),
      await number("SELECT pg_indexes_size('keyscope_keys')"),
    ],
    async writes() {
      await pool.query('SELECT pg_stat_clear_snapshot()');
      return number(`SELECT n_tup_ins + n_tup_upd + n_tup_del FROM pg_stat_user_tables WHERE schemaname = '${schema}'
        AND relname = 'keyscope_keys'`);
    },
    async close() {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
}

async function mariadb(count: number): Promise<Filled> {
  const uri = new URL(MYSQL);
  const database = `${own}_${count}`;
  const root = await mysql.createConnection({ uri: uri.href });
  await root.query(`CREATE DATABASE ${database}`);
  uri.pathname = `/${database}`;
  const pool = mysql.createPool({ uri: uri.href, connectionLimit: 10 });
  const rows = async (sql: string) => (await root.query(sql))[0] as Record<string, unknown>[];
  await mysqlStore(pool).findById(idOf(0));
  await pool.query(`
    INSERT INTO keyscope_keys (${COLUMNS})
    SELECT concat(lpad(lower(hex(seq)), 8, '0'), '-0000-4000-8000-000000000000'), 'integration',
      concat('s1$', sha2(concat('key ', seq), 256)), NULL, '${ENTITY}', '["${ENTITY}"]',
      '["threats:read","decoys:read"]', NULL, '{}', 1700000000000 + seq, NULL, NULL, NULL, NULL, NULL, '{}'
    FROM seq_0_to_${count - 1}`);
  await pool.query('ANALYZE TABLE keyscope_keys');
  return {
    bare: async (digest) => ((await pool.execute(`${LOOK_UP}?`, [digest]))[0] as unknown[])[0],
    store: (batch) => mysqlStore(pool, { batch }),
    async bytes() {
      const [sizes] =
        await rows(`SELECT data_length AS data, index_length AS indexes FROM information_schema.tables
        WHERE table_schema = '${database}' AND table_name = 'keyscope_keys'`);
      const { data, indexes } = sizes ?? {};
      return [Number(data), Number(indexes)];
    },
    async writes() {
      const counters = await rows(
        "SHOW GLOBAL STATUS WHERE Variable_name REGEXP '^Innodb_rows_(inserted|updated|deleted)$'",
      );
      return counters.reduce((sum, { Value }) => sum + Number(Value), 0);
    },
    async close() {
      await root.query(`DROP DATABASE ${database}`);
      await Promise.all([pool.end(), root.end()]);
    },
  };
}

async function redis(count: number): Promise<Filled> {
  const client = createClient({ url: REDIS });
  await client.connect();
  const prefix = `${own}:${count}:`;
  const info = async (name: string) =>
    Number(new RegExp(`${name}:(\\d+)`).exec(await client.info())?.[1]);
  const before = await info('used_memory');
  const store = redisStore(client, { prefix });
  for (let i = 0; i < count; i += 1000) {
    await Promise.all(
      Array.from({ length: Math.min(1000, count - i) }, (_, n) => store.insert(recordOf(i + n))),
    );
  }
  const after = await info('used_memory');
  return {
    bare: async (digest) => client.hGetAll(`${prefix}rec:${digest}`),
    store: () => store,
    bytes: async () => [after - before, null],
    writes: () => info('rdb_changes_since_last_save'),
    async close() {
      for await (const keys of client.scanIterator({ MATCH: `${prefix}*`, COUNT: 1000 })) {
        if (keys.length > 0) await client.unlink(keys);
      }
      await client.close();
    },
  };
}

function sqlite(count: number): Filled {
  const folder = mkdtempSync(join(tmpdir(), 'keyscope-bench-'));
  const file = join(folder, 'keys.db');
  const [keys, bare] = [new DatabaseSync(file), new DatabaseSync(file)];
  const store = sqliteStore(keys);
  const insert = bare.prepare(
    `INSERT INTO keyscope_keys (${COLUMNS}) VALUES (${COLUMNS.replace(/\w+/g, '?')})`,
  );
  bare.exec('BEGIN');
  for (let i = 0; i < count; i++) {
    const values = Object.values(recordOf(i)).map((value) =>
      typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
    );
    insert.run(...values);
  }
  bare.exec('COMMIT');
  bare.exec('ANALYZE; PRAGMA wal_checkpoint(TRUNCATE)');
  const look = bare.prepare(`${LOOK_UP}?`);
  const changes = keys.prepare('SELECT total_changes() AS n');
  return {
    bare: (digest) => look.all(digest)[0],
    store: () => store,
    bytes: async () => [statSync(file).size, null],
    writes: async () => Number(Object.values(changes.get() ?? {})[0]),
    close() {
      keys.close();
      bare.close();
      rmSync(folder, { recursive: true });
    },
  };
}

interface Target {
  readonly name: string;
  readonly open: (count: number) => Awaitable<Filled>;
  /** Where its server is; none for a file. */
  readonly url: string | null;
  readonly batches: boolean;
  readonly sizes: readonly number[];
}

const TARGETS: readonly Target[] = [
  {
    name: 'PostgreSQL',
    open: postgres,
    url: POSTGRES,
    batches: true,
    sizes: [...SIZES, ...LARGEST],
  },
  { name: 'MariaDB', open: mariadb, url: MYSQL, batches: true, sizes: SIZES },
  { name: 'Redis', open: redis, url: REDIS, batches: false, sizes: SIZES },
  { name: 'SQLite', open: sqlite, url: null, batches: false, sizes: SIZES },
];

// ── Timing ────────────────────────────────────────────────────────────────────────────────────────────

interface Figure {
  /** Look-ups a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** `total` look-ups of random keys, `concurrent` of them at any time. */
async function drive(find: Find, keys: number, concurrent: number, total: number): Promise<Figure> {
  const digests = Array.from({ length: total }, () => digestOf(draw(keys)));
  const times: number[] = [];
  const worker = async () => {
    for (let digest = digests.pop(); digest !== undefined; digest = digests.pop()) {
      const start = performance.now();
      await find(digest);
      times.push(performance.now() - start);
    }
  };
  const start = performance.now();
  await Promise.all(Array.from({ length: concurrent }, worker));
  return {
    rate: (1000 * total) / (performance.now() - start),
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99),
  };
}

interface Case {
  readonly name: string;
  readonly find: Find;
  readonly keys: number;
  readonly concurrent: number;
}

/** Rounds with every case in each; each case gets look-ups for some 100 ms. */
async function measure(cases: readonly Case[]): Promise<ReadonlyMap<Case, readonly Figure[]>> {
  const figures = new Map<Case, Figure[]>(cases.map((each) => [each, []]));
  const totals = new Map<Case, number>();
  for (const each of cases) {
    const { rate } = await drive(each.find, each.keys, each.concurrent, 4 * each.concurrent + 200);
    totals.set(each, Math.ceil(rate / 10) + each.concurrent);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const each of shuffled(cases, draw)) {
      figures
        .get(each)
        ?.push(await drive(each.find, each.keys, each.concurrent, totals.get(each) ?? 0));
    }
  }
  return figures;
}

const median = (list: readonly Figure[], of: keyof Figure): number =>
  quantile(
    list.map((each) => each[of]),
    0.5,
  );
/** Median of the ratios within a round. */
const ratio = (a: readonly Figure[], b: readonly Figure[], of: keyof Figure): number =>
  quantile(
    a.map((each, i) => each[of] / (b[i]?.[of] ?? Number.NaN)),
    0.5,
  );

const byDigest =
  (store: KeyStore): Find =>
  (digest) =>
    store.findByDigest([digest]);
const cached = (store: KeyStore): KeyStore =>
  cacheStore(store, {
    cache: new LRUCache<string, object>({ max: 100_000 }),
    maxStalenessMs: 30_000,
  });

// ── Tables ────────────────────────────────────────────────────────────────────────────────────────────

const ms = (value: number): string =>
  value < 0.1 ? `${(1000 * value).toFixed(1)} µs` : `${value.toFixed(2)} ms`;
const mib = (bytes: number | null): string =>
  bytes === null ? '' : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const aims: Aim[] = [];
const rows: Row[] = [];

/** A row of the summary, beside the bare driver at the same concurrency. */
function sumUp(
  name: string,
  group: string,
  own: readonly Figure[],
  bare: readonly Figure[] | null,
): void {
  const rates = own.map(({ rate }) => rate);
  const value = quantile(rates, 0.5);
  const spread = (quantile(rates, 0.9) - quantile(rates, 0.1)) / value;
  const compared = bare === null ? {} : { ratio: ratio(own, bare, 'rate') };
  rows.push({ name, group, value, spread, ...compared, ours: bare !== null });
}

async function variants({ name, batches }: Target, filled: Filled, keys: number): Promise<void> {
  const finds: readonly (readonly [string, Find])[] = [
    ['bare', filled.bare],
    ['batch: false', byDigest(filled.store(false))],
    ...(batches ? ([['store', byDigest(filled.store(true))]] as const) : []),
    ['cached', byDigest(cached(filled.store(true)))],
  ];
  const before = await filled.writes();
  for (const [what, find] of finds) {
    const found = await find(digestOf(7));
    assert.ok(JSON.stringify(found).includes(idOf(7)), `${name}, ${what}: the key is not found`);
    for (let i = 0; i < keys; i += 500) {
      await Promise.all(
        Array.from({ length: Math.min(500, keys - i) }, (_, n) => find(digestOf(i + n))),
      );
    }
  }
  const cases = CONCURRENT.flatMap((concurrent) =>
    finds.map(([what, find]) => ({ name: what, find, keys, concurrent })),
  );
  const figures = await measure(cases);
  const of = (what: string, concurrent: number): readonly Figure[] =>
    figures.get(
      cases.find((each) => each.name === what && each.concurrent === concurrent) as Case,
    ) ?? [];
  const lines = cases.map(({ name: what, concurrent }) => {
    const own = of(what, concurrent);
    const over = ratio(own, of('bare', concurrent), 'rate').toFixed(2);
    const latencies = [ms(median(own, 'p50')), ms(median(own, 'p99'))];
    return [
      what,
      String(concurrent),
      thousands(median(own, 'rate')),
      ...latencies,
      what === 'bare' ? '' : `${over} ×`,
    ];
  });
  console.log(`\n### ${name}, ${thousands(keys)} keys\n`);
  console.log(table(['look-up', 'concurrent', 'a second', 'p50', 'p99', 'of bare'], lines));
  sumUp('bare driver, 16 at a time', name, of('bare', 16), null);
  sumUp('keyscope, a statement each, 16 at a time', name, of('batch: false', 16), of('bare', 16));
  const plain = ratio(of('batch: false', 16), of('bare', 16), 'rate');
  aims.push(aim(`${name}, a statement each at 16, of the bare driver`, plain, '≥', 0.9, '×'));
  if (batches) {
    sumUp('bare driver, 128 at a time', name, of('bare', 128), null);
    sumUp('keyscope in batches, 128 at a time', name, of('store', 128), of('bare', 128));
    const batched = ratio(of('store', 128), of('bare', 128), 'rate');
    aims.push(aim(`${name}, in batches at 128, of the bare driver`, batched, '≥', 3, '×'));
  }
  // The server's counters come late.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  aims.push(
    aim(
      `${name}, written by all of these look-ups`,
      (await filled.writes()) - before,
      '≤',
      0,
      'rows',
    ),
  );
}

async function growth({ name, sizes }: Target, all: ReadonlyMap<number, Filled>): Promise<void> {
  const cases = sizes.map((keys) => {
    const find = byDigest((all.get(keys) as Filled).store(true));
    return { name: 'store', find, keys, concurrent: 1 };
  });
  const figures = await measure(cases);
  const first = figures.get(cases[0] as Case) ?? [];
  const lines = await Promise.all(
    cases.map(async (each) => {
      const own = figures.get(each) ?? [];
      const [data, indexes] = await (all.get(each.keys) as Filled).bytes();
      const over = ratio(own, first, 'p50').toFixed(2);
      return [
        thousands(each.keys),
        thousands(median(own, 'rate')),
        ms(median(own, 'p50')),
        `${over} ×`,
        mib(data),
        mib(indexes),
      ];
    }),
  );
  console.log(`\n### ${name}, one look-up at a time\n`);
  console.log(table(['keys', 'a second', 'p50', 'of the first', 'table', 'indexes'], lines));
  const million = cases.find(({ keys }) => keys === 1_000_000);
  if (million === undefined) return;
  const slower = ratio(figures.get(million) ?? [], first, 'p50');
  aims.push(aim(`${name}, p50 at 1,000,000 keys, of that at 1,000`, slower, '≤', 1.3, '×'));
}

/** `verify` through a warm cache, beside `verify` on the memory store. */
async function cachedVerify({ name }: Target, filled: Filled): Promise<void> {
  const stores = [memoryStore(), cached(filled.store(true))];
  const rings = stores.map((store) =>
    createKeyring({ prefix: PREFIX, catalog, store, peppers: PEPPERS }),
  );
  const input = { name: 'bench', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const rounds: number[][] = [[], []];
  const keys = await Promise.all(
    rings.map((ring) =>
      Promise.all(Array.from({ length: 500 }, () => ring.issue(input, { entityUuid: ENTITY }))),
    ),
  );
  for (let round = -2; round < 3 * ROUNDS; round++) {
    for (const at of shuffled([0, 1], draw)) {
      const start = performance.now();
      for (let again = 0; again < 10; again++)
        for (const { key } of keys[at] ?? []) await rings[at]?.verify(key);
      if (round >= 0) rounds[at]?.push(performance.now() - start);
    }
  }
  const over = quantile(
    (rounds[1] ?? []).map((time, i) => time / (rounds[0]?.[i] ?? Number.NaN)),
    0.5,
  );
  aims.push(
    aim(`${name}, verify through a warm cache, time of the memory store`, over, '≤', 2, '×'),
  );
}

const PORTS: Readonly<Record<string, number>> = { 'mysql:': 3306, 'redis:': 6379 };

/** Whether somebody listens there. */
async function answers(url: string | null): Promise<boolean> {
  if (url === null) return true;
  const { protocol, hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname,
      port: Number(port) || (PORTS[protocol] ?? 5432),
      timeout: 2000,
    });
    const done = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('connect', done(true)).on('error', done(false)).on('timeout', done(false));
  });
}

for (const target of TARGETS) {
  if (wanted.length > 0 && !wanted.includes(target.name)) continue;
  if (!(await answers(target.url))) {
    console.log(`skipped ${target.name}: nobody answers at ${new URL(target.url ?? '').host}`);
    continue;
  }
  const all = new Map<number, Filled>();
  try {
    for (const size of target.sizes) all.set(size, await target.open(size));
    await variants(target, all.get(1_000) as Filled, 1_000);
    await growth(target, all);
    await cachedVerify(target, all.get(1_000) as Filled);
  } finally {
    for (const filled of all.values()) await filled.close();
  }
}
if (wanted.length > 0) console.log(`\n${aimsOf(aims)}`);
else {
  publish({
    name: 'stores',
    title: 'Stores: look-ups beside the bare driver',
    about:
      'Look-ups of random keys among 1,000, the server on the same machine. The bare driver has the same prepared statement and ' +
      'leaves its row unread. `npm run bench:stores` prints more: latencies, one look-up at a time, and up to a million keys.',
    unit: 'ops/s',
    base: 'the bare driver',
    rows,
    aims,
  });
}
