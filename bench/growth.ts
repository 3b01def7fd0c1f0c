/**
 * Every call of every store, with few keys and with many: `node bench/growth.ts`. Both tables are
 * there at once, and each call takes turns between them. A store whose server does not answer is
 * not measured.
 */
import { drawer, quantile } from './harness.ts';
import { atMost, number, publish, quick, type Row, type Verdict } from './report.ts';
import { type Call, callsOf, type Table } from './stores/calls.ts';
import { MARIADB } from './stores/mariadb.ts';
import { POSTGRES } from './stores/postgres.ts';
import { REDIS } from './stores/redis.ts';
import { SQLITE } from './stores/sqlite.ts';
import type { Target } from './stores/target.ts';

const TARGETS: readonly Target[] = [POSTGRES, SQLITE, MARIADB, REDIS];
const FEW = quick ? 5_000 : 10_000;
const MANY = quick ? 50_000 : 1_000_000;
const SAMPLES = quick ? 5 : 21;
const CALLS = callsOf(100);
const RATIO = 2;
const MORE_MS = 20;
const BUFFERS = 100;
const SUMMARIZE = 'summarize, a statement';
const LONGEST = 'summarize, its longest statement';
const SUMMARIES = [SUMMARIZE, LONGEST, 'summarize, all of it'];

/** Milliseconds with few keys and with many. */
interface Times {
  readonly few: number;
  readonly many: number;
}

type ByCall = ReadonlyMap<string, Times>;

// ── One store ────────────────────────────────────────────────────────────────────────────────────

async function openTable(target: Target, keys: number): Promise<Table> {
  const start = performance.now();
  const filled = await target.open(keys);
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  console.log(`${target.name}: ${keys.toLocaleString('en-US')} keys in ${seconds} s`);
  return { ...filled, keys, draw: drawer(keys), next: null };
}

/** Milliseconds of a call. */
async function sample({ run, repeat }: Call, table: Table, k: number): Promise<number> {
  const start = performance.now();
  for (let again = 0; again < repeat; again++) await run(table, k);
  return (performance.now() - start) / repeat;
}

async function measureCall(call: Call, few: Table, many: Table): Promise<Times> {
  const times = { few: [] as number[], many: [] as number[] };
  // The first ones prepare statements.
  for (let k = 0; k < SAMPLES + 3; k++) {
    const forFew = await sample(call, few, k);
    const forMany = await sample(call, many, k);
    if (k < 3) continue;
    times.few.push(forFew);
    times.many.push(forMany);
  }
  return { few: quantile(times.few, 0.5), many: quantile(times.many, 0.5) };
}

/** How long a summary is repeated. */
const ENOUGH_MS = 20_000;

/** Milliseconds of a statement of a summary, of its longest one, and of it all without a log. */
async function summarize({ store, watched, log }: Table): Promise<readonly number[]> {
  const usual: number[] = [];
  const longest: number[] = [];
  const inAll: number[] = [];
  const begun = performance.now();
  for (let round = 0; round < 3 && performance.now() - begun < ENOUGH_MS; round++) {
    const start = performance.now();
    await store.summarize();
    inAll.push(performance.now() - start);
    log.times.length = 0;
    await watched.summarize();
    usual.push(quantile(log.times, 0.5));
    longest.push(quantile(log.times, 1));
  }
  return [usual, longest, inAll].map((each) => quantile(each, 0.5));
}

async function measureStore(target: Target): Promise<ByCall> {
  const times = new Map<string, Times>();
  const few = await openTable(target, FEW);
  const many = await openTable(target, MANY).catch(async (error: unknown) => {
    await few.close();
    throw error;
  });
  try {
    for (const call of CALLS) times.set(call.name, await measureCall(call, few, many));
    const ofFew = await summarize(few);
    const ofMany = await summarize(many);
    for (const [index, name] of SUMMARIES.entries()) {
      times.set(name, { few: ofFew[index] ?? Number.NaN, many: ofMany[index] ?? Number.NaN });
    }
    if (target.reads !== undefined) {
      const reads = (await few.purgeReads?.()) ?? Number.NaN;
      times.set(target.reads, { few: reads, many: (await many.purgeReads?.()) ?? Number.NaN });
    }
  } finally {
    await few.close();
    await many.close();
  }
  return times;
}

