/** Stores whose `insert` breaks a promise, or keeps what it was given. */
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
  'insert ignores a second key id in silence': (right, rows) => ({
    insert: (record: KeyRecord) => (rows.has(record.keyId) ? undefined : right.insert(record)),
  }),
  'insert takes a second digest': (_right, rows) => ({
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
  'insert throws but has written': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const digests = [...rows.values()].map(({ digest }) => digest);
      if (!digests.includes(record.digest)) return right.insert(record);
      rows.set(record.keyId, { ...copy(record), digest: `${record.digest}-second` });
      throw new Error('exists');
    },
  }),
  'insert looks first and writes later': (right, rows) => ({
    insert: async (record: KeyRecord) => {
      if (right.findByDigest([record.digest]).length > 0) throw new Error('exists');
      if (rows.has(record.keyId)) throw new Error('exists');
      await tick();
      rows.set(record.keyId, copy(record));
    },
  }),
  'insert answers before it has written': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      setImmediate(() => rows.set(record.keyId, copy(record)));
    },
  }),
  'insert loses all but one of parallel writes': (_right, rows) => ({
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
  'insert refuses a digest that differs by trailing spaces': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const taken = [...rows.values()].map(({ digest }) => digest.trimEnd());
      if (taken.includes(record.digest.trimEnd())) throw new Error('exists');
      return right.insert(record);
    },
  }),
  'insert refuses a digest that differs by case': (right, rows) => ({
    insert: (record: KeyRecord) => {
      const taken = [...rows.values()].map(({ digest }) => lower(digest));
      if (taken.includes(lower(record.digest))) throw new Error('exists');
      return right.insert(record);
    },
  }),
  'insert cuts what is longer than 65,535 characters': (right) => ({
    insert: (record: KeyRecord) => right.insert({ ...record, name: record.name.slice(0, 65_535) }),
  }),
  'insert cuts a digest at 96 characters': (right) => ({
    insert: (record: KeyRecord) => right.insert({ ...record, digest: record.digest.slice(0, 96) }),
  }),
  'insert refuses a digest of more than 96 characters': (right) => ({
    insert: (record: KeyRecord) => {
      if (record.digest.length > 96) throw new Error('too long');
      return right.insert(record);
    },
  }),
  'insert spends the key id of what it refuses': (right) => {
    const spent = new Set<string>();
    return {
      insert: (record: KeyRecord) => {
        if (spent.has(record.keyId)) throw new Error('exists');
        spent.add(record.keyId);
        return right.insert(record);
      },
    };
  },
  'insert spends the digest of what it refuses': (right) => {
    const spent = new Set<string>();
    return {
      insert: (record: KeyRecord) => {
        if (spent.has(record.digest)) throw new Error('exists');
        spent.add(record.digest);
        return right.insert(record);
      },
    };
  },
  'insert sorts the lists it is given': (right) => ({
    insert: (record: { scopes: string[] } & KeyRecord) => {
      right.insert(record);
      record.scopes.sort();
    },
  }),
  'insert cuts text at NUL': (right) => ({
    insert: (record: KeyRecord) =>
      right.insert({ ...record, name: record.name.split('\0')[0] ?? '' }),
  }),
  'insert throws at a NUL but has written': (right) => ({
    insert: (record: KeyRecord) => {
      right.insert(record);
      if (record.name.includes('\0')) throw new Error('NUL');
    },
  }),
  'insert rebuilds the listing, which is empty meanwhile': (right) => {
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
  'insert keeps the object it was given': (_right, rows) => ({
    insert: (record: KeyRecord) => {
      rows.set(record.keyId, record);
    },
  }),
  'answers are the rows themselves': (_right, rows) => ({
    findById: (keyId: string) => rows.get(keyId) ?? null,
    findByDigest: (digests: readonly string[]) =>
      [...rows.values()].filter((row) => digests.includes(row.digest)),
  }),
};
