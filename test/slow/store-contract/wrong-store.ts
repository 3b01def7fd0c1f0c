/** Parts of wrong stores: a correct store with some methods replaced. */
import type { KeyStore, ListQuery, UsageEntry } from 'keyscope';
import { copy, type Row, type Rows, type SyncStore } from './right-store.ts';

export type Query = ListQuery;
export type Entries = readonly UsageEntry[];

/**
 * Returns the replaced methods of a wrong store. `right` reads and writes `rows`. The type is
 * loose, because some stores return values of the wrong type.
 */
export type WrongStore = (right: SyncStore, rows: Rows) => Partial<Record<keyof KeyStore, unknown>>;

/** Wrong stores by their fault. */
export type WrongStores = Readonly<Record<string, WrongStore>>;

/** The clock of wrong stores, far from the real time. */
export const TIME = 1_000_000_000_000;

/** Waits for the next turn of the event loop. */
export function tick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Converts a text to lower case. */
export function lower(text: unknown): string {
  return String(text).toLowerCase();
}

/** Subtracts an hour during the repeated hour: Europe, 2024-10-27. */
export function onTheWall(time: number): number {
  const isTwice = time >= 1_729_990_800_000 && time < 1_729_994_400_000;
  return isTwice ? time - 3_600_000 : time;
}

/** Inserts a row for an unknown id, copied from any other row. */
export function makeRow(rows: Rows, keyId: string): void {
  const [some] = rows.values();
  if (some === undefined || rows.has(keyId)) return;
  rows.set(keyId, { ...copy(some), keyId, digest: `${some.digest}-${keyId}` });
}

/** Look-ups that change fields of each record. */
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

/** Look-ups that change every text of each record, names included. */
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
