/** Stores whose `list` breaks a promise about prefixes, or about keys that address an entity. */
import { copy, isAsked, isBehind, newestFirst, type Row, type Rows } from '../right-store.ts';
import { lower, type Query, tick, type WrongStore, type WrongStores } from '../wrong-store.ts';

/** Lists keys by a different rule. */
function listing(asks: (row: Row, query: Query) => boolean): WrongStore {
  return (_right, rows) => ({ list: (query: Query) => listWhere(rows, query, asks) });
}

function listWhere(
  rows: Rows,
  query: Query,
  asks: (row: Row, query: Query) => boolean,
): readonly Row[] {
  const { after, limit } = query;
  const asked = [...rows.values()].filter((row) => asks(row, query));
  const following = asked.filter((row) => after === null || isBehind(row, after));
  return following.sort(newestFirst).slice(0, limit).map(copy);
}

/** Does the same for `addressing` only, and lists own keys correctly. */
function listingOthers(asks: (row: Row, query: Query) => boolean): WrongStore {
  return listing((row, query) => (query.addressing ? asks(row, query) : isAsked(row, query)));
}

function addresses(row: Row, { prefix, entityId }: Query): boolean {
  return row.prefix === prefix && row.accessibleEntities.includes(entityId);
}

/** Lists the keys that address an entity, without some rows. */
function leavingOut(isLeftOut: (row: Row, query: Query) => boolean): WrongStore {
  return listingOthers((row, query) => isAsked(row, query) && !isLeftOut(row, query));
}

const WRONG_PREFIXES: WrongStores = {
  'list ignores the prefix': listing((row, query) =>
    isAsked(row, { ...query, prefix: row.prefix }),
  ),
  'list with addressing ignores the prefix': listingOthers((row, query) =>
    isAsked(row, { ...query, prefix: row.prefix }),
  ),
  'list compares only the beginning of a prefix': listing((row, query) =>
    isAsked({ ...row, prefix: row.prefix.slice(0, query.prefix.length) }, query),
  ),
  'list treats a prefix as a pattern': listing((row, query) => {
    const pattern = new RegExp(`^${query.prefix.replaceAll('_', '.')}$`);
    return pattern.test(row.prefix) && isAsked(row, { ...query, prefix: row.prefix });
  }),
  'list limits the records of all prefixes before filtering': (_right, rows) => ({
    list: (query: Query) => {
      const anyPrefix = (row: Row) => isAsked(row, { ...query, prefix: row.prefix });
      const all = listWhere(rows, { ...query, limit: query.limit }, anyPrefix);
      return all.filter((row) => row.prefix === query.prefix);
    },
  }),
};

const WRONG_ADDRESSES: WrongStores = {
  'list with addressing returns own keys': listingOthers((row, query) =>
    isAsked(row, { ...query, addressing: false }),
  ),
  'list with addressing returns own keys as well': listingOthers(addresses),
  'list with addressing returns own keys that address others as well': listingOthers(
    (row, query) => {
      const reachesFurther = row.accessibleEntities.length > 1;
      const isOwn = row.entityId === query.entityId;
      return addresses(row, query) && (!isOwn || reachesFurther);
    },
  ),
  'list with addressing false returns nothing': (right) => ({
    list: (query: Query) => right.list({ ...query, addressing: query.addressing !== undefined }),
  }),
  'list with addressing omits keys from which the entity withdrew': leavingOut((row, query) =>
    row.withdrawn.includes(query.entityId),
  ),
  'list with addressing omits keys from which any entity withdrew': leavingOut(
    (row) => row.withdrawn.length > 0,
  ),
  'list with addressing omits revoked keys': leavingOut((row) => row.revokedAt !== null),
  'list with addressing omits suspended keys': leavingOut((row) => row.suspendedAt !== null),
  'list with addressing omits retired keys': leavingOut((row) => row.retireAt !== null),
  'list with addressing omits expired keys': leavingOut((row) => row.expiresAt !== null),
  'list with addressing reads only the last entity': leavingOut(
    (row, query) => row.accessibleEntities.at(-1) !== query.entityId,
  ),
  'list with addressing reads only the first entity of others': leavingOut((row, query) => {
    const others = row.accessibleEntities.filter((entity) => entity !== row.entityId);
    return others[0] !== query.entityId;
  }),
  'list with addressing reads 500 entities': leavingOut(
    (row, query) => row.accessibleEntities.indexOf(query.entityId) >= 500,
  ),
  'list with addressing reads 999 entities': leavingOut(
    (row, query) => row.accessibleEntities.indexOf(query.entityId) >= 999,
  ),
  'list with addressing searches the list as text': listingOthers((row, query) => {
    const text = JSON.stringify(row.accessibleEntities);
    const isOwn = row.entityId === query.entityId;
    return row.prefix === query.prefix && !isOwn && text.includes(String(query.entityId));
  }),
  'list with addressing ignores case': (right) => ({
    list: (query: Query) =>
      right.list(query.addressing ? { ...query, entityId: lower(query.entityId) } : query),
  }),
  'list with addressing ignores after': (right) => ({
    list: (query: Query) => right.list(query.addressing ? { ...query, after: null } : query),
  }),
  'list with addressing skips the rest of a millisecond': (right) => ({
    list: (query: Query) => {
      if (!query.addressing || query.after === null) return right.list(query);
      return right.list({ ...query, after: { ...query.after, keyId: '' } });
    },
  }),
  'list with addressing limits all keys before omitting own ones': (_right, rows) => ({
    list: (query: Query) => {
      if (!query.addressing) return listWhere(rows, query, isAsked);
      const all = listWhere(rows, query, addresses);
      return all.filter((row) => row.entityId !== query.entityId);
    },
  }),
  'list with addressing ignores the limit': (right) => ({
    list: (query: Query) => right.list(query.addressing ? { ...query, limit: 9999 } : query),
  }),
  'list with addressing returns the rows themselves': (right, rows) => ({
    list: (query: Query) => {
      const found = right.list(query);
      return query.addressing ? found.map(({ keyId }) => rows.get(keyId)) : found;
    },
  }),
};

/** Stores whose index entries are written a turn after the record, or kept for a rejected one. */
const WRONG_ENTRIES: WrongStores = {
  'insert writes the index of entities after the record': (right) => {
    const pending = new Set<string>();
    return {
      insert: async (record: Row) => {
        right.insert(record);
        pending.add(record.keyId);
        await tick();
        pending.delete(record.keyId);
      },
      list: (query: Query) => {
        const found = right.list(query);
        return query.addressing ? found.filter(({ keyId }) => !pending.has(keyId)) : found;
      },
    };
  },
  'insert writes the index of the listing after the record': (right) => {
    const pending = new Set<string>();
    return {
      insert: async (record: Row) => {
        right.insert(record);
        pending.add(record.keyId);
        await tick();
        pending.delete(record.keyId);
      },
      list: (query: Query) => right.list(query).filter(({ keyId }) => !pending.has(keyId)),
    };
  },
  'insert keeps the index entries of a rejected record': (right, rows) => {
    const left: Row[] = [];
    return {
      insert: (record: Row) => {
        if (rows.has(record.keyId)) left.push(copy(record));
        right.insert(record);
      },
      list: (query: Query) => [
        ...right.list(query),
        ...left.filter((row) => query.addressing && isAsked(row, query)),
      ],
    };
  },
};

export const WRONG_ADDRESSINGS: WrongStores = {
  ...WRONG_PREFIXES,
  ...WRONG_ADDRESSES,
  ...WRONG_ENTRIES,
};
