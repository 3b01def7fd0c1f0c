/**
 * How long a call of a synchronous store keeps the process from anything else:
 * `node bench/pauses.ts`. While a call runs, a chain of `setImmediate` notes the longest time
 * between two turns of the event loop.
 */
import assert from 'node:assert/strict';
import { createKeyring, type KeyStore } from 'keyscope';
import { expiringKeys } from 'keyscope/reports';
import { memoryStore } from 'keyscope/stores/memory';
import { quantile } from './harness.ts';
import { catalog, idOf, PREFIX } from './keys.ts';
import { atMost, number, publish, quick, type Row } from './report.ts';
import { ADDRESSED, digestOf, ENDED, EXPIRES, LARGE, recordOf } from './stores/records.ts';
import { openSqlite } from './stores/sqlite.ts';
import { type Filled, insertAll } from './stores/target.ts';

const KEYS = quick ? 20_000 : 100_000;
const ROUNDS = quick ? 2 : 7;
const AIM_MS = 50;
/** So many keys have one root. */
const LINEAGE = 1_000;
const PAGE = 1_000;

const thousands = (count: number): string => count.toLocaleString('en-US');

type Store = Required<KeyStore>;
type Opened = Pick<Filled, 'store' | 'close'> & Partial<Pick<Filled, 'purge'>>;

async function openMemory(): Promise<Opened> {
  const store = memoryStore() as Store;
  await insertAll(store, 0, KEYS);
  return { store, close: () => {} };
}

const STORES: Readonly<Record<string, () => Promise<Opened>>> = {
  'node:sqlite': () => openSqlite(KEYS, 'node:sqlite'),
  'better-sqlite3': () => openSqlite(KEYS, 'better-sqlite3'),
  memory: openMemory,
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

interface Call {
  readonly name: string;
  /**
   * Makes ready what the call needs, and returns what is timed, which throws unless it did what it
   * should; null if there is nothing to do.
   */
  readonly run: (opened: Opened, round: number) => Promise<(() => Promise<void>) | null>;
}

function counting(
  name: string,
  count: number,
  read: (store: Store, round: number) => unknown,
): Call {
  return {
    name,
    run:
      async ({ store }, round) =>
      async () => {
        const list = (await read(store, round)) as readonly unknown[];
        assert.equal(list.length, count, name);
      },
  };
}

const keyringOf = (store: Store) =>
  createKeyring({ prefix: PREFIX, catalog, store, peppers: 'none' });
const whole = { prefix: PREFIX, after: null, limit: PAGE };

/** Keys of one root behind the others, another root each round. */
async function addLineage(store: Store, round: number): Promise<string> {
  const first = KEYS + round * LINEAGE;
  for (let index = first; index < first + LINEAGE; index++) {
    const rootKeyId = idOf(first);
    const root = index === first ? null : rootKeyId;
    const more = { rootKeyId, issuedUnder: root, rotatedFrom: null, retireAt: null };
    const fresh = { revokedAt: null, changedAt: null, endedBy: null, endReason: null };
    const own = { entityUuid: ADDRESSED, accessibleEntities: [ADDRESSED] };
    await store.insert({ ...recordOf(index), ...more, ...fresh, ...own });
  }
  return idOf(first);
}

const CALLS: readonly Call[] = [
  counting('list, 1,000 keys of a large organization', PAGE, (store) =>
    store.list({ ...whole, entityUuid: LARGE }),
  ),
  counting('list, 1,000 keys that address an organization', PAGE, (store) =>
    store.list({ ...whole, entityUuid: ADDRESSED, addressing: true }),
  ),
  counting('keyring.list, 1,000 keys', PAGE, async (store) => {
    return (await keyringOf(store).list({ limit: PAGE }, { entityUuid: LARGE })).keys;
  }),
  counting('listAll, 1,000 keys', PAGE, async (store) => {
    return (await store.listAll({ after: null, limit: PAGE })).items;
  }),
  counting('listChanged, 1,000 keys', PAGE, (store) =>
    store.listChanged({ since: 0, limit: PAGE }),
  ),
  counting('findByDigest of 1,000', PAGE, (store, round) =>
    store.findByDigest(Array.from({ length: PAGE }, (_, i) => digestOf(i * 17 + round))),
  ),
  counting(`expiringKeys, ${thousands(KEYS / 5)} that expire`, KEYS / 5, (store) =>
    expiringKeys(store, { before: new Date(2 * EXPIRES) }),
  ),
  counting('summarize', 1, (store) => store.summarize()),
  {
    name: 'touch of 1,000',
    async run({ store }, round) {
      const lastUsedAt = ENDED + round;
      const scopesUsed = { 'threats:read': lastUsedAt };
      const used = Array.from({ length: 1000 }, (_, index) => {
        return { keyId: idOf(index * 17), lastUsedAt, scopesUsed };
      });
      return async () => {
        await store.touch(used);
        assert.equal((await store.findById(idOf(17)))?.lastUsedAt, lastUsedAt);
      };
    },
  },
  {
    name: `revokeLineage of ${thousands(LINEAGE)}`,
    async run({ store }, round) {
      const root = await addLineage(store, round);
      return async () => {
        const ended = await keyringOf(store).revokeLineage(root, { entityUuid: ADDRESSED });
        assert.equal(ended.length, LINEAGE);
      };
    },
  },
  {
    name: `purgeEnded, which deletes ${thousands(KEYS / 10)}`,
    async run({ purge }, round) {
      if (purge === undefined || round > 0) return null;
      // Every revoked key; those that were rotated have a successor.
      const endedBefore = new Date(ENDED + KEYS);
      return async () => assert.equal((await purge(endedBefore)).length, KEYS / 10);
    },
  },
];

// ── Report ───────────────────────────────────────────────────────────────────────────────────────

/** The longest turn of each call: the median of its rounds. */
async function measureStore(name: string): Promise<ReadonlyMap<string, number>> {
  const opened = (await STORES[name]?.()) as Opened;
  const turns = new Map<string, number>();
  for (const call of CALLS) {
    const all: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const run = await call.run(opened, round);
      if (run !== null) all.push(await longestTurn(run));
    }
    turns.set(call.name, quantile(all, 0.5));
  }
  await opened.close();
  return turns;
}

const byStore = new Map<string, ReadonlyMap<string, number>>();
for (const name of Object.keys(STORES)) byStore.set(name, await measureStore(name));

const rows = CALLS.map(({ name }): Row & { readonly most: number } => {
  const turns = Array.from(byStore.values(), (of) => of.get(name) ?? Number.NaN);
  const most = Math.max(...turns.filter((ms) => !Number.isNaN(ms)));
  const cells = turns.map((ms) => (Number.isNaN(ms) ? '' : number(ms)));
  return { name, cells, most, verdict: atMost(most, AIM_MS, 'ms') };
}).toSorted((one, other) => other.most - one.most);
const [longest] = rows;
publish({
  name: 'pauses',
  title: 'Pauses of a synchronous store',
  about:
    `The longest time that a call keeps the event loop from its next turn, in milliseconds, with ` +
    `${thousands(KEYS)} keys: medians of ${ROUNDS} calls. SQLite answers in the ` +
    "service's own process, so everybody waits that long.",
  tables: [
    {
      head: ['ms', ...byStore.keys()],
      rows: rows.map(({ most: _, ...row }) =>
        row.name === longest?.name
          ? { ...row, inReadme: `longest pause of the event loop, SQLite: ${row.name}` }
          : row,
      ),
    },
  ],
});
