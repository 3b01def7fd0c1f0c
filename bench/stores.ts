/**
 * What a store costs beside its bare driver: `npm run bench:stores`, with `-- --quick` for fewer
 * rounds, `-- --large` for a million keys and ten million in PostgreSQL, and the names of stores to
 * run those alone. Every figure of a table is from one run, in rounds whose order is drawn anew.
 * Prints figures and aims; asserts no time. A store whose server does not answer is skipped by
 * name; what is kept sums up a run of all of them.
 *
 * Look-ups are of random keys among all. `bare`: the driver with a prepared look-up of the same
 * columns; nobody reads what it returns. `batch: false` and `store`: `findByDigest` without and
 * with batches. `cached`: `cacheStore` before it, warm.
 */
import assert from 'node:assert/strict';
import type { KeyStore, Peppers } from 'keyscope';
import { createKeyring, digestKey } from 'keyscope';
import { cacheStore } from 'keyscope/cache';
import { memoryStore } from 'keyscope/stores/memory';
import { LRUCache } from 'lru-cache';
import { drawer, quantile, shuffled, table } from './harness.ts';
import { catalog, ENTITY, idOf, PEPPERS, PREFIX } from './keys.ts';
import { type Aim, aim, aimsOf, publish, quick, type Row } from './report.ts';
import { digestOf } from './stores/keys.ts';
import { MARIADB } from './stores/mariadb.ts';
import { POSTGRES } from './stores/postgres.ts';
import { isThere } from './stores/reach.ts';
import { REDIS } from './stores/redis.ts';
import { SQLITE } from './stores/sqlite.ts';
import { checkKeys, type Filled, type Find, type Target } from './stores/target.ts';
import { type Case, type Figure, measure, median, ratio } from './stores/timing.ts';

const TARGETS: readonly Target[] = [POSTGRES, MARIADB, REDIS, SQLITE];

const flags = process.argv.slice(2).filter((arg) => arg.startsWith('--'));
const wanted = process.argv.slice(2).filter((arg) => !arg.startsWith('--'));
const ROUNDS = quick ? 5 : 9;
const SIZES = [1_000, 100_000];
const CONCURRENT = [1, 16, 128];
const draw = drawer(3);

function sizesOf(target: Target): readonly number[] {
  if (!flags.includes('--large')) return SIZES;
  return [...SIZES, 1_000_000, ...(target === POSTGRES ? [10_000_000] : [])];
}

function byDigest(store: KeyStore): Find {
  return (digest) => store.findByDigest([digest]);
}

function cached(store: KeyStore): KeyStore {
  const cache = new LRUCache<string, object>({ max: 100_000 });
  return cacheStore(store, { cache, maxStalenessMs: 30_000 });
}

// ── Words ────────────────────────────────────────────────────────────────────────────────────────

const aims: Aim[] = [];
const rows: Row[] = [];

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function ms(value: number): string {
  return value < 0.1 ? `${(1000 * value).toFixed(1)} µs` : `${value.toFixed(2)} ms`;
}

function mib(bytes: number | null): string {
  return bytes === null ? '' : `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

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

// ── With and without batches and cache ───────────────────────────────────────────────────────────

/** By what the table calls them. */
function variantsOf({ batches }: Target, filled: Filled): ReadonlyMap<string, Find> {
  const variants = new Map<string, Find>([
    ['bare', filled.bare],
    ['batch: false', byDigest(filled.store(false))],
  ]);
  if (batches) variants.set('store', byDigest(filled.store(true)));
  return variants.set('cached', byDigest(cached(filled.store(true))));
}

/** Finds what it should, and has found every key once. */
async function warmUp(find: Find, keys: number, what: string): Promise<void> {
  const found = await find(digestOf(7));
  assert.ok(JSON.stringify(found).includes(idOf(7)), `${what}: the key is not found`);
  for (let start = 0; start < keys; start += 500) {
    const length = Math.min(500, keys - start);
    await Promise.all(Array.from({ length }, (_, i) => find(digestOf(start + i))));
  }
}

type FiguresOf = (variant: string, concurrent: number) => readonly Figure[];

function printVariants(title: string, cases: readonly Case[], of: FiguresOf): void {
  const lines = cases.map(({ name, concurrent }) => {
    const own = of(name, concurrent);
    const over = ratio(own, of('bare', concurrent), 'rate').toFixed(2);
    return [
      name,
      String(concurrent),
      thousands(median(own, 'rate')),
      ms(median(own, 'p50')),
      ms(median(own, 'p99')),
      name === 'bare' ? '' : `${over} ×`,
    ];
  });
  console.log(`\n### ${title}\n`);
  console.log(table(['look-up', 'concurrent', 'a second', 'p50', 'p99', 'of bare'], lines));
}

