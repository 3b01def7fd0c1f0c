/**
 * The processor time of a request that is admitted over PostgreSQL: `node bench/database.ts`. All
 * of this process, driver and garbage collection included, and nothing of the server's.
 */
import assert from 'node:assert/strict';
import { createKeyring, definePolicy, digestKey, type KeyStore } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { postgresStore } from 'keyscope/stores/postgres';
import { LRUCache } from 'lru-cache';
import { type Draw, drawer, quantile, shuffled } from './harness.ts';
import { catalog, HeaderValues, idOf, NEEDED, newKeys, PREFIX, recordOf } from './keys.ts';
import { atMost, number, publish, quick, type Row } from './report.ts';
import { openPool } from './stores/postgres.ts';
import { COLUMN_LIST, OWN } from './stores/target.ts';

const ROUNDS = quick ? 5 : 25;
const KEYS = 500;
const CALLERS = 64;
const FAST = quick ? 10_000 : 40_000;
const SLOW = quick ? 2_000 : 8_000;

const BARE = "the driver's look-up";
const MEMORY = 'admitted, in memory';
const UNCACHED = 'admitted, without a cache';
const UNBATCHED = 'admitted, without a cache, a statement each';
const CACHED = 'admitted, through a warm cache';

interface Case {
  readonly name: string;
  readonly requests: number;
  /** Answers whose key it is. */
  readonly one: (index: number) => Promise<string>;
}

const values = new HeaderValues(newKeys(KEYS), KEYS);
const policy = definePolicy(catalog, { listThreats: [NEEDED] });

function admitting(name: string, store: KeyStore, requests: number): Case {
  const keyring = createKeyring({ prefix: PREFIX, policy, store, peppers: 'none' });
  async function one(index: number): Promise<string> {
    const headers = values.headers(index);
    const { principal } = await keyring.admit({ headers }, { operation: 'listThreats' });
    return principal.keyId;
  }
  return { name, requests, one };
}

/** Microseconds of CPU for one request. Each caller sends the next one after its answer. */
async function drive({ one, requests }: Case, draw: Draw): Promise<number> {
  let left = requests;
  async function call(): Promise<void> {
    for (; left > 0; left -= 1) await one(draw(KEYS));
  }
  const start = process.cpuUsage();
  await Promise.all(Array.from({ length: CALLERS }, call));
  const { user, system } = process.cpuUsage(start);
  return (user + system) / requests;
}

const schema = `${OWN}_database`;
const pool = openPool(schema);
const times = new Map<string, number[]>();
try {
  await pool.query(`CREATE SCHEMA ${schema}`);
  const store = postgresStore(pool);
  const inMemory = memoryStore();
  for (let index = 0; index < KEYS; index++) {
    const record = recordOf(index, values.key(index));
    await store.insert(record);
    await inMemory.insert(record);
  }
  await pool.query('VACUUM ANALYZE');

  const text = `SELECT ${COLUMN_LIST} FROM keyscope_keys WHERE digest = $1`;
  async function bare(index: number): Promise<string> {
    const query = { name: 'bare', text, values: [digestKey(values.key(index))] };
    const { rows } = await pool.query<{ readonly key_id: string }>(query);
    return rows[0]?.key_id ?? '';
  }
  const cache = new LRUCache<string, object>({ max: 10_000 });
  const cached = cacheStore(store, { cache, maxStalenessMs: 600_000 });
  const cases: readonly Case[] = [
    { name: BARE, requests: SLOW, one: bare },
    admitting(UNCACHED, store, SLOW),
    admitting(UNBATCHED, postgresStore(pool, { batch: false }), SLOW),
    admitting(CACHED, cached, FAST),
    admitting(MEMORY, inMemory, FAST),
  ];
  for (const { name, one } of cases) {
    // Warms the cache, too.
    for (let index = 0; index < KEYS; index++) assert.equal(await one(index), idOf(index), name);
    times.set(name, []);
  }
  const draw = drawer(5);
  for (let round = -3; round < ROUNDS; round++) {
    for (const each of shuffled(cases, draw)) {
      const time = await drive(each, draw);
      if (round >= 0) times.get(each.name)?.push(time);
    }
  }
} finally {
  await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await pool.end();
}

/** How the summary names the rows. */
const IN_SUMMARY: Readonly<Record<string, string>> = {
  [UNBATCHED]: "without batches; the bare driver's look-up is 1",
  [UNCACHED]: "in batches; the bare driver's look-up is 1",
  [CACHED]: 'through a warm cache; the memory store is 1',
};

function rowOf(name: string, over: string | null, bound: number): Row {
  const own = times.get(name) ?? [];
  const time = quantile(own, 0.1);
  const spread = (quantile(own, 0.9) - time) / quantile(own, 0.5);
  const cells = [time, '', `${Math.round(100 * spread)} %`];
  if (over === null) return { name, cells };
  const ratio = time / quantile(times.get(over) ?? [], 0.1);
  return {
    name,
    cells: cells.with(1, `${number(ratio)} × ${over}`),
    verdict: atMost(ratio, bound, '×'),
    inSummary: `CPU of a request over PostgreSQL, ${IN_SUMMARY[name] ?? name}`,
  };
}

publish({
  name: 'database',
  title: 'A request over PostgreSQL',
  about:
    `Microseconds of CPU of the service for one request, \`admit\` from its header, of ${KEYS} ` +
    `keys and ${CALLERS} callers at once. The driver alone hashes the key and looks up the same ` +
    'columns by a prepared statement for each request; nobody reads the row. The store sends the ' +
    'look-ups of one turn of the event loop as one statement, unless told not to.',
  tables: [
    {
      head: ['', 'µs', 'compared', 'spread'],
      rows: [
        rowOf(UNBATCHED, BARE, 2.5),
        rowOf(CACHED, MEMORY, 1.3),
        rowOf(UNCACHED, BARE, 2.5),
        rowOf(BARE, null, 0),
        rowOf(MEMORY, null, 0),
      ],
    },
  ],
});
