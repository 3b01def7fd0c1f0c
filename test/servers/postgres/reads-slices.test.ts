import type { KeyRecord, KeyStore, Slice, SliceQuery } from 'keyscope';
import { postgresStore, purgeEnded } from 'keyscope/stores/postgres';
import { beforeAll, describe, expect, test } from 'vitest';
import { sharedPglite } from '../../support/postgres-clients.ts';
import { alone, another, describeKind, RECORD } from '../../support/postgres-place.ts';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';
const LAST_ID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
const MAX_TIME = 8_640_000_000_000_000;

type ReadSlice = (query: SliceQuery) => Promise<Slice<KeyRecord>>;

/** The listings over all entities that come in parts. */
interface Listings {
  readonly listAll: ReadSlice;
  /** Up to a time that is after that of any key. */
  readonly listExpiring: ReadSlice;
}

function listingsOf(store: Required<KeyStore>): Listings {
  return {
    listAll: async (query) => store.listAll(query),
    listExpiring: async (query) => store.listExpiring({ before: MAX_TIME, ...query }),
  };
}

/** The ids in all parts of a listing. `between` runs after each of them. */
async function idsIn(
  read: ReadSlice,
  limit: number,
  between: (part: readonly string[]) => unknown = () => {},
): Promise<string[]> {
  const all: string[] = [];
  let after: string | null = null;
  do {
    const { items, next }: Slice<KeyRecord> = await read({ after, limit });
    const ids = items.map(({ keyId }) => keyId);
    expect(items.length, 'only the last part is short').toBeLessThanOrEqual(limit);
    if (next !== null) expect(items).toHaveLength(limit);
    all.push(...ids);
    await between(ids);
    after = next;
  } while (after !== null);
  return all;
}

// PGlite takes seconds to start.
beforeAll(sharedPglite, 60_000);

describe.each(['PGlite', 'pg Pool of 10'])('with %s', (kind) => {
  describeKind(kind)('the listings of all entities', () => {
    test('have parts of any size, with each record once and in order', async () => {
      await alone(kind, async ({ client }) => {
        const store = postgresStore(client);
        // Their order by expiry, with ties, is not that of their ids.
        const expiries = [7, -3, 7, MAX_TIME - 1, -MAX_TIME, 0, 7];
        const records = expiries.map((expiresAt, i) => ({ ...another(i), expiresAt }));
        const edges = [FIRST_ID, LAST_ID].map((keyId, i) => ({ ...another(90 + i), keyId }));
        const forever = edges.map((record) => ({ ...record, expiresAt: null }));
        for (const record of [...records, ...forever]) await store.insert(record);
        const { listAll, listExpiring } = listingsOf(store);
        const ids = [...records, ...forever].map(({ keyId }) => keyId).sort();
        const expected = [4, 1, 5, 0, 2, 6, 3].map((i) => another(i).keyId);
        for (const limit of [1, 2, 3, 6, 7, 8, 9, 10]) {
          expect(await idsIn(listAll, limit), `listAll by ${limit}`).toEqual(ids);
          expect(await idsIn(listExpiring, limit), `listExpiring by ${limit}`).toEqual(expected);
        }
      });
    });

    test('neither repeat nor skip a record, whatever is added, ended or purged', async () => {
      for (const name of ['listAll', 'listExpiring'] as const) {
        await alone(kind, async ({ client }) => {
          const store = postgresStore(client);
          const records = Array.from({ length: 9 }, (_, i) => ({
            ...another(100 + 10 * i),
            expiresAt: 100 + 10 * i,
          }));
          for (const record of records) await store.insert(record);
          const ids = records.map(({ keyId }) => keyId);
          let part = 0;
          const read = await idsIn(listingsOf(store)[name], 2, async () => {
            part += 1;
            // Before all others, after all others, and between two.
            for (const number of [part, 900 + part, 100 + part]) {
              await store.insert({ ...another(number), expiresAt: number });
            }
            // The record that the cursor names is gone.
            if (part === 2) await purgeEnded(client, { endedBefore: new Date(145) });
          });
          const kept = read.filter((keyId) => ids.includes(keyId));
          expect(new Set(read).size, name).toBe(read.length);
          expect(kept, name).toEqual(ids.filter((_, i) => i !== 4));
        });
      }
    });

    test('accept only their own cursors', async () => {
      await alone(kind, async ({ client }) => {
        const store = postgresStore(client);
        for (let i = 0; i < 2; i++) await store.insert({ ...another(i), expiresAt: 5 });
        const { listAll, listExpiring } = listingsOf(store);
        const all = await listAll({ after: null, limit: 1 });
        const expiring = await listExpiring({ after: null, limit: 1 });
        const odd = ['', 'x', RECORD.keyId, `${all.next} `, all.next?.toUpperCase(), 5, {}, true];
        for (const after of [...odd, expiring.next]) {
          const asked = listAll({ after: after as string, limit: 1 });
          const told = 'listAll: after: pass `next` of the previous part, or null';
          await expect(asked, String(after)).rejects.toThrow(new TypeError(told));
        }
        const huge = expiring.next?.replace('.5.', '.99999999999999999.');
        const injected = expiring.next?.replace('.5.', ".5'.");
        for (const after of [...odd, all.next, huge, injected]) {
          const asked = listExpiring({ after: after as string, limit: 1 });
          const told = 'listExpiring: after: pass `next` of the previous part, or null';
          await expect(asked, String(after)).rejects.toThrow(new TypeError(told));
        }
        // A missing cursor starts at the beginning.
        for (const read of [listAll, listExpiring]) {
          const first = await read({ after: null, limit: 9 });
          expect(await read({ limit: 9 } as SliceQuery)).toEqual(first);
        }
      });
    });
  });
});
