/** Stores whose listings over all entities break a promise. */
import type { ChangedKey, ChangedQuery, ExpiringQuery, KeyRecord, SliceQuery } from 'keyscope';
import {
  changedIn,
  follows,
  isExpiring,
  newestFirst,
  type Row,
  sliceOf,
  soonestFirst,
} from '../right-store.ts';
import { TIME, type WrongStore, type WrongStores } from '../wrong-store.ts';

/** Lists the rows for which `lists` holds. */
function listingAll(lists: (row: Row) => boolean): WrongStore {
  return (_right, rows) => ({
    listAll: (query: SliceQuery) => sliceOf([...rows.values()].filter(lists), query),
  });
}

const WRONG_ALL: WrongStores = {
  'listAll omits revoked keys': listingAll((row) => row.revokedAt === null),
  'listAll omits suspended keys': listingAll((row) => row.suspendedAt === null),
  'listAll omits expired keys': listingAll((row) => row.expiresAt === null),
  'listAll returns keys of one prefix': listingAll((row) => row.prefix !== 'other'),
  'listAll returns only the roots of lineages': listingAll((row) => row.rootKeyId === row.keyId),
  'listAll skips the last record': (_right, rows) => ({
    listAll: (query: SliceQuery) => sliceOf([...rows.values()].slice(0, -1), query),
  }),
  'listAll ignores the limit': (right) => ({
    listAll: (query: SliceQuery) => right.listAll({ ...query, limit: 1_000_000 }),
  }),
  'listAll ignores after': (right) => ({
    listAll: (query: SliceQuery) => right.listAll({ ...query, after: null }),
  }),
  'listAll ends after one part': (right) => ({
    listAll: (query: SliceQuery) => ({ ...right.listAll(query), next: null }),
  }),
  'listAll never ends': (right) => ({
    listAll: (query: SliceQuery) => {
      if (query.after === 'end') return { items: [], next: 'end' };
      const part = right.listAll(query);
      return { ...part, next: part.next ?? 'end' };
    },
  }),
  'listAll returns a position that is not text': (_right, rows) => ({
    listAll: ({ after, limit }: SliceQuery) => {
      const start = Number(after ?? 0);
      const all = [...rows.values()];
      const isLast = start + limit >= all.length;
      return { items: all.slice(start, start + limit), next: isLast ? null : start + limit };
    },
  }),
  'listAll pages by offset from the newest record': (_right, rows) => ({
    listAll: ({ after, limit }: SliceQuery) => {
      const start = Number(after ?? 0);
      const all = [...rows.values()].reverse();
      const isLast = start + limit >= all.length;
      const next = isLast ? null : String(start + limit);
      return { items: all.slice(start, start + limit), next };
    },
  }),
  'listAll returns the rows themselves': (right, rows) => ({
    listAll: (query: SliceQuery) => {
      const { items, next } = right.listAll(query);
      return { items: items.map(({ keyId }) => rows.get(keyId)), next };
    },
  }),
};

/** Lists expiring keys by a different rule. */
function listingExpiring(
  lists: (row: Row, query: ExpiringQuery) => boolean,
  order: (one: KeyRecord, other: KeyRecord) => number = soonestFirst,
): WrongStore {
  return (_right, rows) => ({
    listExpiring: (query: ExpiringQuery) => {
      const expiring = [...rows.values()].filter((row) => lists(row, query));
      return sliceOf(expiring.sort(order), query);
    },
  });
}

const WRONG_EXPIRING: WrongStores = {
  'listExpiring includes keys that expire at before': listingExpiring((row, query) =>
    isExpiring(row, { ...query, before: query.before + 1 }),
  ),
  'listExpiring omits the last millisecond': listingExpiring((row, query) =>
    isExpiring(row, { ...query, before: query.before - 1 }),
  ),
  'listExpiring ignores from': listingExpiring((row, query) =>
    isExpiring(row, { ...query, from: undefined }),
  ),
  'listExpiring omits keys that expire at from': listingExpiring((row, query) =>
    isExpiring(row, { ...query, from: (query.from ?? -9e15) + 1 }),
  ),
  'listExpiring includes the millisecond before from': listingExpiring((row, query) =>
    isExpiring(row, { ...query, from: (query.from ?? -9e15) - 1 }),
  ),
  'listExpiring returns revoked keys': listingExpiring((row, query) =>
    isExpiring({ ...row, revokedAt: null }, query),
  ),
  'listExpiring returns keys that never expire': listingExpiring(
    (row, query) => isExpiring(row, query) || row.expiresAt === null,
  ),
  'listExpiring omits suspended keys': listingExpiring(
    (row, query) => isExpiring(row, query) && row.suspendedAt === null,
  ),
  'listExpiring omits retired keys': listingExpiring(
    (row, query) => isExpiring(row, query) && row.retireAt === null,
  ),
  'listExpiring omits expired keys': listingExpiring(
    (row, query) => isExpiring(row, query) && Number(row.expiresAt) > TIME,
  ),
  'listExpiring returns keys of one prefix': listingExpiring(
    (row, query) => isExpiring(row, query) && !row.prefix.endsWith('x'),
  ),
  'listExpiring sorts by creation, newest first': listingExpiring(isExpiring, newestFirst),
  'listExpiring sorts the latest expiry first': listingExpiring(isExpiring, (one, other) =>
    soonestFirst(other, one),
  ),
  'listExpiring does not sort ties': listingExpiring(
    isExpiring,
    (one, other) => Number(one.expiresAt) - Number(other.expiresAt),
  ),
  'listExpiring ignores the limit': (right) => ({
    listExpiring: (query: ExpiringQuery) => right.listExpiring({ ...query, limit: 1_000_000 }),
  }),
  'listExpiring ends after one part': (right) => ({
    listExpiring: (query: ExpiringQuery) => ({ ...right.listExpiring(query), next: null }),
  }),
  'listExpiring skips the rest of a millisecond': (_right, rows) => ({
    listExpiring: (query: ExpiringQuery) => {
      const { after, limit } = query;
      const seen = after === null ? Number.NEGATIVE_INFINITY : Number(after);
      const expiring = [...rows.values()].filter((row) => isExpiring(row, query));
      const left = expiring.filter((row) => Number(row.expiresAt) > seen).sort(soonestFirst);
      const items = left.slice(0, limit);
      const next = left.length > limit ? String(items.at(-1)?.expiresAt) : null;
      return { items, next };
    },
  }),
  'listExpiring pages by offset': (_right, rows) => ({
    listExpiring: (query: ExpiringQuery) => {
      const { after, limit } = query;
      const start = Number(after ?? 0);
      const expiring = [...rows.values()].filter((row) => isExpiring(row, query));
      const sorted = expiring.sort(soonestFirst);
      const isLast = start + limit >= sorted.length;
      const next = isLast ? null : String(start + limit);
      return { items: sorted.slice(start, start + limit), next };
    },
  }),
  'insert keeps a rejected record in listExpiring': (right, rows) => {
    const left: KeyRecord[] = [];
    return {
      insert: (record: KeyRecord) => {
        if (rows.has(record.keyId)) left.push(structuredClone(record));
        right.insert(record);
      },
      listExpiring: (query: ExpiringQuery) => {
        const { items, next } = right.listExpiring(query);
        return { items: [...items, ...left], next };
      },
    };
  },
};

