/** Stores that mishandle the options, or an aborted signal. */
import type { CallOptions, KeyRecord, LineageQuery, Mark } from 'keyscope';
import { copy, isAsked, type Row } from '../right-store.ts';
import { type Entries, type Query, tick, type WrongStores } from '../wrong-store.ts';

function isAborted(options?: CallOptions): boolean {
  return options?.signal?.aborted === true;
}

export const WRONG_OPTIONS: WrongStores = {
  'findById requires a signal': (right) => ({
    findById: (keyId: string, options?: CallOptions) => {
      if (options?.signal === undefined) throw new Error('no signal');
      return right.findById(keyId);
    },
  }),
  'findById requires a signal in options': (right) => ({
    findById: (keyId: string, options?: CallOptions) => {
      if (options !== undefined && options.signal === undefined) throw new Error('no signal');
      return right.findById(keyId);
    },
  }),
  'findById treats a call with options as unknown': (right) => ({
    findById: (keyId: string, ...others: unknown[]) =>
      others.length > 0 && others[0] !== undefined ? null : right.findById(keyId),
  }),
  'findByDigest throws on fresh': (right) => ({
    findByDigest: (digests: readonly string[], options?: CallOptions) => {
      if (options?.fresh === true) throw new Error('not implemented');
      return right.findByDigest(digests);
    },
  }),
  'findByDigest returns nothing when aborted': (right) => ({
    findByDigest: (digests: readonly string[], options?: CallOptions) =>
      isAborted(options) ? [] : right.findByDigest(digests),
  }),
  'findById returns nothing when aborted during the call': (right) => ({
    findById: async (keyId: string, options?: CallOptions) => {
      if (options?.signal !== undefined) await tick();
      return isAborted(options) ? null : right.findById(keyId);
    },
  }),
  'list returns nothing when aborted': (right) => ({
    list: (query: Query, options?: CallOptions) => (isAborted(options) ? [] : right.list(query)),
  }),
  'list treats options as addressing': (right) => ({
    list: (query: Query, ...others: unknown[]) =>
      right.list({ ...query, addressing: query.addressing || others[0] !== undefined }),
  }),
  'listLineage returns nothing when aborted': (right) => ({
    listLineage: (query: LineageQuery, options?: CallOptions) =>
      isAborted(options) ? [] : right.listLineage(query),
  }),
  'insert succeeds without writing when aborted': (right) => ({
    insert: (record: KeyRecord, options?: CallOptions) =>
      isAborted(options) ? undefined : right.insert(record),
  }),
  'insert writes half when aborted': (right) => {
    const halves: Row[] = [];
    return {
      insert: (record: KeyRecord, options?: CallOptions) => {
        if (!isAborted(options)) return right.insert(record);
        halves.push(copy(record));
        throw new Error('aborted');
      },
      list: (query: Query) => [
        ...right.list(query),
        ...halves.filter((row) => isAsked(row, query)),
      ],
    };
  },
  'insert stops between its two writes when aborted': (right) => {
    const unlisted = new Set<string>();
    return {
      insert: async (record: KeyRecord, options?: CallOptions) => {
        right.insert(record);
        unlisted.add(record.keyId);
        await tick();
        if (isAborted(options)) throw new Error('aborted');
        unlisted.delete(record.keyId);
      },
      list: (query: Query) => right.list(query).filter(({ keyId }) => !unlisted.has(keyId)),
    };
  },
  'insert throws on options': (right) => ({
    insert: (record: KeyRecord, options?: CallOptions) => {
      if (options !== undefined) throw new Error('too many arguments');
      return right.insert(record);
    },
  }),
  'mark returns true when aborted without writing': (right) => ({
    mark: (keyId: string, mark: Mark, options?: CallOptions) =>
      isAborted(options) ? true : right.mark(keyId, mark),
  }),
  'mark returns false when aborted': (right) => ({
    mark: (keyId: string, mark: Mark, options?: CallOptions) =>
      isAborted(options) ? false : right.mark(keyId, mark),
  }),
  'mark writes half when aborted': (right, rows) => ({
    mark: (keyId: string, mark: Mark, options?: CallOptions) => {
      if (!isAborted(options)) return right.mark(keyId, mark);
      const row = rows.get(keyId);
      if (row !== undefined) row.revokedAt = mark.at;
      throw new Error('aborted');
    },
  }),
  'touch succeeds without writing when aborted': (right) => ({
    touch: (entries: Entries, options?: CallOptions) =>
      isAborted(options) ? undefined : right.touch(entries),
  }),
  'touch writes half when aborted': (right, rows) => ({
    touch: (entries: Entries, options?: CallOptions) => {
      if (!isAborted(options)) return right.touch(entries);
      for (const { keyId, lastUsedAt } of entries) {
        Object.assign(rows.get(keyId) ?? {}, { lastUsedAt });
      }
      throw new Error('aborted');
    },
  }),
  'summarize treats options as a time': (right) => ({
    summarize: (now: number, ...others: unknown[]) =>
      others.length > 0 ? [] : right.summarize(now),
  }),
};
