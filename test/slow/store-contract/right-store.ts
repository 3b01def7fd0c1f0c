/** A store that keeps the contract, in memory, over rows that a wrong store can reach too. */
import type {
  Ending,
  KeyRecord,
  KeyStore,
  ListPosition,
  ListQuery,
  SchemeSummary,
  UsageEntry,
} from 'keyscope';

/** A record that a store may change, as its own rows. */
export type Row = { -readonly [Field in keyof KeyRecord]: KeyRecord[Field] };

/** What a store has, by key id. */
export type Rows = Map<string, Row>;

/** A store whose answers are there at once. */
export interface SyncStore extends KeyStore {
  insert(record: KeyRecord): void;
  findByDigest(digests: readonly string[]): Row[];
  findById(keyId: string): Row | null;
  list(query: ListQuery): Row[];
  markEnded(keyId: string, ending: Ending): boolean;
  touch(entries: readonly UsageEntry[]): void;
  summarize(now: number): SchemeSummary[];
}

export function copy(row: KeyRecord): Row {
  return structuredClone(row);
}

export function newestFirst(one: ListPosition, other: ListPosition): number {
  if (one.createdAt !== other.createdAt) return other.createdAt - one.createdAt;
  return one.keyId < other.keyId ? 1 : -1;
}

/** Whether a listing after `position` contains `row`. */
export function isBehind(row: ListPosition, { createdAt, keyId }: ListPosition): boolean {
  return row.createdAt < createdAt || (row.createdAt === createdAt && row.keyId < keyId);
}

export function isLive(row: KeyRecord, now: number): boolean {
  const retired = row.retireAt !== null && row.retireAt <= now;
  const expired = row.expiresAt !== null && row.expiresAt <= now;
  return row.revokedAt === null && !retired && !expired;
}

/** One row per digest scheme of the records, which are taken to be live. */
export function summaryOf(live: readonly KeyRecord[]): SchemeSummary[] {
  const schemeOf = ({ digest }: KeyRecord) => digest.slice(0, digest.indexOf('$'));
  const schemes = new Set(live.map(schemeOf));
  return [...schemes].map((scheme) => {
    const own = live.filter((row) => schemeOf(row) === scheme);
    const used = own.flatMap((row) => row.lastUsedAt ?? []);
    const lastUsedAt = used.length > 0 ? Math.max(...used) : null;
    return { scheme, live: own.length, lastUsedAt };
  });
}

export function rightStore(rows: Rows = new Map()): SyncStore {
  const all = () => [...rows.values()];

  function touchOne({ keyId, lastUsedAt, scopesUsed }: UsageEntry): void {
    const row = rows.get(keyId);
    if (row === undefined) return;
    row.lastUsedAt = Math.max(row.lastUsedAt ?? lastUsedAt, lastUsedAt);
    const used = { ...row.scopesUsed };
    for (const [scope, time] of Object.entries(scopesUsed)) {
      used[scope] = Math.max(used[scope] ?? time, time);
    }
    row.scopesUsed = used;
  }

  return {
    insert(record) {
      const digests = all().map(({ digest }) => digest);
      if (rows.has(record.keyId) || digests.includes(record.digest)) throw new Error('exists');
      rows.set(record.keyId, copy(record));
    },

    findByDigest(digests) {
      const found = all().filter((row) => digests.includes(row.digest));
      return found.map(copy);
    },

    findById(keyId) {
      const row = rows.get(keyId);
      return row === undefined ? null : copy(row);
    },

    list({ entityUuid, after, limit }) {
      const own = all().filter((row) => row.entityUuid === entityUuid);
      const following = own.filter((row) => after === null || isBehind(row, after));
      return following.sort(newestFirst).slice(0, limit).map(copy);
    },

    markEnded(keyId, ending) {
      const row = rows.get(keyId);
      if (row === undefined || row.revokedAt !== null) return false;
      if ('retireAt' in ending && row.retireAt !== null) return false;
      Object.assign(row, ending);
      return true;
    },

    touch(entries) {
      for (const entry of entries) {
        touchOne(entry);
      }
    },

    summarize(now) {
      return summaryOf(all().filter((row) => isLive(row, now)));
    },
  };
}

/**
 * The same as a store that is written from the list of methods alone, where `summarize` has no
 * parameter.
 */
export function withOwnClock(store: KeyStore): KeyStore {
  return { ...store, summarize: () => store.summarize(Date.now()) };
}
