/**
 * Keys in this process's memory: the reference, and the shortest example of the contract. For tests and for
 * services whose keys may end with the process. Synchronous throughout, which makes every write atomic.
 */
import { freezeRecord, type KeyRecord, mergeUsage } from '../record.js';
import type { KeyStore, SchemeSummary } from '../store.js';

/**
 * A store in memory. Bounded by nothing: about 1 KiB a key.
 *
 * @example
 * const keyring = createKeyring({ prefix: 'acme', catalog, store: memoryStore(), peppers: 'none' });
 */
export function memoryStore(): KeyStore {
  const byId = new Map<string, KeyRecord>();
  const byDigest = new Map<string, KeyRecord>();
  const byEntity = new Map<string, Set<string>>();

  function put(record: KeyRecord): void {
    const frozen = freezeRecord(record);
    byId.set(frozen.keyId, frozen);
    byDigest.set(frozen.digest, frozen);
  }

  return {
    insert(record) {
      if (byId.has(record.keyId) || byDigest.has(record.digest)) {
        throw new Error('a record with this key id or digest exists already');
      }
      put(record);
      const ids = byEntity.get(record.entityUuid);
      if (ids) ids.add(record.keyId);
      else byEntity.set(record.entityUuid, new Set([record.keyId]));
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

    list({ entityUuid, after, limit }) {
      const records: KeyRecord[] = [];
      for (const keyId of byEntity.get(entityUuid) ?? []) {
        const record = byId.get(keyId);
        if (record !== undefined && (after === null || newestFirst(after, record) < 0)) records.push(record);
      }
      return records.sort(newestFirst).slice(0, limit);
    },

    markEnded(keyId, ending) {
      const record = byId.get(keyId);
      if (record === undefined || record.revokedAt !== null) return false;
      if ('retireAt' in ending && record.retireAt !== null) return false;
      put({ ...record, ...ending });
      return true;
    },

    touch(entries) {
      for (const { keyId, ...usage } of entries) {
        const record = byId.get(keyId);
        if (record === undefined) continue;
        const { lastUsedAt, scopesUsed } = record;
        put({ ...record, ...mergeUsage({ lastUsedAt: lastUsedAt ?? usage.lastUsedAt, scopesUsed }, usage) });
      }
    },

    summarize(now) {
      const rows = new Map<string, { live: number; lastUsedAt: number | null }>();
      for (const record of byId.values()) {
        if (!isLive(record, now)) continue;
        const scheme = record.digest.slice(0, record.digest.indexOf('$'));
        const row = rows.get(scheme) ?? { live: 0, lastUsedAt: null };
        const used = [row.lastUsedAt, record.lastUsedAt].filter((time) => time !== null);
        rows.set(scheme, { live: row.live + 1, lastUsedAt: used.length > 0 ? Math.max(...used) : null });
      }
      return Array.from(rows, ([scheme, row]): SchemeSummary => ({ scheme, ...row }));
    },
  };
}

type Position = Pick<KeyRecord, 'createdAt' | 'keyId'>;
const newestFirst = (a: Position, b: Position): number =>
  b.createdAt - a.createdAt || (a.keyId < b.keyId ? 1 : a.keyId > b.keyId ? -1 : 0);

const isLive = ({ revokedAt, retireAt, expiresAt }: KeyRecord, now: number): boolean =>
  revokedAt === null && (retireAt === null || now < retireAt) && (expiresAt === null || now < expiresAt);
