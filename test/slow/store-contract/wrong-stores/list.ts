/** Stores whose `list` breaks a promise. */
import type { KeyRecord } from 'keyscope';
import { copy, isAsked, isBehind, newestFirst, type Row, type Rows } from '../right-store.ts';
import { lower, onTheWall, type Query, type WrongStores } from '../wrong-store.ts';

/** Returns all rows after the position, unsorted. */
function following(rows: Rows, { after }: Query): Row[] {
  return [...rows.values()].filter((row) => after === null || isBehind(row, after));
}

/** Returns the rows of these that belong in the listing. */
function askedFollowing(rows: Rows, query: Query): Row[] {
  return following(rows, query).filter((row) => isAsked(row, query));
}

export const WRONG_LISTS: WrongStores = {
  'list is not sorted': (_right, rows) => ({
    list: (query: Query) => askedFollowing(rows, query).slice(0, query.limit).map(copy),
  }),
  'list sorts the oldest first': (right) => ({
    list: (query: Query) => right.list(query).reverse(),
  }),
  'list does not sort ties': (_right, rows) => ({
    list: (query: Query) => {
      const found = askedFollowing(rows, query);
      const sorted = found.sort((one, other) => other.createdAt - one.createdAt);
      return sorted.slice(0, query.limit).map(copy);
    },
  }),
  'list sorts times as text': (_right, rows) => ({
    list: (query: Query) => {
      const textOf = ({ createdAt, keyId }: KeyRecord) => `${createdAt}${keyId}`;
      const found = askedFollowing(rows, query);
      const sorted = found.sort((one, other) => (textOf(one) < textOf(other) ? 1 : -1));
      return sorted.slice(0, query.limit).map(copy);
    },
  }),
  'list ignores after': (right) => ({
    list: (query: Query) => right.list({ ...query, after: null }),
  }),
  'list repeats the record of the position': (right, rows) => ({
    list: (query: Query) => {
      const found = right.list(query);
      const last = rows.get(query.after?.keyId ?? '');
      if (last !== undefined) found.unshift(copy(last));
      return found.slice(0, query.limit);
    },
  }),
  'list skips the rest of the position’s millisecond': (right) => ({
    list: (query: Query) =>
      right.list({ ...query, after: query.after && { ...query.after, keyId: '' } }),
  }),
  'list requires a record at the position': (right, rows) => ({
    list: (query: Query) => {
      const { after } = query;
      if (after === null) return right.list(query);
      const last = rows.get(after.keyId);
      return last?.createdAt === after.createdAt ? right.list(query) : [];
    },
  }),
  'list pages by page number': (right) => {
    const seen = new Map<string, number>();
    return {
      list: (query: Query) => {
        const from = query.after === null ? 0 : (seen.get(query.entityId) ?? 0);
        seen.set(query.entityId, from + query.limit);
        const found = right.list({ ...query, after: null, limit: from + query.limit });
        return found.slice(from);
      },
    };
  },
  'list searches its position among eight of a millisecond': (right, rows) => ({
    list: (query: Query) => {
      const { after } = query;
      if (after === null || !rows.has(after.keyId)) return right.list(query);
      const from = { createdAt: after.createdAt + 1, keyId: '' };
      const found = right.list({ ...query, after: from, limit: query.limit + 8 });
      return found.filter((row) => isBehind(row, after)).slice(0, query.limit);
    },
  }),
  'list sorts by local time': (right) => ({
    list: (query: Query) => {
      const wall = (row: KeyRecord) => ({ ...row, createdAt: onTheWall(row.createdAt) });
      return right.list(query).sort((one, other) => newestFirst(wall(one), wall(other)));
    },
  }),
  'list ignores the limit': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: 9999 }),
  }),
  'list stops at 10': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: Math.min(10, query.limit) }),
  }),
  'list stops at 60': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: Math.min(60, query.limit) }),
  }),
  'list stops at 100': (right) => ({
    list: (query: Query) => right.list({ ...query, limit: Math.min(100, query.limit) }),
  }),
  'list skips a record after 60': (right, rows) => ({
    list: (query: Query) => {
      const all = right.list({ ...query, after: null, limit: rows.size });
      const from = all.findIndex(({ keyId }) => keyId === query.after?.keyId) + 2;
      return all.length > 60 && from > 1 ? all.slice(from, from + query.limit) : right.list(query);
    },
  }),
  'list changes its query': (right) => ({
    list: (query: { limit: number } & Query) => {
      query.limit += 1;
      return right.list({ ...query, limit: query.limit - 1 });
    },
  }),
  'list omits ended keys': (right) => ({
    list: (query: Query) => right.list(query).filter((row) => row.revokedAt === null),
  }),
  'list omits suspended keys': (right) => ({
    list: (query: Query) => right.list(query).filter((row) => row.suspendedAt === null),
  }),
  'list omits expired keys': (right) => ({
    list: (query: Query) => right.list(query).filter((row) => row.expiresAt === null),
  }),
  'list returns keys that can address the entity': (_right, rows) => ({
    list: (query: Query) => {
      const { prefix, entityId } = query;
      const own = following(rows, query).filter((row) => row.prefix === prefix);
      const found = own.filter((row) => row.accessibleEntities.includes(entityId));
      return found.sort(newestFirst).slice(0, query.limit).map(copy);
    },
  }),
  'list mixes entities': (_right, rows) => ({
    list: (query: Query) =>
      following(rows, query).sort(newestFirst).slice(0, query.limit).map(copy),
  }),
  'list ignores case': (right) => ({
    list: (query: Query) => right.list({ ...query, entityId: lower(query.entityId) }),
  }),
};
