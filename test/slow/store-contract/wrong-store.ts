/** What wrong stores are made of: a right one, with something else in the place of a method. */
import type { KeyStore, ListQuery, UsageEntry } from 'keyscope';
import { copy, type Row, type Rows, type SyncStore } from './right-store.ts';

export type Query = ListQuery;
export type Entries = readonly UsageEntry[];

/**
 * What a wrong store does instead; `rows` are what `right` reads and writes. Not of the types of a
 * store: some are wrong by what they answer.
 */
export type WrongStore = (right: SyncStore, rows: Rows) => Partial<Record<keyof KeyStore, unknown>>;

/** Wrong stores by what is wrong with them. */
export type WrongStores = Readonly<Record<string, WrongStore>>;

/** Far from any clock: what a wrong store takes for its own. */
export const TIME = 1_000_000_000_000;

/** The next turn of the event loop. */
export function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What folds the case of its arguments. */
export function lower(text: unknown): string {
  return String(text).toLowerCase();
}

/** An hour back within the hour that comes twice: Europe, 2024-10-27. */
export function onTheWall(time: number): number {
  const isTwice = time >= 1_729_990_800_000 && time < 1_729_994_400_000;
  return isTwice ? time - 3_600_000 : time;
}

/** Makes a row for an id that has none, from any other. */
export function makeRow(rows: Rows, keyId: string): void {
  const [some] = rows.values();
  if (some === undefined || rows.has(keyId)) return;
  rows.set(keyId, { ...copy(some), keyId, digest: `${some.digest}-${keyId}` });
}

/** Look-ups that answer each record with the fields that `change` makes of it. */
export function answering(right: SyncStore, change: (row: Row) => object): ReturnType<WrongStore> {
  const changed = (row: Row) => ({ ...row, ...change(row) });
  return {
    findById: (keyId: string) => {
      const row = right.findById(keyId);
      return row === null ? null : changed(row);
    },
    findByDigest: (digests: readonly string[]) => right.findByDigest(digests).map(changed),
  };
}

/** Look-ups that answer each record with every text in it, names included, as `change` has it. */
export function retelling(
  right: SyncStore,
  change: (text: string) => string,
): ReturnType<WrongStore> {
  return answering(right, (row) => retold(row, change) as Row);
}

function retold(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item: unknown) => retold(item, change));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, item]) => [change(name), retold(item, change)]);
  return Object.fromEntries(fields) as unknown;
}