/** For `catch`: a server that is not there is not measured. */
function skip(error: unknown): null {
  const { code } = error as { readonly code?: unknown };
  if (code !== 'ECONNREFUSED') throw error;
  return null;
}

// ── Report ───────────────────────────────────────────────────────────────────────────────────────

const all = new Map<string, ByCall>();
for (const target of TARGETS) {
  const times = await measureStore(target).catch(skip);
  if (times === null) console.log(`not measured: ${target.name}, whose server does not answer`);
  else all.set(target.name, times);
}

const few = `${FEW.toLocaleString('en-US')} keys`;
const many = `${MANY.toLocaleString('en-US')} keys`;
const NONE: Times = { few: Number.NaN, many: Number.NaN };

function timesOf(store: string, call: string): Times {
  return all.get(store)?.get(call) ?? NONE;
}

const ratioOf = ({ few, many }: Times): number => many / few;

function cellOf(times: Times): string {
  if (Number.isNaN(times.many)) return 'not measured';
  return `${number(times.few)} → ${number(times.many)}`;
}

function isBounded(times: Times): boolean {
  return ratioOf(times) <= RATIO || times.many - times.few <= MORE_MS;
}

/** The verdict on a call names the stores that exceed the bound, or the one that grows most. */
function verdictOf(call: string): Verdict {
  const stores = TARGETS.map(({ name }) => ({ name, times: timesOf(name, call) }));
  const sorted = stores.toSorted((one, other) => ratioOf(other.times) - ratioOf(one.times));
  const short = sorted.filter(({ times }) => !isBounded(times));
  const shown = short.length > 0 ? short : sorted.slice(0, 1);
  const texts = shown.map(({ name, times }) => `${name} ${cellOf(times)} ms`);
  return {
    measured: texts.join('; '),
    wanted: `≤ ${RATIO} ×, or ${MORE_MS} ms more`,
    met: short.length === 0,
  };
}

/** The largest growth of a call in any store. */
function growthOf(call: string): number {
  return Math.max(...TARGETS.map(({ name }) => ratioOf(timesOf(name, call)) || 0));
}

const names = [...CALLS.map(({ name }) => name), SUMMARIZE].toSorted(
  (one, other) => growthOf(other) - growthOf(one),
);

function rowOf(call: string): Row {
  const cells = TARGETS.map(({ name }) => cellOf(timesOf(name, call)));
  return { name: call, cells: [...cells, `${number(growthOf(call))} ×`], verdict: verdictOf(call) };
}

/** The README shows the first of those that are furthest from their bound. */
function headlined(rows: readonly Row[]): readonly Row[] {
  const first = rows.find(({ verdict }) => verdict?.met === false) ?? rows[0];
  const inSummary = `Store call that grows most, ${few} → ${many}: ${first?.name}`;
  return rows.map((row) => (row === first ? { ...row, inSummary } : row));
}

/** Without a bound: the longest of 100 times as many statements is longer. */
function unbounded(call: string): Row {
  return { name: call, cells: [...TARGETS.map(({ name }) => cellOf(timesOf(name, call))), ''] };
}

function readsRow({ name, reads = '' }: Target): Row {
  const times = timesOf(name, reads);
  const row: Row = { name: `${name}, ${reads}`, cells: [times.few, times.many] };
  if (name !== POSTGRES.name) return row;
  return { ...row, verdict: atMost(times.many, BUFFERS, 'buffers') };
}

publish({
  name: 'growth',
  title: 'As a table grows',
  about:
    `Milliseconds of each call of a store with ${few} → with ${many}, medians; a page has 100 ` +
    'keys. The last column is the largest growth of the four. A fifth of the keys belongs to one ' +
    'organization; a tenth each has rotated, is revoked, or addresses another organization. ' +
    'PostgreSQL and MariaDB end statements after 4 s; they had none to end. A summary reads ' +
    'all keys, 2,000 in a statement (on Redis one in a command); the bound is on the median.',
  tables: [
    {
      head: ['ms', ...TARGETS.map(({ name }) => name), 'most'],
      rows: [...headlined(names.map(rowOf)), ...SUMMARIES.slice(1).map(unbounded)],
    },
    {
      head: ['read by a purge that finds nothing', few, many],
      rows: TARGETS.filter(({ reads }) => reads !== undefined).map(readsRow),
    },
  ],
});
