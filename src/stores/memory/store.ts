/**
 * Keys in this process's memory: the shortest example of the contract. For tests, and for services
 * whose keys may end with the process. Every method is synchronous, so every write is atomic.
 */
import { type KeyRecord, readRecord } from '../../core/record.js';
import type { KeyStore, ListPosition, ListQuery, SchemeSummary } from '../../core/store.js';
import { mergeUsage } from '../../core/usage.js';

/**
 * Makes a store in memory. Unbounded: about 1 KiB per key.
 *
 * Not checked: that a process has only one. Each call makes a new store with its own keys.
 *
 * @returns A store for `createKeyring`, whose methods answer synchronously.
 * @example
 * const store = memoryStore();
 * const keyring = createKeyring({ prefix: 'acme', catalog, store, peppers: 'none' });
 */
export function memoryStore(): KeyStore {
  const byId = new Map<string, KeyRecord>();
  const byDigest = new Map<string, KeyRecord>();

  function put(record: KeyRecord): void {
    // Checked only once, here. A malformed record is kept as it is; the core refuses it.
    const copy = readRecord(record) ?? structuredClone(record);
    byId.set(copy.keyId, copy);
    byDigest.set(copy.digest, copy);
  }

  return {
    insert(record) {
      const isKnown = byId.has(record.keyId) || byDigest.has(record.digest);
      if (isKnown) throw new Error('a record with this key id or digest exists already');
      put(record);
    },

    findByDigest: (digests) => findAll(byDigest, digests),
    findById: (keyId) => byId.get(keyId) ?? null,
    list: (query) => page([...byId.values()], query),
    summarize: (now?: number) => summarize([...byId.values()], now ?? Date.now()),

    markEnded(keyId, ending) {
      const record = byId.get(keyId);
      if (record === undefined || record.revokedAt !== null) return false;
      const isRevocation = 'revokedAt' in ending;
      if (!isRevocation && record.retireAt !== null) return false;
      put({ ...record, ...ending });
      return true;
    },

    touch(entries) {
      for (const { keyId, ...usage } of entries) {
        const record = byId.get(keyId);
        if (record !== undefined) put({ ...record, ...mergeUsage(record, usage) });
      }
    },
  };
}

/** The records that have these digests, in the order of `digests`. */
function findAll(
  byDigest: ReadonlyMap<string, KeyRecord>,
  digests: readonly string[],
): KeyRecord[] {
  const found: KeyRecord[] = [];
  for (const digest of digests) {
    const record = byDigest.get(digest);
    if (record !== undefined) found.push(record);
  }
  return found;
}

/** Scans every record: listings are rare, and an index would cost memory for every key. */
function page(records: readonly KeyRecord[], query: ListQuery): readonly KeyRecord[] {
  const { entityUuid, after, limit } = query;
  const own = records.filter((record) => record.entityUuid === entityUuid);
  // A caller may leave `after` out.
  const left = after ? own.filter((record) => newestFirst(after, record) < 0) : own;
  return left.sort(newestFirst).slice(0, limit);
}

/** Orders a listing: by `createdAt`, then by `keyId`, both descending. */
function newestFirst(first: ListPosition, second: ListPosition): number {
  if (first.createdAt !== second.createdAt) return second.createdAt - first.createdAt;
  if (first.keyId === second.keyId) return 0;
  return first.keyId < second.keyId ? 1 : -1;
}

/** How many live keys each digest scheme has, and when one of them was last used. */
function summarize(records: readonly KeyRecord[], now: number): SchemeSummary[] {
  const rows = new Map<string, SchemeSummary>();
  for (const { digest, lastUsedAt } of records.filter((record) => isLive(record, now))) {
    const scheme = digest.slice(0, digest.indexOf('$'));
    const row = rows.get(scheme);
    rows.set(scheme, {
      scheme,
      live: (row?.live ?? 0) + 1,
      lastUsedAt: newest(row?.lastUsedAt ?? null, lastUsedAt),
    });
  }
  return [...rows.values()];
}

/** The later of two times; null means never. */
function newest(first: number | null, second: number | null): number | null {
  if (first === null) return second;
  if (second === null) return first;
  return Math.max(first, second);
}

/** Whether a key works at the time `now`; both deadlines are exclusive. */
function isLive({ revokedAt, retireAt, expiresAt }: KeyRecord, now: number): boolean {
  const isBeforeRetirement = retireAt === null || now < retireAt;
  const isBeforeExpiry = expiresAt === null || now < expiresAt;
  return revokedAt === null && isBeforeRetirement && isBeforeExpiry;
}
