/** Stores whose `markEnded` breaks a promise. */
import type { Ending } from 'keyscope';
import { makeRow, TIME, tick, type WrongStores } from '../wrong-store.ts';

export const WRONG_MARKS: WrongStores = {
  'markEnded is unconditional': (_right, rows) => ({
    markEnded: (keyId: string, ending: object) => {
      const row = rows.get(keyId);
      if (row) Object.assign(row, ending);
      return row !== undefined;
    },
  }),
  'markEnded retires what is revoked': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      const mayRetire = row?.retireAt === null && 'retireAt' in ending;
      if (!mayRetire) return right.markEnded(keyId, ending);
      row.retireAt = ending.retireAt;
      return true;
    },
  }),
  'markEnded does not revoke what is retired': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      rows.get(keyId)?.retireAt === null ? right.markEnded(keyId, ending) : false,
  }),
  'markEnded does not end what is expired': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      rows.get(keyId)?.expiresAt === 0 ? false : right.markEnded(keyId, ending),
  }),
  'markEnded takes time 0 for no mark': (_right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      if (!row || row.revokedAt) return false;
      if ('retireAt' in ending && row.retireAt) return false;
      Object.assign(row, ending);
      return true;
    },
  }),
  'markEnded is always true': (right) => ({
    markEnded: (keyId: string, ending: Ending) => {
      right.markEnded(keyId, ending);
      return true;
    },
  }),
  'markEnded is true to the same time again': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      right.markEnded(keyId, ending) ||
      ('revokedAt' in ending && rows.get(keyId)?.revokedAt === ending.revokedAt),
  }),
  'markEnded is true to the same retirement again': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) =>
      right.markEnded(keyId, ending) ||
      ('retireAt' in ending && rows.get(keyId)?.retireAt === ending.retireAt),
  }),
  'markEnded ends nothing later than its own clock': (right) => ({
    markEnded: (keyId: string, ending: Ending) =>
      'retireAt' in ending
        ? right.markEnded(keyId, { retireAt: Math.min(ending.retireAt, TIME * 3) })
        : right.markEnded(keyId, ending),
  }),
  'markEnded retires nothing before the year 1': (right) => ({
    markEnded: (keyId: string, ending: Ending) =>
      'retireAt' in ending && ending.retireAt < -62_135_596_800_000
        ? false
        : right.markEnded(keyId, ending),
  }),
  'markEnded does not revoke what its own clock has ended': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const expiresAt = rows.get(keyId)?.expiresAt ?? 0;
      return 'revokedAt' in ending && expiresAt < 0 ? false : right.markEnded(keyId, ending);
    },
  }),
  'markEnded answers a count': (right) => ({
    markEnded: (keyId: string, ending: Ending) => Number(right.markEnded(keyId, ending)),
  }),
  'markEnded throws on an unknown id': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      if (!rows.has(keyId)) throw new Error('none');
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded makes a row for an unknown id': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      makeRow(rows, keyId);
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded looks first and writes later': (_right, rows) => ({
    markEnded: async (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      if (!row || row.revokedAt !== null) return false;
      if ('retireAt' in ending && row.retireAt !== null) return false;
      await tick();
      Object.assign(row, ending);
      return true;
    },
  }),
  'markEnded writes the last of parallel times': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const wrote = right.markEnded(keyId, ending);
      const row = rows.get(keyId);
      if (row && 'revokedAt' in ending) row.revokedAt = ending.revokedAt;
      return wrote;
    },
  }),
  'markEnded retires by revoking': (right) => ({
    markEnded: (keyId: string, ending: Ending) =>
      right.markEnded(keyId, {
        revokedAt: 'retireAt' in ending ? ending.retireAt : ending.revokedAt,
      }),
  }),
  'markEnded writes another field': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const row = rows.get(keyId);
      if (row) row.lastUsedAt = 1;
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded ends successors as well': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      for (const row of rows.values()) {
        if (row.rotatedFrom === keyId) Object.assign(row, ending);
      }
      return right.markEnded(keyId, ending);
    },
  }),
  'markEnded ends the whole entity': (right, rows) => ({
    markEnded: (keyId: string, ending: Ending) => {
      const wrote = right.markEnded(keyId, ending);
      const entityUuid = rows.get(keyId)?.entityUuid;
      const own = [...rows.values()].filter((row) => row.entityUuid === entityUuid);
      for (const row of own) {
        if (wrote && row.revokedAt === null) Object.assign(row, ending);
      }
      return wrote;
    },
  }),
};
