import { DatabaseSync } from 'node:sqlite';
import type { KeyRecord } from 'keyscope';
import { sqliteStore } from 'keyscope/stores/sqlite';
import { expect, test } from 'vitest';
import { complaint } from '../../support/complaint.ts';
import { untyped } from '../../support/keyring.ts';
import { another, dropSafeguards } from '../../support/sqlite-databases.ts';

type Store = ReturnType<typeof sqliteStore>;

/** A store with seven keys: two expire at the same time, and one never expires. */
function stockedWithExpiries(): { readonly db: DatabaseSync; readonly store: Store } {
  const db = new DatabaseSync(':memory:');
  const store = sqliteStore(db);
  const expiries = [30, 10, null, 20, 20, -8.64e15, 8.64e15];
  for (const [n, expiresAt] of expiries.entries()) store.insert({ ...another(n), expiresAt });
  return { db, store };
}

function idsOf(records: readonly KeyRecord[]): readonly string[] {
  return records.map(({ keyId }) => keyId);
}

function idsAt(...numbers: readonly number[]): readonly string[] {
  return numbers.map((n) => another(n).keyId);
}

const BEFORE = 8.64e15 + 1;

/** All parts of a listing, and their number. */
async function readParts(
  limit: number,
  list: (query: {
    readonly after: string | null;
    readonly limit: number;
  }) => ReturnType<Store['listAll']>,
): Promise<{ readonly ids: readonly string[]; readonly parts: number }> {
  const ids: string[] = [];
  let parts = 0;
  let after: string | null = null;
  do {
    const { items, next } = await list({ after, limit });
    ids.push(...idsOf(items));
    parts += 1;
    after = next;
  } while (after !== null);
  return { ids, parts };
}

test.each([
  [1, 7],
  [2, 4],
  [3, 3],
  [7, 1],
  [8, 1],
])('parts of %i contain all records once, and the last has no next', async (limit, parts) => {
  const { store } = stockedWithExpiries();
  const all = await readParts(limit, (query) => store.listAll(query));
  expect(all).toEqual({ ids: idsAt(0, 1, 2, 3, 4, 5, 6), parts });
});

test('a part does not move if earlier records are deleted', async () => {
  const { db, store } = stockedWithExpiries();
  const first = await store.listAll({ after: null, limit: 3 });
  dropSafeguards(db);
  db.exec('DELETE FROM keyscope_keys WHERE expires_at = 30');
  const second = await store.listAll({ after: first.next, limit: 9 });
  expect(idsOf(second.items)).toEqual(idsAt(3, 4, 5, 6));
});

test('an invalid cursor, or that of the other listing, is rejected', async () => {
  const { store } = stockedWithExpiries();
  const all = (after: unknown) => () =>
    store.listAll({ after: untyped<string | null>(after), limit: 2 });
  const expiring = (after: unknown) => () =>
    store.listExpiring({ before: BEFORE, after: untyped<string | null>(after), limit: 2 });
  const nextOfAll = (await all(null)()).next;
  const nextOfExpiring = (await expiring(undefined)()).next;
  const odd = ['', 'all.', another(1).keyId, 'ALL.x', 5, {}, ['all.x'], `all.${'\0'}`, true];
  for (const after of [...odd, nextOfExpiring, 'expiring.5.']) {
    const instead = 'listAll: after: pass `next` of the previous part, or null';
    expect(complaint(all(after)), String(after)).toBe(instead);
  }
  const times = ['expiring.x.y', 'expiring.1e3.y', 'expiring.5', `expiring.${'9'.repeat(17)}.y`];
  for (const after of [...odd, nextOfAll, ...times]) {
    const instead = 'listExpiring: after: pass `next` of the previous part, or null';
    expect(complaint(expiring(after)), String(after)).toBe(instead);
  }
});

// The cursor had a form that no reader accepted, and the walk over all keys ended there.
test('a row with an invalid time does not end a walk', async () => {
  const { db, store } = stockedWithExpiries();
  dropSafeguards(db);
  db.exec(`UPDATE keyscope_keys SET expires_at = 1 << 60 WHERE expires_at = 10`);
  db.exec(`UPDATE keyscope_keys SET expires_at = -(1 << 60) WHERE expires_at = 30`);
  const all = await readParts(1, (query) => store.listAll(query));
  expect(all.ids).toEqual(idsAt(0, 1, 2, 3, 4, 5, 6));
  const expiring = await readParts(1, (query) =>
    store.listExpiring({ ...query, before: Number.POSITIVE_INFINITY }),
  );
  expect(expiring.ids).toEqual(idsAt(5, 3, 4, 6));
});
