/** Stores whose `listLineage` breaks a promise. */
import type { LineageQuery } from 'keyscope';
import { byKeyId, copy, isOfLineage, newestFirst, type Row } from '../right-store.ts';
import { lower, tick, type WrongStore, type WrongStores } from '../wrong-store.ts';

type ByQuery = (query: LineageQuery) => LineageQuery;

/** Lists the lineage of a different query. */
function asking(change: ByQuery): WrongStore {
  return (right) => ({ listLineage: (query: LineageQuery) => right.listLineage(change(query)) });
}

/** Lists a lineage that contains other rows. */
function containing(isOne: (row: Row, query: LineageQuery, root: Row | undefined) => boolean) {
  const wrong: WrongStore = (_right, rows) => ({
    listLineage: (query: LineageQuery) => {
      const root = rows.get(query.rootKeyId);
      return partOf(
        [...rows.values()].filter((row) => isOne(row, query, root)),
        query,
      );
    },
  });
  return wrong;
}

/** Lists the lineage without some rows. */
function leavingOut(isLeftOut: (row: Row, root: Row | undefined) => boolean): WrongStore {
  return containing((row, query, root) => isOfLineage(row, query) && !isLeftOut(row, root));
}

/** Returns the rows of a part, as a correct store would. */
function partOf(rows: readonly Row[], { after, limit }: LineageQuery): readonly Row[] {
  const following = rows.filter(({ keyId }) => after === null || keyId > after);
  return following.sort(byKeyId).slice(0, limit).map(copy);
}

/** Lists the rotations and the issued keys separately, and joins the two. */
function joining(
  join: (rotated: readonly Row[], issued: readonly Row[], query: LineageQuery) => readonly Row[],
): WrongStore {
  return (_right, rows) => ({
    listLineage: (query: LineageQuery) => {
      const all = [...rows.values()];
      const rotated = all.filter(({ rootKeyId }) => rootKeyId === query.rootKeyId);
      const issued = all.filter(({ issuedUnder }) => issuedUnder === query.rootKeyId);
      return join(partOf(rotated, query), partOf(issued, query), query);
    },
  });
}

/** Returns each row once, by key id. */
function merged(rows: readonly Row[]): readonly Row[] {
  const unique = new Map(rows.map((row) => [row.keyId, row]));
  return [...unique.values()].sort(byKeyId);
}

/** Sorts the whole lineage in another way, and then cuts the part out of it. */
function sortedBy(compare: (one: Row, other: Row) => number): WrongStore {
  return (right) => ({
    listLineage: (query: LineageQuery) => {
      const whole = right.listLineage({ ...query, after: null, limit: 1000 }).sort(compare);
      const start = whole.findIndex(({ keyId }) => keyId === query.after) + 1;
      return whole.slice(start, start + query.limit);
    },
  });
}

/** Wrong stores that return other keys than those of the lineage. */
const WRONG_KEYS: WrongStores = {
  'listLineage returns only the root': leavingOut((row) => row.keyId !== row.rootKeyId),
  'listLineage omits the root': leavingOut((row) => row.keyId === row.rootKeyId),
  'listLineage omits keys issued under the root': leavingOut(
    (row, root) => row.rootKeyId !== root?.rootKeyId,
  ),
  'listLineage omits rotations of keys issued under the root': leavingOut(
    (row, root) => row.rootKeyId !== root?.rootKeyId && row.keyId !== row.rootKeyId,
  ),
  'listLineage includes grandchildren': (right, rows) => ({
    listLineage: (query: LineageQuery) => {
      const whole = right.listLineage({ ...query, after: null, limit: 1000 });
      const roots = new Set<unknown>(whole.map((row) => row.rootKeyId));
      const isOne = (row: Row) => isOfLineage(row, query) || roots.has(row.issuedUnder);
      return partOf([...rows.values()].filter(isOne), query);
    },
  }),
  'listLineage omits revoked keys': leavingOut((row) => row.revokedAt !== null),
  'listLineage omits retired keys': leavingOut((row) => row.retireAt !== null),
  'listLineage omits suspended keys': leavingOut((row) => row.suspendedAt !== null),
  'listLineage omits expired keys': leavingOut((row) => row.expiresAt !== null),
  'listLineage returns keys of one prefix': leavingOut(
    (row, root) => root !== undefined && row.prefix !== root.prefix,
  ),
  'listLineage follows rotatedFrom': containing((row, { rootKeyId }) =>
    [row.keyId, row.rotatedFrom].includes(rootKeyId),
  ),
  'listLineage also follows rotatedFrom': containing((row, { rootKeyId }) =>
    [row.rootKeyId, row.issuedUnder, row.rotatedFrom].includes(rootKeyId),
  ),
  'listLineage accepts any key of the lineage': (right, rows) => ({
    listLineage: (query: LineageQuery) => {
      const { rootKeyId = query.rootKeyId } = rows.get(query.rootKeyId) ?? {};
      return right.listLineage({ ...query, rootKeyId });
    },
  }),
  'listLineage ignores case': asking((query) => ({ ...query, rootKeyId: lower(query.rootKeyId) })),
  'listLineage throws on an unknown root': (right) => ({
    listLineage: (query: LineageQuery) => {
      const found = right.listLineage(query);
      if (found.length === 0) throw new Error('none');
      return found;
    },
  }),
};

