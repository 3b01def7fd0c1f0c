/** Stores whose `findByDigest` or `findById` breaks a promise. */
import { copy, type Row, type Rows } from '../right-store.ts';
import { lower, tick, type WrongStores } from '../wrong-store.ts';

/** Returns copies of the rows for which `matches` holds. */
function findWhere(rows: Rows, matches: (row: Row) => boolean): Row[] {
  return [...rows.values()].filter(matches).map(copy);
}

/** Changes the texts, and replaces other values by a text that matches nothing. */
function changedTexts(values: readonly unknown[], change: (text: string) => string): string[] {
  return values.map((value) => (typeof value === 'string' ? change(value) : 'none'));
}

export const WRONG_LOOK_UPS: WrongStores = {
  'findByDigest ignores case': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      findWhere(rows, (row) => digests.map(lower).includes(lower(row.digest))),
  }),
  'findByDigest ignores trailing spaces': (right) => ({
    findByDigest: (digests: unknown[]) =>
      right.findByDigest(digests.map((digest) => String(digest).trimEnd())),
  }),
  'findByDigest stops at NUL': (right) => ({
    findByDigest: (digests: unknown[]) =>
      right.findByDigest(changedTexts(digests, (digest) => digest.replace(/\0.*$/s, ''))),
  }),
  'findByDigest compares a prefix': (_right, rows) => ({
    findByDigest: (digests: unknown[]) => {
      const texts = changedTexts(digests, (digest) => digest).filter((digest) => digest !== '');
      return findWhere(rows, (row) => texts.some((digest) => row.digest.startsWith(digest)));
    },
  }),
  'findByDigest finds half a surrogate pair': (right) => ({
    findByDigest: (digests: unknown[]) =>
      right.findByDigest(changedTexts(digests, (digest) => digest.replace(/\p{Cs}/gu, ''))),
  }),
  'findByDigest evaluates a condition': (_right, rows) => ({
    findByDigest: (digests: unknown[]) => {
      const isTrue = digests.some((digest) => String(digest).includes('OR 1=1'));
      return findWhere(rows, (row) => isTrue || digests.includes(row.digest));
    },
  }),
  'findByDigest returns a whole batch to each caller': (right) => {
    let batch: string[] = [];
    return {
      findByDigest: async (digests: string[]) => {
        batch.push(...digests);
        await tick();
        const found = right.findByDigest([...new Set(batch)]);
        await tick();
        batch = [];
        return found;
      },
    };
  },
  'findByDigest binds the digests of the latest call': (right) => {
    let bound: string[] = [];
    return {
      findByDigest: async (digests: string[]) => {
        bound = digests;
        await tick();
        return right.findByDigest(bound);
      },
    };
  },
  'findByDigest joins a running look-up': (right) => {
    const under = new Map<string, Promise<unknown>>();
    return {
      findByDigest: async (digests: string[]) => {
        const name = digests.join();
        const send = async () => {
          const found = right.findByDigest(digests);
          await tick();
          under.delete(name);
          return found;
        };
        if (!under.has(name)) under.set(name, send());
        return under.get(name);
      },
    };
  },
  'findByDigest accepts patterns': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      findWhere(rows, (row) => digests.includes(row.digest) || digests.includes('%')),
  }),
  'findByDigest compares with == to a number': (_right, rows) => ({
    findByDigest: (digests: unknown[]) =>
      findWhere(rows, (row) => digests.includes(row.digest) || digests.includes(0)),
  }),
  'findByDigest flattens lists': (right) => ({
    findByDigest: (digests: string[][]) => right.findByDigest(digests.flat()),
  }),
  'findByDigest reads objects as text': (right) => ({
    findByDigest: (digests: unknown[]) => right.findByDigest(digests.map(String)),
  }),
  'findByDigest looks up only the first digest': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 1)),
  }),
  'findByDigest looks up at most eight digests': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 8)),
  }),
  'findByDigest looks up at most fifty digests': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 50)),
  }),
  'findByDigest looks up at most a thousand digests': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.slice(0, 1000)),
  }),
  'findByDigest empties the given list': (right) => ({
    findByDigest: (digests: string[]) => right.findByDigest(digests.splice(0)),
  }),
  'findByDigest returns everything for an empty list': (right, rows) => ({
    findByDigest: (digests: string[]) =>
      digests.length === 0 ? [...rows.values()] : right.findByDigest(digests),
  }),
  'findByDigest omits revoked keys': (right) => ({
    findByDigest: (digests: string[]) =>
      right.findByDigest(digests).filter((row) => row.revokedAt === null),
  }),
  'findByDigest throws on an unknown digest': (right) => ({
    findByDigest: (digests: string[]) => {
      const found = right.findByDigest(digests);
      if (found.length === 0) throw new Error('none');
      return found;
    },
  }),
  'findById throws on an unknown id': (right) => ({
    findById: (keyId: string) => {
      const found = right.findById(keyId);
      if (found === null) throw new Error('none');
      return found;
    },
  }),
  'findById returns undefined instead of null': (right) => ({
    findById: (keyId: string) => right.findById(keyId) ?? undefined,
  }),
  'findById ignores case': (_right, rows) => ({
    findById: (keyId: unknown) => findWhere(rows, (row) => row.keyId === lower(keyId))[0] ?? null,
  }),
  'findById finds by digest too': (right) => ({
    findById: (id: string) => right.findById(id) ?? right.findByDigest([id])[0] ?? null,
  }),
  'reads are stale': (right) => {
    const seen = new Map<string, unknown>();
    return {
      findById: (keyId: string) => {
        if (!seen.has(keyId)) seen.set(keyId, right.findById(keyId));
        return seen.get(keyId);
      },
    };
  },
};