function sumUpVariants({ name, batches }: Target, of: FiguresOf): void {
  sumUp('bare driver, 16 at a time', name, of('bare', 16), null);
  sumUp('keyscope, a statement each, 16 at a time', name, of('batch: false', 16), of('bare', 16));
  const plain = ratio(of('batch: false', 16), of('bare', 16), 'rate');
  aims.push(aim(`${name}, a statement each at 16, of the bare driver`, plain, '≥', 0.9, '×'));
  if (!batches) return;
  sumUp('bare driver, 128 at a time', name, of('bare', 128), null);
  sumUp('keyscope in batches, 128 at a time', name, of('store', 128), of('bare', 128));
  const batched = ratio(of('store', 128), of('bare', 128), 'rate');
  aims.push(aim(`${name}, in batches at 128, of the bare driver`, batched, '≥', 3, '×'));
}

async function compareVariants(target: Target, filled: Filled, keys: number): Promise<void> {
  const { name } = target;
  const variants = variantsOf(target, filled);
  const before = await filled.writes();
  for (const [variant, find] of variants) await warmUp(find, keys, `${name}, ${variant}`);
  const cases = CONCURRENT.flatMap((concurrent) =>
    Array.from(variants, ([variant, find]) => ({ name: variant, find, keys, concurrent })),
  );
  const figures = await measure(cases, ROUNDS, draw);
  const of: FiguresOf = (variant, concurrent) => {
    const found = cases.find((each) => each.name === variant && each.concurrent === concurrent);
    return (found && figures.get(found)) ?? [];
  };
  printVariants(`${name}, ${thousands(keys)} keys`, cases, of);
  sumUpVariants(target, of);
  // The server's counters come late.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  const written = (await filled.writes()) - before;
  aims.push(aim(`${name}, written by all of these look-ups`, written, '≤', 0, 'rows'));
}

// ── As a table grows ─────────────────────────────────────────────────────────────────────────────

async function compareSizes(name: string, all: ReadonlyMap<number, Filled>): Promise<void> {
  const cases = Array.from(all, ([keys, filled]) => {
    const find = byDigest(filled.store(true));
    return { name: 'store', find, keys, concurrent: 1 };
  });
  const figures = await measure(cases, ROUNDS, draw);
  const first = figures.get(cases[0] as Case) ?? [];
  const lines: (readonly string[])[] = [];
  for (const each of cases) {
    const own = figures.get(each) ?? [];
    const { data, indexes } = await (all.get(each.keys) as Filled).bytes();
    lines.push([
      thousands(each.keys),
      thousands(median(own, 'rate')),
      ms(median(own, 'p50')),
      `${ratio(own, first, 'p50').toFixed(2)} ×`,
      mib(data),
      mib(indexes),
    ]);
  }
  console.log(`\n### ${name}, one look-up at a time\n`);
  console.log(table(['keys', 'a second', 'p50', 'of the first', 'table', 'indexes'], lines));
  const largest = cases.at(-1) as Case;
  const slower = ratio(figures.get(largest) ?? [], first, 'p50');
  const what = `${name}, p50 at ${thousands(largest.keys)} keys, of that at 1,000`;
  aims.push(aim(what, slower, '≤', 1.3, '×'));
}

// ── Through a cache ──────────────────────────────────────────────────────────────────────────────

