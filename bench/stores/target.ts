/** What is measured of a store, and what all of the SQL ones share. */
import assert from 'node:assert/strict';
import type { Awaitable, KeyStore } from 'keyscope';
import { digestOf, recordOf } from './keys.ts';

export type Find = (digest: string) => Awaitable<unknown>;

/** Of a table, as far as the server tells them apart. */
export interface Bytes {
  readonly data: number;
  readonly indexes: number | null;
}

/** A table of its own, full of keys. */
export interface Filled {
  /** The driver with a prepared look-up of the same columns; nobody reads what it returns. */
  readonly bare: Find;
  readonly store: (batch: boolean) => KeyStore;
  readonly bytes: () => Promise<Bytes>;
  /** How many rows or values the server has written so far. */
  readonly writes: () => Promise<number>;
  readonly close: () => Awaitable<unknown>;
}

export interface Target {
  readonly name: string;
  /** Makes a table with so many keys. */
  readonly open: (count: number) => Awaitable<Filled>;
  /** Where its server is; none for a file. */
  readonly url: string | null;
  readonly batches: boolean;
}

/** In the order of a record's fields: `keyId` is `key_id`. */
export const COLUMNS: readonly string[] = Object.keys(recordOf(0)).map((field) =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);

export const COLUMN_LIST = COLUMNS.join(', ');
export const LOOK_UP = `SELECT ${COLUMN_LIST} FROM keyscope_keys WHERE digest = `;

/** What is another for each key, as SQL of its number. */
export interface Numbered {
  readonly key_id: string;
  readonly digest: string;
  readonly created_at: string;
  readonly root_key_id: string;
}

/**
 * Copies the one key that is in the table once for each of some numbers: nothing but the store
 * says what a row holds.
 */
export function copySql(numbered: Numbered, numbers: string): string {
  const own = new Map<string, string>(Object.entries(numbered));
  const values = COLUMNS.map((column) => own.get(column) ?? column);
  return `
    INSERT INTO keyscope_keys (${COLUMN_LIST})
    SELECT ${values.join(', ')} FROM keyscope_keys CROSS JOIN ${numbers}`;
}

/** Of this process, so that two runs do not meet. */
export const OWN = `keyscope_bench_${process.pid}`;

/** The first key, the last and one between are as they should be, whoever wrote them. */
export async function checkKeys(filled: Filled, count: number, what: string): Promise<void> {
  for (const index of [0, 7, count - 1]) {
    const found = await filled.store(false).findByDigest([digestOf(index)]);
    assert.deepEqual(found, [recordOf(index)], `${what}: key ${index} of ${count}`);
  }
}
