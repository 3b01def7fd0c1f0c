/** A correct store in memory, over rows that wrong stores can access too. */
import type {
  ChangedKey,
  ChangedQuery,
  ExpiringQuery,
  KeyRecord,
  KeyStore,
  LineageQuery,
  ListPosition,
  ListQuery,
  Mark,
  SchemeSummary,
  Slice,
  SliceQuery,
  UsageEntry,
} from 'keyscope';
import { applyMark } from '../../../src/stores/marks.js';

/** A row, which the store may change. */
export type Row = { -readonly [Field in keyof KeyRecord]: KeyRecord[Field] };

/** The rows of a store by key id. */
export type Rows = Map<string, Row>;

/** A synchronous store. */
export interface SyncStore extends KeyStore {
  insert(record: KeyRecord): void;
  findByDigest(digests: readonly string[]): Row[];
  findById(keyId: string): Row | null;
  list(query: ListQuery): Row[];
  listLineage(query: LineageQuery): Row[];
  mark(keyId: string, mark: Mark): boolean;
  touch(entries: readonly UsageEntry[]): void;
  summarize(now?: number): SchemeSummary[];
  listExpiring(query: ExpiringQuery): Slice<Row>;
  listAll(query: SliceQuery): Slice<Row>;
  listChanged(query: ChangedQuery): ChangedKey[];
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

/** Whether a row belongs in a listing, ignoring the position. */
export function isAsked(row: KeyRecord, query: ListQuery): boolean {
  const { prefix, entityId, addressing = false } = query;
  const isOwn = row.entityId === entityId;
  const isNamed = row.accessibleEntities.includes(entityId);
  return row.prefix === prefix && isNamed && isOwn !== addressing;
}

/** Whether a row belongs to a lineage, ignoring the position. */
export function isOfLineage(row: KeyRecord, { rootKeyId }: LineageQuery): boolean {
  const isOne = row.rootKeyId === rootKeyId || row.issuedUnder === rootKeyId;
  return isOne && typeof rootKeyId === 'string';
}

/** Compares rows by key id, in the order of a lineage. */
export function byKeyId(one: KeyRecord, other: KeyRecord): number {
  return one.keyId < other.keyId ? -1 : 1;
}

/** Returns a part of sorted rows. `next` is the id of its last row if more rows follow. */
export function sliceOf(sorted: readonly Row[], { after, limit }: SliceQuery): Slice<Row> {
  const start = sorted.findIndex(({ keyId }) => keyId === after) + 1;
  const items = sorted.slice(start, start + limit).map(copy);
  const isLast = start + limit >= sorted.length;
  return { items, next: isLast ? null : (items.at(-1)?.keyId ?? null) };
}

/** Compares expiring keys by `expiresAt`, then by `keyId`. */
export function soonestFirst(one: KeyRecord, other: KeyRecord): number {
  const difference = Number(one.expiresAt) - Number(other.expiresAt);
  return difference || (one.keyId < other.keyId ? -1 : 1);
}

/** Whether a key expires in a span and is not revoked. */
export function isExpiring(
  { expiresAt, revokedAt }: KeyRecord,
  { from = Number.NEGATIVE_INFINITY, before }: ExpiringQuery,
): boolean {
  return revokedAt === null && expiresAt !== null && expiresAt >= from && expiresAt < before;
}

/** Compares marked keys by `changedAt`, then by `keyId`. */
function oldestFirst(one: ChangedKey, other: ChangedKey): number {
  const difference = one.changedAt - other.changedAt;
  return difference || (one.keyId < other.keyId ? -1 : 1);
}

/** Returns the marked rows, oldest change first. */
export function changedIn(rows: readonly Row[]): ChangedKey[] {
  const changed = rows.flatMap(({ keyId, changedAt }) =>
    changedAt === null ? [] : { keyId, changedAt },
  );
  return changed.sort(oldestFirst);
}

/** Whether a marked key comes after a position. Always true without a position. */
export function follows(key: ChangedKey, after: ChangedKey | null | undefined): boolean {
  return after === null || after === undefined || oldestFirst(after, key) < 0;
}

export function isLive(row: KeyRecord, now: number): boolean {
  const retired = row.retireAt !== null && row.retireAt <= now;
  const expired = row.expiresAt !== null && row.expiresAt <= now;
  return row.revokedAt === null && !retired && !expired;
}

/** Returns one row per digest scheme, counting all given records as live. */
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

    list(query) {
      const { after, limit } = query;
      const asked = all().filter((row) => isAsked(row, query));
      const following = asked.filter((row) => after === null || isBehind(row, after));
      return following.sort(newestFirst).slice(0, limit).map(copy);
    },

    listLineage(query) {
      const lineage = all().filter((row) => isOfLineage(row, query));
      const following = lineage.filter(({ keyId }) => query.after === null || keyId > query.after);
      return following.sort(byKeyId).slice(0, query.limit).map(copy);
    },

    mark(keyId, mark) {
      const row = rows.get(keyId);
      const marked = row === undefined ? null : applyMark(row, mark);
      if (row === undefined || marked === null) return false;
      Object.assign(row, structuredClone(marked));
      return true;
    },

    touch(entries) {
      for (const entry of entries) {
        touchOne(entry);
      }
    },

    summarize(now?: number) {
      return summaryOf(all().filter((row) => isLive(row, now ?? Date.now())));
    },

    listExpiring(query) {
      const expiring = all().filter((row) => isExpiring(row, query));
      return sliceOf(expiring.sort(soonestFirst), query);
    },

    listAll(query) {
      return sliceOf(all(), query);
    },

    listChanged({ since, after, limit }) {
      const changed = changedIn(all()).filter(({ changedAt }) => changedAt >= since);
      return changed.filter((key) => follows(key, after)).slice(0, limit);
    },
  };
}

/**
 * Returns the store with a `summarize` without a parameter, as its author might write it.
 */
export function withOwnClock(store: KeyStore): KeyStore {
  return { ...store, summarize: () => store.summarize?.(Date.now()) ?? [] };
}

/** Returns the store without the optional methods for reports. */
export function withoutReports(store: KeyStore): KeyStore {
  const { insert, findByDigest, findById, list, listLineage, mark, touch } = store;
  return { insert, findByDigest, findById, list, listLineage, mark, touch };
}