/** Milliseconds, and one that verifies 500 keys ten times over. */
interface Ring {
  readonly times: number[];
  readonly keys: readonly string[];
  readonly verifyAll: () => Promise<void>;
}

async function createRing(store: KeyStore, peppers: Peppers = PEPPERS): Promise<Ring> {
  const keyring = createKeyring({ prefix: PREFIX, catalog, store, peppers });
  const input = { name: 'bench', scopes: ['threats:read'], expiresAt: 'never' } as const;
  const keys: string[] = [];
  // One after another: of many at once, the last would wait longer than a keyring does.
  while (keys.length < 500) {
    const { key } = await keyring.issue(input, { entityUuid: ENTITY, scopes: 'all' });
    keys.push(key);
  }
  async function verifyAll(): Promise<void> {
    for (let again = 0; again < 10; again++) {
      for (const key of keys) await keyring.verify(key);
    }
  }
  return { times: [], keys, verifyAll };
}

/** `verify` through a warm cache, beside `verify` on the memory store. */
async function compareVerify(name: string, filled: Filled): Promise<void> {
  const inMemory = await createRing(memoryStore());
  const throughCache = await createRing(cached(filled.store(true)));
  for (let round = -2; round < 3 * ROUNDS; round++) {
    for (const { times, verifyAll } of shuffled([inMemory, throughCache], draw)) {
      const start = performance.now();
      await verifyAll();
      if (round >= 0) times.push(performance.now() - start);
    }
  }
  const ratios = throughCache.times.map(
    (time, round) => time / (inMemory.times[round] ?? Number.NaN),
  );
  const what = `${name}, verify through a warm cache, time of the memory store`;
  aims.push(aim(what, quantile(ratios, 0.5), '≤', 2, '×'));
}

/** The whole of `verify`, one after another, beside the driver's rows of the same keys. */
async function compareWhole(name: string, filled: Filled): Promise<void> {
  const { verifyAll, keys, times } = await createRing(filled.store(false), 'none');
  const digests = keys.map((key) => digestKey(key));
  const bareTimes: number[] = [];
  async function findAll(): Promise<void> {
    for (let again = 0; again < 10; again++) {
      for (const digest of digests) await filled.bare(digest);
    }
  }
  for (let round = -2; round < 3 * ROUNDS; round++) {
    const start = performance.now();
    await findAll();
    const between = performance.now();
    await verifyAll();
    if (round < 0) continue;
    bareTimes.push(between - start);
    times.push(performance.now() - between);
  }
  const share = quantile(bareTimes, 0.1) / quantile(times, 0.1);
  aims.push(aim(`${name}, the whole of verify, of the bare driver's row`, share, '≥', 0.5, '×'));
}

// ── All of them ──────────────────────────────────────────────────────────────────────────────────

async function run(target: Target): Promise<void> {
  const { name } = target;
  const all = new Map<number, Filled>();
  try {
    for (const size of sizesOf(target)) {
      const filled = await target.open(size);
      all.set(size, filled);
      await checkKeys(filled, size, name);
    }
    const smallest = all.get(1_000) as Filled;
    await compareVariants(target, smallest, 1_000);
    await compareSizes(name, all);
    await compareVerify(name, smallest);
    if (target === SQLITE) await compareWhole(name, smallest);
  } finally {
    for (const filled of all.values()) await filled.close();
  }
}

for (const target of TARGETS) {
  const { name, url } = target;
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  if (await isThere(url)) await run(target);
  else console.log(`skipped ${name}: nobody answers at ${new URL(url ?? '').host}`);
}
if (wanted.length > 0) console.log(`\n${aimsOf(aims)}`);
else {
  publish({
    name: 'stores',
    title: 'Stores: look-ups beside the bare driver',
    about:
      'Look-ups of random keys among 1,000, the server on the same machine. The bare driver has ' +
      'a prepared look-up of the same columns, and nobody reads what it returns. `npm run ' +
      'bench:stores` prints more: latencies, and one look-up at a time; with `-- --large`, ' +
      'among a million keys.',
    unit: 'ops/s',
    base: 'the bare driver',
    rows,
    aims,
  });
}