/** Returns a part that starts after the current row of the previous part's last key. */
function behindItsKey(sorted: readonly ChangedKey[], query: ChangedQuery): ChangedKey[] {
  const { since, after, limit } = query;
  const changed = sorted.filter(({ changedAt }) => changedAt >= since);
  const start = changed.findIndex(({ keyId }) => keyId === after?.keyId) + 1;
  return changed.slice(start, start + limit);
}

const WRONG_CHANGED: WrongStores = {
  'listChanged omits changes at since': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged({ ...query, since: query.since + 1 }),
  }),
  'listChanged includes the millisecond before since': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged({ ...query, since: query.since - 1 }),
  }),
  'listChanged sorts the newest first': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged(query).reverse(),
  }),
  'listChanged returns the newest changes up to its limit': (_right, rows) => ({
    listChanged: ({ since, limit }: ChangedQuery) => {
      const changed = changedIn([...rows.values()]).filter((each) => each.changedAt >= since);
      return changed.slice(-limit);
    },
  }),
  'listChanged ignores the limit': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged({ ...query, limit: 1_000_000 }),
  }),
  'listChanged ignores after': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged({ ...query, after: null }),
  }),
  'listChanged skips the rest of a millisecond': (right) => ({
    listChanged: ({ since, after, limit }: ChangedQuery) =>
      right.listChanged({ since: after ? after.changedAt + 1 : since, limit }),
  }),
  'listChanged repeats the last key of a part': (_right, rows) => ({
    listChanged: ({ since, after, limit }: ChangedQuery) => {
      const changed = changedIn([...rows.values()]).filter((each) => each.changedAt >= since);
      return changed.filter((each) => !after || !follows(after, each)).slice(0, limit);
    },
  }),
  'listChanged does not sort ties': (_right, rows) => ({
    listChanged: (query: ChangedQuery) => {
      const changed = changedIn([...rows.values()].sort(newestFirst)).reverse();
      const sorted = changed.sort((one, other) => one.changedAt - other.changedAt);
      return behindItsKey(sorted, query);
    },
  }),
  "listChanged continues after the key's current position": (_right, rows) => ({
    listChanged: (query: ChangedQuery) => behindItsKey(changedIn([...rows.values()]), query),
  }),
  'listChanged returns parts that are not full': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged(query).slice(0, query.limit - 1 || 1),
  }),
  'listChanged ignores since': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged({ ...query, since: -9e15 }),
  }),
  'listChanged returns revoked keys only': (right, rows) => ({
    listChanged: (query: ChangedQuery) =>
      right.listChanged(query).filter(({ keyId }) => rows.get(keyId)?.revokedAt !== null),
  }),
  'listChanged omits resumed keys': (right, rows) => ({
    listChanged: (query: ChangedQuery) =>
      right.listChanged(query).filter(({ keyId }) => rows.get(keyId)?.endedBy !== null),
  }),
  'listChanged returns keys without times': (right) => ({
    listChanged: (query: ChangedQuery) => right.listChanged(query).map(({ keyId }) => keyId),
  }),
  'listChanged returns times as text': (right) => ({
    listChanged: (query: ChangedQuery) =>
      right.listChanged(query).map((each) => ({ ...each, changedAt: String(each.changedAt) })),
  }),
  'listChanged returns a key once per mark': (right) => {
    const log: { keyId: string; changedAt: number }[] = [];
    return {
      mark: (...[keyId, mark]: Parameters<typeof right.mark>) => {
        const wrote = right.mark(keyId, mark);
        const changedAt = right.findById(keyId)?.changedAt ?? 0;
        if (wrote) log.push({ keyId, changedAt });
        return wrote;
      },
      listChanged: ({ since, limit }: ChangedQuery) => {
        const changed = log.filter((each) => each.changedAt >= since);
        return changed.sort((one, other) => one.changedAt - other.changedAt).slice(0, limit);
      },
    };
  },
};

export const WRONG_REPORTS: WrongStores = { ...WRONG_ALL, ...WRONG_EXPIRING, ...WRONG_CHANGED };
