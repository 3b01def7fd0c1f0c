/** Stores whose `insert` breaks a promise, or that share objects with callers. */
import type { KeyRecord } from 'keyscope';
import { copy } from '../right-store.ts';
import { lower, type Query, tick, type WrongStores } from '../wrong-store.ts';

export const WRONG_INSERTS: WrongStores = {
  'insert overwrites a key id': (right, rows) => ({
    insert: (record: KeyRecord) => {
      rows.delete(record.keyId);
      return right.insert(record);
    },
  }),
  'insert silently ignores a duplicate key id': (right, rows) => ({
    insert: (record: KeyRecord) => (rows.has(record.keyId) ? undefined : right.insert(record)),
  }),
  'insert accepts a duplicate digest': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      if (rows.has(record.keyId)) throw new Error('exists');
      rows.set(record.keyId, copy(record));
    },
  }),
  'insert replaces the row with the same digest': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const same = [...rows.values()].find((row) => row.digest === record.digest);
      if (same !== undefined) rows.delete(same.keyId);
      return right.insert(record);
    },
  }),
  'insert writes and then throws': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const digests = [...rows.values()].map(({ digest }) => digest);
      if (!digests.includes(record.digest)) return right.insert(record);
      rows.set(record.keyId, { ...copy(record), digest: `${record.digest}-second` });
      throw new Error('exists');
    },
  }),
  'insert checks first and writes later': (right, rows) => ({
    insert: async (record: KeyRecord) => {
      if (right.findByDigest([record.digest]).length > 0) throw new Error('exists');
      if (rows.has(record.keyId)) throw new Error('exists');
      await tick();
      rows.set(record.keyId, copy(record));
    },
  }),
  'insert returns before it writes': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      setImmediate(() => rows.set(record.keyId, copy(record)));
    },
  }),
  'insert keeps only one of parallel writes': (_right, rows) => ({
    insert: async (record: KeyRecord) => {
      const before = new Map(rows);
      await tick();
      rows.clear();
      for (const row of before.values()) {
        rows.set(row.keyId, row);
      }
      rows.set(record.keyId, copy(record));
    },
  }),
  'insert rejects a digest that differs in trailing spaces': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const taken = [...rows.values()].map(({ digest }) => digest.trimEnd());
      if (taken.includes(record.digest.trimEnd())) throw new Error('exists');
      return right.insert(record);
    },
  }),
  'insert rejects a digest that differs in case': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const taken = [...rows.values()].map(({ digest }) => lower(digest));
      if (taken.includes(lower(record.digest))) throw new Error('exists');
      return right.insert(record);
    },
  }),
  'insert cuts texts at 65,535 characters': (right) => ({
    insert: (record: KeyRecord) => right.insert({ ...record, name: record.name.slice(0, 65_535) }),
  }),
  'insert cuts a digest at 96 characters': (right) => ({
    insert: (record: KeyRecord) => right.insert({ ...record, digest: record.digest.slice(0, 96) }),
  }),
  'insert rejects a digest of more than 96 characters': (right) => ({
    insert: (record: KeyRecord) => {
      if (record.digest.length > 96) throw new Error('too long');
      return right.insert(record);
    },
  }),
  'insert reserves the key id of a rejected record': (right) => {
    const spent = new Set<string>();
    return {
      insert: (record: KeyRecord) => {
        if (spent.has(record.keyId)) throw new Error('exists');
        spent.add(record.keyId);
        return right.insert(record);
      },
    };
  },
  'insert reserves the digest of a rejected record': (right) => {
    const spent = new Set<string>();
    return {
      insert: (record: KeyRecord) => {
        if (spent.has(record.digest)) throw new Error('exists');
        spent.add(record.digest);
        return right.insert(record);
      },
    };
  },
  'insert sorts the given lists': (right) => ({
    insert: (record: { scopes: string[] } & KeyRecord) => {
      right.insert(record);
      record.scopes.sort();
    },
  }),
  'insert cuts text at NUL': (right) => ({
    insert: (record: KeyRecord) =>
      right.insert({ ...record, name: record.name.split('\0')[0] ?? '' }),
  }),
  'insert writes a text with NUL and then throws': (right) => ({
    insert: (record: KeyRecord) => {
      right.insert(record);
      if (record.name.includes('\0')) throw new Error('NUL');
    },
  }),
  'insert empties the listing while it rebuilds it': (right) => {
    let rebuilding = 0;
    return {
      insert: async (record: KeyRecord) => {
        rebuilding += 1;
        right.insert(record);
        await tick();
        rebuilding -= 1;
      },
      list: async (query: Query) =>
        rebuilding > 0 && query.after !== null ? [] : right.list(query),
    };
  },
  'insert keeps the given object': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      rows.set(record.keyId, record);
    },
  }),
  'look-ups return the rows themselves': (_right, rows) => ({
    findById: (keyId: string) => rows.get(keyId) ?? null,
    findByDigest: (digests: readonly string[]) =>
      [...rows.values()].filter((row) => digests.includes(row.digest)),
  }),
};
