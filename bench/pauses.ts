/**
 * How long a call of a synchronous store keeps the process from anything else:
 * `node bench/pauses.ts`. While a call runs, a chain of `setImmediate` notes the longest time
 * between two turns of the event loop.
 */
import assert from 'node:assert/strict';
import { createKeyring, type KeyStore } from 'keyscope';
import { expiringKeys } from 'keyscope/reports';
import { memoryStore } from 'keyscope/stores/memory';
import { drawer, quantile } from './harness.ts';
import { catalog, idOf, PREFIX } from './keys.ts';
import { atMost, number, publish, quick, type Row } from './report.ts';
import { type Call, callsOf, type Table } from './stores/calls.ts';
import { ADDRESSED, ENDED, EXPIRES, KINDS, LARGE, PLAIN, recordOf } from './stores/records.ts';
import { openSqlite } from './stores/sqlite.ts';
import { insertAll } from './stores/target.ts';
import { newLog } from './stores/watch.ts';

const KEYS = quick ? 20_000 : 100_000;
const ROUNDS = quick ? 2 : 7;
const AIM_MS = 50;
/** How many keys have one root. */
const LINEAGE = 1_000;
const PAGE = 1_000;

const thousands = (count: number): string => count.toLocaleString('en-US');

type Opened = Omit<Table, 'keys' | 'draw' | 'next'>;

async function openMemory(): Promise<Opened> {
  const store = memoryStore() as Required<KeyStore>;
  await insertAll(store, 0, KEYS);
  return { store, watched: store, log: newLog(), purge: () => [], close: () => {} };
}

const MEMORY = 'memory';
const STORES: Readonly<Record<string, () => Promise<Opened>>> = {
  'node:sqlite': () => openSqlite(KEYS, 'node:sqlite'),
  'better-sqlite3': () => openSqlite(KEYS, 'better-sqlite3'),
  [MEMORY]: openMemory,
};

/** The longest turn of the event loop while a call runs, in milliseconds. */
async function longestTurn(run: () => unknown): Promise<number> {
  let longest = 0;
  let isDone = false;
  let last = performance.now();
  function note(): void {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(note);
  }
  await new Promise((resolve) => void setImmediate(resolve));
  last = performance.now();
  setImmediate(note);
  await run();
  isDone = true;
  note();
  return longest;
}

// ── Calls ────────────────────────────────────────────────────────────────────────────────────────

/** The longest calls of a service and its jobs. */
const MORE: readonly Call[] = [
  {
    name: 'summarize',
    repeat: 1,
    run: async ({ store }) => assert.equal((await store.summarize()).length, 1),
  },
  {
    name: 'keyring.list, first page',
    repeat: 1,
    async run({ store }) {
      const { keys } = await keyringOf(store).list({ limit: PAGE }, { entityId: LARGE });
      assert.equal(keys.length, PAGE);
    },
  },
  {
    name: `expiringKeys, ${thousands(KEYS / 5)} that expire`,
    repeat: 1,
    async run({ store }) {
      const found = await expiringKeys(store, { before: new Date(EXPIRES + KEYS) });
      assert.equal(found.length, KEYS / 5);
    },
  },
  {
    name: `revokeLineage of ${thousands(LINEAGE)}`,
    repeat: 1,
    async run({ store }, round) {
      const root = idOf(firstOf(round));
      const ended = await keyringOf(store).revokeLineage(root, { entityId: ADDRESSED });
      assert.equal(ended.length, LINEAGE);
    },
  },
];

const PURGE: Call = {
  name: `purgeEnded, which deletes ${thousands(KEYS / 10)}`,
  repeat: 1,
  async run({ purge }) {
    // The revoked keys, and those that earlier calls revoked and retired. Rotated keys stay.
    const { length } = await purge(new Date(ENDED + KEYS));
    assert.equal(length, KEYS / 10 + 2 * ROUNDS);
  },
};

function keyringOf(store: KeyStore) {
  return createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
}

/** The number of the first key of a lineage: far behind all others. */
function firstOf(round: number): number {
  return 2 * KEYS + round * LINEAGE;
}

/** Inserts a lineage for each round. */
async function addLineages(store: KeyStore): Promise<void> {
  const own = { entityId: ADDRESSED, accessibleEntities: [ADDRESSED] };
  for (let index = firstOf(0); index < firstOf(ROUNDS); index++) {
    const first = index - (index % LINEAGE);
    const issuedUnder = index === first ? null : idOf(first);
    const record = recordOf(KINDS * index + PLAIN[0]);
    const named = { keyId: idOf(index), rootKeyId: idOf(index) };
    await store.insert({ ...record, ...own, ...named, issuedUnder });
  }
}

// ── Report ───────────────────────────────────────────────────────────────────────────────────────

/** The longest turn of each call: the median of its rounds. */
async function measureStore(name: string): Promise<ReadonlyMap<string, number>> {
  const opened = await (STORES[name] ?? openMemory)();
  const table: Table = { ...opened, keys: KEYS, draw: drawer(KEYS), next: null };
  const turns = new Map<string, number>();
  try {
    await addLineages(table.store);
    for (const call of [...callsOf(PAGE), ...MORE]) {
      const all: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        all.push(await longestTurn(() => call.run(table, round)));
      }
      turns.set(call.name, quantile(all, 0.5));
    }
    // Once: there is nothing left for a second time. The memory store has no purge.
    const purged = name === MEMORY ? Number.NaN : await longestTurn(() => PURGE.run(table, 0));
    return turns.set(PURGE.name, purged);
  } finally {
    await opened.close();
  }
}

const byStore = new Map<string, ReadonlyMap<string, number>>();
for (const name of Object.keys(STORES)) byStore.set(name, await measureStore(name));

const names = [...(byStore.get(MEMORY)?.keys() ?? [])];
const rows = names
  .map((name): Row & { readonly most: number } => {
    const turns = Array.from(byStore.values(), (of) => of.get(name) ?? Number.NaN);
    const most = Math.max(...turns.filter((ms) => !Number.isNaN(ms)));
    const cells = turns.map((ms) => (Number.isNaN(ms) ? '' : number(ms)));
    return { name, cells, most, verdict: atMost(most, AIM_MS, 'ms') };
  })
  .toSorted((one, other) => other.most - one.most);
const [longest] = rows;
publish({
  name: 'pauses',
  title: 'Pauses of a synchronous store',
  about:
    `The longest time that a call keeps the event loop from its next turn, in milliseconds, with ` +
    `${thousands(KEYS)} keys: medians of ${ROUNDS} calls, of one purge. A page has ` +
    `${thousands(PAGE)} keys. SQLite answers in the service's own process, so that every other ` +
    'request waits that long.',
  tables: [
    {
      head: ['ms', ...byStore.keys()],
      rows: rows.map(({ most: _, ...row }) =>
        row.name === longest?.name
          ? { ...row, inSummary: `Longest pause of the event loop on SQLite: ${row.name} keys` }
          : row,
      ),
    },
  ],
});
