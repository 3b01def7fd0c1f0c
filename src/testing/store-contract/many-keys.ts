/** Tests that a store handles 150 keys of one entity like a single one. */
import type { KeyRecord, Usage } from '../../core/record.js';
import type { SchemeSummary, UsageEntry } from '../../core/store.js';
import { same } from '../assertions.js';
import { randomHex, type StoreFixture, TIME, uuid } from './fixture.js';
import { byDigest, byKeyId, newestFirst } from './order.js';

/** How many keys the test's entity has. */
const KEYS = 150;

/**
 * Gives one entity 150 keys, each with a different pepper, then sends larger calls: longer lists, a
 * look-up of 1,001 digests, and a batch of 1,000 entries. Two batches that touch the same keys in
 * opposite orders must both succeed.
 *
 * Catches: limits of the database or its client on rows, values or entries; wrong pages; deadlocks.
 */
export async function holdsForManyKeys(fixture: StoreFixture): Promise<void> {
  const all = await addMany(fixture);
  await listsMany(fixture, all);
  await findsMany(fixture, all);
  const touched = await touchesMany(fixture, all);
  await summarizesMany(fixture, touched);
}

/** Adds keys of one lineage, two per millisecond, each with a new scheme. Newest first. */
async function addMany(fixture: StoreFixture): Promise<readonly KeyRecord[]> {
  const { scheme, add } = fixture;
  const rootKeyId = uuid();
  const adding = Array.from({ length: KEYS }, (_, index) => {
    const createdAt = TIME + Math.floor(index / 2);
    return add({ createdAt, rootKeyId, digest: `${scheme}${index}$${randomHex()}` });
  });
  const made = await Promise.all(adding);
  return made.sort(newestFirst);
}

async function listsMany(
  { list, lineage }: StoreFixture,
  all: readonly KeyRecord[],
): Promise<void> {
  for (const limit of [101, 1001]) {
    same(await list({ limit }), all.slice(0, limit), `list with limit ${limit}`);
  }
  for (let from = 0; from <= KEYS; from += 61) {
    const page = await list({ after: all[from - 1] ?? null, limit: 61 });
    same(page, all.slice(from, from + 61), `list in pages of 61, after ${from} keys`);
  }
  const rootKeyId = all[0]?.rootKeyId ?? '';
  const byId = byKeyId(all);
  for (const [limit, from] of [
    [101, 0],
    [1001, 0],
    [101, 49],
  ] as const) {
    const after = byId[from - 1]?.keyId ?? null;
    const part = await lineage(rootKeyId, { after, limit });
    same(
      part,
      byId.slice(from, from + limit),
      `listLineage with limit ${limit}, after ${from} keys`,
    );
  }
}

/** Puts half of the known items before the unknown ones and half after. */
function around<Item>(known: readonly Item[], unknown: readonly Item[]): readonly Item[] {
  return [...known.slice(0, KEYS / 2), ...unknown, ...known.slice(KEYS / 2)];
}

async function findsMany(fixture: StoreFixture, all: readonly KeyRecord[]): Promise<void> {
  const { store, scheme } = fixture;
  const known = all.map(({ digest }) => digest);
  const unknown = Array.from(
    { length: 851 },
    (_, index) => `${scheme}$${String(index).padStart(64, '0')}`,
  );
  const found = await store.findByDigest(around(known, unknown));
  same(byDigest(found), byDigest(all), 'findByDigest with 1,001 digests');
}

/** The use of the key at `index`: one scope, or 256 long scopes for the last key. */
function usageOf(index: number): Usage {
  const lastUsedAt = TIME + index;
  if (index < KEYS - 1) return { lastUsedAt, scopesUsed: { 'a:b': lastUsedAt } };
  const resource = 'r'.repeat(64);
  const action = 'a'.repeat(60);
  const used = Array.from(
    { length: 256 },
    (_, place) => [`${resource}:${action}${place}`, TIME + place] as const,
  );
  return { lastUsedAt, scopesUsed: Object.fromEntries(used) };
}

/** Touches all keys and returns the expected records. */
async function touchesMany(
  { store, list }: StoreFixture,
  all: readonly KeyRecord[],
): Promise<readonly KeyRecord[]> {
  const entries: UsageEntry[] = all.map(({ keyId }, index) => ({ keyId, ...usageOf(index) }));
  const unknown = Array.from({ length: 850 }, () => ({ keyId: uuid(), ...usageOf(0) }));
  await store.touch(around(entries, unknown));
  const touched = all.map((row, index) => ({ ...row, ...usageOf(index) }));
  const what = 'list, after touch with 1,000 entries, the last with 256 scopes';
  same(await list({ limit: 1001 }), touched, what);
  // At once and in opposite orders, as two processes might: a store that locks keys in the order of
  // the batch deadlocks.
  const some = entries.slice(0, 100);
  const reversed = [...some].reverse();
  await Promise.all([some, reversed].map(async (batch) => store.touch(batch)));
  return touched;
}

async function summarizesMany(
  { store, scheme }: StoreFixture,
  touched: readonly KeyRecord[],
): Promise<void> {
  if (store.summarize === undefined) return;
  const rows = await store.summarize(TIME);
  const own = rows.filter((row) => row.scheme.startsWith(scheme));
  const byUse = (one: SchemeSummary, other: SchemeSummary) =>
    Number(one.lastUsedAt) - Number(other.lastUsedAt);
  const expected = touched.map(({ digest, lastUsedAt }) => ({
    scheme: digest.slice(0, digest.indexOf('$')),
    live: 1,
    lastUsedAt,
  }));
  same([...own].sort(byUse), expected, `summarize with ${KEYS} schemes`);
}
