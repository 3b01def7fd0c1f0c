/** Stores whose `listLineage` breaks a promise. */
import { copy, type Row } from '../right-store.ts';
import { lower, tick, type WrongStore, type WrongStores } from '../wrong-store.ts';

/** Returns the lineage without some rows. */
function leavingOut(isLeftOut: (row: Row, root: Row | undefined) => boolean): WrongStore {
  return (right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const root = rows.get(rootKeyId);
      return right.listLineage(rootKeyId).filter((row) => !isLeftOut(row, root));
    },
  });
}

export const WRONG_LINEAGES: WrongStores = {
  'listLineage returns only the root': leavingOut((row) => row.keyId !== row.rootKeyId),
  'listLineage omits the root': leavingOut((row) => row.keyId === row.rootKeyId),
  'listLineage omits keys issued under the root': leavingOut(
    (row, root) => row.rootKeyId !== root?.rootKeyId,
  ),
  'listLineage omits rotations of keys issued under the root': leavingOut(
    (row, root) => row.rootKeyId !== root?.rootKeyId && row.keyId !== row.rootKeyId,
  ),
  'listLineage repeats a key that belongs to it twice': (right) => ({
    listLineage: (rootKeyId: string) => {
      const rows = right.listLineage(rootKeyId);
      return [...rows, ...rows.filter((row) => row.issuedUnder === row.rootKeyId)];
    },
  }),
  'listLineage includes grandchildren': (right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const lineage = right.listLineage(rootKeyId);
      const roots = new Set(lineage.map((row) => row.rootKeyId));
      const isBelow = (row: Row) => row.issuedUnder !== null && roots.has(row.issuedUnder);
      const below = [...rows.values()].filter(isBelow).map(copy);
      return [...lineage, ...below.filter(({ keyId }) => lineage.every((r) => r.keyId !== keyId))];
    },
  }),
  'listLineage omits revoked keys': leavingOut((row) => row.revokedAt !== null),
  'listLineage omits retired keys': leavingOut((row) => row.retireAt !== null),
  'listLineage omits suspended keys': leavingOut((row) => row.suspendedAt !== null),
  'listLineage omits expired keys': leavingOut((row) => row.expiresAt !== null),
  'listLineage returns keys of one prefix': leavingOut(
    (row, root) => root !== undefined && row.prefix !== root.prefix,
  ),
  'listLineage returns at most 100 keys': (right) => ({
    listLineage: (rootKeyId: string) => right.listLineage(rootKeyId).slice(0, 100),
  }),
  'listLineage follows rotatedFrom': (_right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const isNext = (row: Row) => row.keyId === rootKeyId || row.rotatedFrom === rootKeyId;
      return [...rows.values()].filter(isNext).map(copy);
    },
  }),
  'listLineage also follows rotatedFrom': (_right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const isOne = (row: Row) =>
        [row.rootKeyId, row.issuedUnder, row.rotatedFrom].includes(rootKeyId);
      return [...rows.values()].filter(isOne).map(copy);
    },
  }),
  'listLineage accepts any key of the lineage': (right, rows) => ({
    listLineage: (keyId: string) => right.listLineage(rows.get(keyId)?.rootKeyId ?? keyId),
  }),
  'listLineage ignores case': (right) => ({
    listLineage: (rootKeyId: string) => right.listLineage(lower(rootKeyId)),
  }),
  'listLineage returns a stale copy': (right) => {
    const seen = new Map<string, readonly Row[]>();
    return {
      listLineage: (rootKeyId: string) => {
        const known = seen.get(rootKeyId) ?? right.listLineage(rootKeyId);
        seen.set(rootKeyId, known);
        return known;
      },
    };
  },
  'listLineage joins a running listing': (right) => {
    const under = new Map<string, Promise<readonly Row[]>>();
    const send = async (rootKeyId: string) => {
      const found = right.listLineage(rootKeyId);
      await tick();
      under.delete(rootKeyId);
      return found;
    };
    return {
      insert: async (record: Row) => {
        await tick();
        right.insert(record);
      },
      listLineage: (rootKeyId: string) => {
        const sent = under.get(rootKeyId) ?? send(rootKeyId);
        under.set(rootKeyId, sent);
        return sent;
      },
    };
  },
  'listLineage throws on an unknown root': (right) => ({
    listLineage: (rootKeyId: string) => {
      const found = right.listLineage(rootKeyId);
      if (found.length === 0) throw new Error('none');
      return found;
    },
  }),
  'listLineage returns the rows themselves': (right, rows) => ({
    listLineage: (rootKeyId: string) =>
      right.listLineage(rootKeyId).map(({ keyId }) => rows.get(keyId)),
  }),
};
