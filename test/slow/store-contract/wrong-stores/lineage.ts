/** Stores whose `listLineage` breaks a promise. */
import { copy, type Row } from '../right-store.ts';
import { lower, tick, type WrongStore, type WrongStores } from '../wrong-store.ts';

/** Answers the lineage, but for some rows. */
function leavingOut(isLeftOut: (row: Row, root: Row | undefined) => boolean): WrongStore {
  return (right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const root = rows.get(rootKeyId);
      return right.listLineage(rootKeyId).filter((row) => !isLeftOut(row, root));
    },
  });
}

export const WRONG_LINEAGES: WrongStores = {
  'listLineage answers the root alone': leavingOut((row) => row.keyId !== row.rootKeyId),
  'listLineage leaves the root out': leavingOut((row) => row.keyId === row.rootKeyId),
  'listLineage leaves out what was issued under it': leavingOut(
    (row, root) => row.rootKeyId !== root?.rootKeyId,
  ),
  'listLineage answers first keys that were issued under it, and not their rotations': leavingOut(
    (row, root) => row.rootKeyId !== root?.rootKeyId && row.keyId !== row.rootKeyId,
  ),
  'listLineage answers a key twice that is in it by both': (right) => ({
    listLineage: (rootKeyId: string) => {
      const rows = right.listLineage(rootKeyId);
      return [...rows, ...rows.filter((row) => row.issuedUnder === row.rootKeyId)];
    },
  }),
  'listLineage answers grandchildren, too': (right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const lineage = right.listLineage(rootKeyId);
      const roots = new Set(lineage.map((row) => row.rootKeyId));
      const isBelow = (row: Row) => row.issuedUnder !== null && roots.has(row.issuedUnder);
      const below = [...rows.values()].filter(isBelow).map(copy);
      return [...lineage, ...below.filter(({ keyId }) => lineage.every((r) => r.keyId !== keyId))];
    },
  }),
  'listLineage leaves revoked keys out': leavingOut((row) => row.revokedAt !== null),
  'listLineage leaves retired keys out': leavingOut((row) => row.retireAt !== null),
  'listLineage leaves suspended keys out': leavingOut((row) => row.suspendedAt !== null),
  'listLineage leaves expired keys out': leavingOut((row) => row.expiresAt !== null),
  'listLineage answers keys of one prefix': leavingOut(
    (row, root) => root !== undefined && row.prefix !== root.prefix,
  ),
  'listLineage answers at most 100': (right) => ({
    listLineage: (rootKeyId: string) => right.listLineage(rootKeyId).slice(0, 100),
  }),
  'listLineage goes by rotatedFrom': (_right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const isNext = (row: Row) => row.keyId === rootKeyId || row.rotatedFrom === rootKeyId;
      return [...rows.values()].filter(isNext).map(copy);
    },
  }),
  'listLineage takes rotatedFrom as well': (_right, rows) => ({
    listLineage: (rootKeyId: string) => {
      const isOne = (row: Row) =>
        [row.rootKeyId, row.issuedUnder, row.rotatedFrom].includes(rootKeyId);
      return [...rows.values()].filter(isOne).map(copy);
    },
  }),
  'listLineage takes any key of it': (right, rows) => ({
    listLineage: (keyId: string) => right.listLineage(rows.get(keyId)?.rootKeyId ?? keyId),
  }),
  'listLineage ignores case': (right) => ({
    listLineage: (rootKeyId: string) => right.listLineage(lower(rootKeyId)),
  }),
  'listLineage answers a copy that was made before': (right) => {
    const seen = new Map<string, readonly Row[]>();
    return {
      listLineage: (rootKeyId: string) => {
        const known = seen.get(rootKeyId) ?? right.listLineage(rootKeyId);
        seen.set(rootKeyId, known);
        return known;
      },
    };
  },
  'listLineage joins a listing under way': (right) => {
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
  'listLineage throws where there is none': (right) => ({
    listLineage: (rootKeyId: string) => {
      const found = right.listLineage(rootKeyId);
      if (found.length === 0) throw new Error('none');
      return found;
    },
  }),
  'listLineage answers the rows themselves': (right, rows) => ({
    listLineage: (rootKeyId: string) =>
      right.listLineage(rootKeyId).map(({ keyId }) => rows.get(keyId)),
  }),
};
