/**
 * Keys in this process's memory: the reference, and the shortest example of the contract. For
 * tests, and for services whose keys may end with the process. Synchronous throughout, which makes
 * every write atomic.
 */
import { type KeyRecord, readRecord } from '../../core/record.js';
import type { KeyStore, ListQuery, SchemeSummary } from '../../core/store.js';
import { mergeUsage } from '../../core/usage.js';

/**
 * Makes a store in memory. Unbounded: about 1 KiB per key.
 *
 * @example
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
 */
export function memoryStore(): KeyStore {
  const byId = new Map<string, KeyRecord>();
  const byDigest = new Map<string, KeyRecord>();
  function put(record: KeyRecord): void {
    // Checked once, here. A malformed record is kept as it is, for the core to refuse.
    const copy = readRecord(record) ?? structuredClone(record);
    byId.set(copy.keyId, copy);
    byDigest.set(copy.digest, copy);
  }

  return {
    insert(record) {
      const known = byId.has(record.keyId) || byDigest.has(record.digest);
      if (known) throw new Error('a record with this key id or digest exists already');
      put(record);
    },

    findByDigest(digests) {
      const found: KeyRecord[] = [];
      for (const digest of digests) {
        const record = byDigest.get(digest);
        if (record !== undefined) found.push(record);
      }
      return found;
    },

    findById: (keyId) => byId.get(keyId) ?? null,
    list: (query) => page([...byId.values()], query),
    summarize: (now?: number) => summarize([...byId.values()], now ?? Date.now()),

    markEnded(keyId, ending) {
      const record = byId.get(keyId);
      const open =
        record?.revokedAt === null && ('revokedAt' in ending || record.retireAt === null);
      if (open) put({ ...record, ...ending });
      return open;
    },

    touch(entries) {
      for (const { keyId, ...usage } of entries) {
        const record = byId.get(keyId);
        if (record) put({ ...record, ...mergeUsage(record, usage) });
      }
    },
  };
}

/** Scans every record: listings are rare, and an index would cost memory for every key. */
function page(
  records: readonly KeyRecord[],
  { entityUuid, after = null, limit }: ListQuery,
): readonly KeyRecord[] {
  const behind = (record: KeyRecord) => after === null || newestFirst(after, record) < 0;
  const found = records.filter((record) => record.entityUuid === entityUuid && behind(record));
  return found.sort(newestFirst).slice(0, limit);
}

function summarize(records: readonly KeyRecord[], now: number): SchemeSummary[] {
  const rows = new Map<string, SchemeSummary>();
  for (const { digest, lastUsedAt } of records.filter((record) => isLive(record, now))) {
    const scheme = digest.slice(0, digest.indexOf('$'));
    const row = rows.get(scheme) ?? { scheme, live: 0, lastUsedAt: null };
    const newest = Math.max(row.lastUsedAt ?? -Infinity, lastUsedAt ?? -Infinity);
    rows.set(scheme, {
      scheme,
      live: row.live + 1,
      lastUsedAt: Number.isFinite(newest) ? newest : null,
    });
  }
  return [...rows.values()];
}

type Position = Pick<KeyRecord, 'createdAt' | 'keyId'>;
const newestFirst = (a: Position, b: Position): number =>
  b.createdAt - a.createdAt || (a.keyId < b.keyId ? 1 : a.keyId > b.keyId ? -1 : 0);

const isLive = ({ revokedAt, retireAt, expiresAt }: KeyRecord, now: number): boolean =>
  revokedAt === null &&
  (retireAt === null || now < retireAt) &&
  (expiresAt === null || now < expiresAt);
