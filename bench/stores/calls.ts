/** Every call of a store, with its arguments and the size of its answer. */
import assert from 'node:assert/strict';
import type { Awaitable, KeyStore, Mark } from 'keyscope';
import { CREATED, idOf, PREFIX } from '../keys.ts';
import {
  ADDRESSED,
  ADDRESSING,
  BEFORE_ALL_ENDS,
  digestOf,
  ENDED,
  EXPIRES,
  KINDS,
  LARGE,
  PLAIN,
  recordOf,
} from './records.ts';
import type { Filled } from './target.ts';

/** A table that is measured. */
export interface Table extends Filled {
  /** How many keys it was filled with. */
  readonly keys: number;
  readonly draw: (below: number) => number;
  /** Where `listAll` goes on. */
  next: string | null;
}

export interface Call {
  readonly name: string;
  /** How many calls in a row make one sample: more than one if a call is short. */
  readonly repeat: number;
  /** Makes the `k`-th call, counted from 0, and throws unless it did what it should. */
  readonly run: (table: Table, k: number) => unknown;
}

const [TO_SUSPEND, TO_REVOKE, TO_RETIRE] = PLAIN;
const BY = { by: 'ada', reason: 'measured' };

/** The `k`-th of a kind, in no order; each once. */
function nth({ keys }: Table, kind: number, k: number): number {
  return KINDS * ((k * 7919) % (keys / KINDS)) + kind;
}

/** The position of a key of the large organization in the middle of its listing. */
function middleOf({ keys }: Table) {
  const index = 5 * KINDS * Math.floor(keys / 2 / (5 * KINDS));
  return { createdAt: CREATED + index, keyId: idOf(index) };
}

/** A call whose answer has this many keys. */
function listing(
  name: string,
  count: number,
  read: (store: Required<KeyStore>, table: Table) => Awaitable<readonly unknown[]>,
): Call {
  async function run(table: Table): Promise<void> {
    assert.equal((await read(table.store, table)).length, count, name);
  }
  return { name, repeat: 1, run };
}

function marking(kind: number, mark: Mark): Call {
  async function run(table: Table, k: number): Promise<void> {
    assert.equal(await table.store.mark(idOf(nth(table, kind, k)), mark), true, mark.kind);
  }
  return { name: `mark, ${mark.kind}`, repeat: 1, run };
}

function touching(count: number): Call {
  async function run({ store, keys, draw }: Table, k: number): Promise<void> {
    const lastUsedAt = ENDED + k;
    const used = Array.from({ length: count }, () => ({
      keyId: idOf(draw(keys)),
      lastUsedAt,
      scopesUsed: { 'threats:read': lastUsedAt },
    }));
    await store.touch(used);
  }
  return { name: `touch of ${count.toLocaleString('en-US')}`, repeat: 1, run };
}

/** Listings with pages of this size. */
function listings(limit: number): readonly Call[] {
  const own = { prefix: PREFIX, entityId: LARGE, limit };
  const others = { prefix: PREFIX, entityId: ADDRESSED, addressing: true, limit };
  const expiring = { before: 2 * EXPIRES, after: null, limit };
  return [
    listing(`findByDigest of ${limit.toLocaleString('en-US')}`, limit, (store, { keys, draw }) => {
      const start = draw(keys - limit);
      return store.findByDigest(Array.from({ length: limit }, (_, i) => digestOf(start + i)));
    }),
    listing('list, first page', limit, (store) => store.list({ ...own, after: null })),
    listing('list, a page in the middle', limit, (store, table) =>
      store.list({ ...own, after: middleOf(table) }),
    ),
    listing('list of addressing keys, first page', limit, (store) =>
      store.list({ ...others, after: null }),
    ),
    listing('list of addressing keys, in the middle', limit, (store, table) =>
      store.list({ ...others, after: middleOf(table) }),
    ),
    listing('listExpiring, first page', limit, async (store) => {
      return (await store.listExpiring(expiring)).items;
    }),
    listing('listExpiring, from the middle', limit, async (store, { keys }) => {
      return (await store.listExpiring({ ...expiring, from: EXPIRES + keys / 2 })).items;
    }),
    listing('listAll, page after page', limit, async (store, table) => {
      const { items, next } = await store.listAll({ after: table.next, limit });
      table.next = next;
      return items;
    }),
    listing('listChanged, first page', limit, (store) => store.listChanged({ since: 0, limit })),
    listing('listChanged, from the middle', limit, (store, { keys }) =>
      store.listChanged({ since: ENDED + keys / 2, limit }),
    ),
  ];
}

/** All calls, with pages of this size. */
export const callsOf = (limit: number): readonly Call[] => [
  { name: 'insert', repeat: 1, run: ({ store, keys }, k) => store.insert(recordOf(keys + k)) },
  {
    name: 'findByDigest of one',
    repeat: 20,
    async run({ store, keys, draw }) {
      const index = draw(keys);
      const [found] = await store.findByDigest([digestOf(index)]);
      assert.equal(found?.keyId, idOf(index));
    },
  },
  {
    name: 'findById',
    repeat: 20,
    async run({ store, keys, draw }) {
      const keyId = idOf(draw(keys));
      assert.equal((await store.findById(keyId))?.keyId, keyId);
    },
  },
  {
    name: 'listLineage',
    repeat: 5,
    async run({ store, keys, draw }) {
      const root = KINDS * draw(keys / KINDS);
      const query = { rootKeyId: idOf(root), after: null, limit: 100 };
      assert.equal((await store.listLineage(query)).length, 3);
    },
  },
  ...listings(limit),
  touching(1),
  touching(1000),
  marking(TO_SUSPEND, { kind: 'suspend', at: ENDED, ...BY }),
  marking(TO_SUSPEND, { kind: 'resume', at: ENDED }),
  marking(TO_RETIRE, { kind: 'retire', at: ENDED, retireAt: ENDED, ...BY }),
  marking(ADDRESSING, { kind: 'withdraw', at: ENDED, entityId: ADDRESSED }),
  marking(TO_REVOKE, { kind: 'revoke', at: ENDED, seal: null, ...BY }),
  {
    name: 'purgeEnded, nothing to delete',
    repeat: 1,
    run: async ({ purge }) =>
      assert.deepEqual(await purge(new Date(BEFORE_ALL_ENDS)), [], 'purged something'),
  },
];
