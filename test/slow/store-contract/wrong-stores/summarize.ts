/** Stores whose `summarize` breaks a promise. */
import type { KeyStore } from 'keyscope';
import { isLive, type Row, type Rows, summaryOf, withOwnClock } from '../right-store.ts';
import type { WrongStore, WrongStores } from '../wrong-store.ts';

/** Returns a summary of the rows for which `counts` holds. */
function summaryWhere(rows: Rows, counts: (row: Row) => boolean) {
  return summaryOf([...rows.values()].filter(counts));
}

const WRONG_AT_ANY_TIME: WrongStores = {
  'summarize counts revoked keys': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => isLive({ ...row, revokedAt: null }, now)),
  }),
  'summarize counts keys revoked at a future time': (_right, rows) => ({
    summarize: (now: number) => {
      const isToCome = ({ revokedAt }: Row) => revokedAt !== null && revokedAt > now;
      const counts = (row: Row) => isLive(isToCome(row) ? { ...row, revokedAt: null } : row, now);
      return summaryWhere(rows, counts);
    },
  }),
  'summarize counts expired keys': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => isLive({ ...row, expiresAt: null }, now)),
  }),
  'summarize counts retired keys': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => isLive({ ...row, retireAt: null }, now)),
  }),
  'summarize omits suspended keys': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => isLive(row, now) && row.suspendedAt === null),
  }),
  'summarize omits retiring keys': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => isLive(row, now) && row.retireAt === null),
  }),
  'summarize treats a deadline as the last live millisecond': (right) => ({
    summarize: (now: number) => right.summarize(now - 1),
  }),
  'summarize ends a millisecond early': (right) => ({
    summarize: (now: number) => right.summarize(now + 1),
  }),
  'summarize needs a time': (_right, rows) => ({
    summarize: (now: number) => summaryWhere(rows, (row) => isLive(row, now)),
  }),
  'summarize treats no time as 1970': (right) => ({
    summarize: (now: number) => right.summarize(now ?? 0),
  }),
  'summarize uses its own clock': (right) => ({
    summarize: (_now: number) => right.summarize(Date.now()),
  }),
  'summarize rejects times before 1970': (right) => ({
    summarize: (now: number) => right.summarize(Math.max(now, 0)),
  }),
  'summarize rejects times after the year 9999': (right) => ({
    summarize: (now: number) => right.summarize(Math.min(now, 253_402_300_799_999)),
  }),
  'summarize lists schemes without live keys': (right, rows) => ({
    summarize: (now: number) => {
      const live = right.summarize(now);
      const schemes = live.map(({ scheme }) => scheme);
      const ended = summaryWhere(rows, () => true).filter((row) => !schemes.includes(row.scheme));
      return [...live, ...ended.map((row) => ({ ...row, live: 0 }))];
    },
  }),
  'summarize matches schemes by their beginning': (_right, rows) => ({
    summarize: (now: number) => {
      const live = [...rows.values()].filter((row) => isLive(row, now));
      return summaryOf(live.map((row) => ({ ...row, digest: `${row.digest.slice(0, 25)}$` })));
    },
  }),
  'summarize treats deadlines of 0 as none': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => {
        const deadlines = { retireAt: row.retireAt || null, expiresAt: row.expiresAt || null };
        return isLive({ ...row, ...deadlines }, now);
      }),
  }),
  'summarize treats a revocation at 0 as none': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => isLive({ ...row, revokedAt: row.revokedAt || null }, now)),
  }),
  'summarize treats time 0 as never used': (right) => ({
    summarize: (now: number) =>
      right.summarize(now).map((row) => ({ ...row, lastUsedAt: row.lastUsedAt || null })),
  }),
  'summarize returns at most 20 schemes': (right) => ({
    summarize: (now: number) => right.summarize(now).slice(-20),
  }),
  'summarize returns counts as text': (right) => ({
    summarize: (now: number) =>
      right.summarize(now).map((row) => ({ ...row, live: String(row.live) })),
  }),
  'summarize returns 0 for never used': (right) => ({
    summarize: (now: number) =>
      right.summarize(now).map((row) => ({ ...row, lastUsedAt: row.lastUsedAt ?? 0 })),
  }),
  'summarize compares the latest use as text': (_right, rows) => ({
    summarize: (now: number) =>
      summaryWhere(rows, (row) => isLive(row, now)).map((row) => ({
        ...row,
        lastUsedAt: row.lastUsedAt === 10 ? 9 : row.lastUsedAt,
      })),
  }),
  'summarize counts only one entity': (_right, rows) => ({
    summarize: (now: number) => {
      const [first] = rows.values();
      const counts = (row: Row) => isLive(row, now) && row.entityId === first?.entityId;
      return summaryWhere(rows, counts);
    },
  }),
};

/** Faults that are invisible if callers cannot pass a time. */
const UNSEEN = [
  'needs a time',
  'no time as 1970',
  'a deadline as the last',
  'a millisecond early',
  'its own clock',
  'before 1970',
  'after the year 9999',
];

function byOwnClock(wrong: WrongStore): WrongStore {
  return (right, rows) => withOwnClock({ ...right, ...wrong(right, rows) } as KeyStore);
}

const seen = Object.entries(WRONG_AT_ANY_TIME).filter(
  ([name]) => !UNSEEN.some((words) => name.includes(words)),
);
const byOwnClocks = seen.map(
  ([name, wrong]) => [`${name}, with its own clock`, byOwnClock(wrong)] as const,
);

export const WRONG_SUMMARIES: WrongStores = {
  ...WRONG_AT_ANY_TIME,
  ...Object.fromEntries(byOwnClocks),
};