/** Wrong stores that return the wrong part of the lineage. */
const WRONG_PARTS: WrongStores = {
  'listLineage ignores after': asking((query) => ({ ...query, after: null })),
  'listLineage ignores after if no key has this id': (right, rows) => ({
    listLineage: ({ after, ...query }: LineageQuery) =>
      right.listLineage({ ...query, after: rows.has(after ?? '') ? after : null }),
  }),
  'listLineage returns nothing after an id of another lineage': (right, rows) => ({
    listLineage: (query: LineageQuery) => {
      const last = rows.get(query.after ?? '');
      const isStranger = query.after !== null && (!last || !isOfLineage(last, query));
      return isStranger ? [] : right.listLineage(query);
    },
  }),
  'listLineage repeats the key after': (right, rows) => ({
    listLineage: (query: LineageQuery) => {
      const last = [...rows.values()].filter(
        (row) => row.keyId === query.after && isOfLineage(row, query),
      );
      return [...last.map(copy), ...right.listLineage(query)].slice(0, query.limit);
    },
  }),
  'listLineage skips a key after each part': (right) => ({
    listLineage: (query: LineageQuery) =>
      right.listLineage({ ...query, limit: query.limit + 1 }).slice(query.after === null ? 0 : 1),
  }),
  'listLineage ignores the limit': asking((query) => ({ ...query, limit: 1_000_000 })),
  'listLineage returns one key more than the limit': asking((query) => ({
    ...query,
    limit: query.limit + 1,
  })),
  'listLineage returns one key fewer than the limit': asking((query) => ({
    ...query,
    limit: Math.max(query.limit - 1, 1),
  })),
  'listLineage returns at most 100 keys': asking((query) => ({
    ...query,
    limit: Math.min(query.limit, 100),
  })),
  'listLineage limits rotations and issued keys separately': joining((rotated, issued) =>
    merged([...rotated, ...issued]),
  ),
  'listLineage returns rotations before issued keys': joining((rotated, issued, { limit }) =>
    [...new Map([...rotated, ...issued].map((row) => [row.keyId, row])).values()].slice(0, limit),
  ),
  'listLineage fills a part with rotations first': joining((rotated, issued, { limit }) => {
    const kept = new Map([...rotated, ...issued].map((row) => [row.keyId, row]));
    return [...kept.values()].slice(0, limit).sort(byKeyId);
  }),
  'listLineage returns a key that belongs to it twice two times': joining(
    (rotated, issued, { limit }) => [...rotated, ...issued].sort(byKeyId).slice(0, limit),
  ),
  'listLineage returns a short part for a key that belongs to it twice': joining(
    (rotated, issued, { limit }) => merged([...rotated, ...issued].sort(byKeyId).slice(0, limit)),
  ),
  'listLineage returns the keys of a part in reverse': (right) => ({
    listLineage: (query: LineageQuery) => right.listLineage(query).reverse(),
  }),
  'listLineage sorts by key id, descending': sortedBy((one, other) => byKeyId(other, one)),
  'listLineage sorts the newest key first': sortedBy(newestFirst),
  'listLineage sorts the oldest key first': sortedBy((one, other) => newestFirst(other, one)),
  'listLineage sorts by digest': sortedBy((one, other) => (one.digest < other.digest ? -1 : 1)),
};

/** Wrong stores that return an old lineage, or their own rows. */
const WRONG_ANSWERS: WrongStores = {
  'listLineage returns a stale copy': (right) => {
    const seen = new Map<string, readonly Row[]>();
    return {
      listLineage: (query: LineageQuery) => {
        const known = seen.get(JSON.stringify(query)) ?? right.listLineage(query);
        seen.set(JSON.stringify(query), known);
        return known;
      },
    };
  },
  'listLineage joins a running listing': (right) => {
    const under = new Map<string, Promise<readonly Row[]>>();
    const send = async (query: LineageQuery) => {
      const found = right.listLineage(query);
      await tick();
      under.delete(query.rootKeyId);
      return found;
    };
    return {
      insert: async (record: Row) => {
        await tick();
        right.insert(record);
      },
      listLineage: (query: LineageQuery) => {
        const sent = under.get(query.rootKeyId) ?? send(query);
        under.set(query.rootKeyId, sent);
        return sent;
      },
    };
  },
  'listLineage returns the rows themselves': (right, rows) => ({
    listLineage: (query: LineageQuery) =>
      right.listLineage(query).map(({ keyId }) => rows.get(keyId)),
  }),
  'listLineage writes to its query': (right) => ({
    listLineage: (query: { after: string | null } & LineageQuery) => {
      query.after ??= '';
      return right.listLineage(query);
    },
  }),
};

export const WRONG_LINEAGES: WrongStores = { ...WRONG_KEYS, ...WRONG_PARTS, ...WRONG_ANSWERS };
