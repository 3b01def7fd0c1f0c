/** What is measured of a store, and what all of the SQL ones share. */
import type { Awaitable, KeyStore } from 'keyscope';

export type Find = (digest: string) => Awaitable<unknown>;

/** Of a table, as far as the server tells them apart. */
export interface Bytes {
  readonly data: number;
  readonly indexes: number | null;
}

/** A table of its own, full of keys. */
export interface Filled {
  /** The driver with the same prepared look-up, its row unread. */
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

export const COLUMNS = [
  'key_id',
  'name',
  'digest',
  'seal',
  'entity_uuid',
  'accessible_entities',
  'scopes',
  'justification',
  'metadata',
  'created_at',
  'expires_at',
  'revoked_at',
  'retire_at',
  'rotated_from',
  'last_used_at',
  'scopes_used',
] as const;

export const COLUMN_LIST = COLUMNS.join(', ');
export const LOOK_UP = `SELECT ${COLUMN_LIST} FROM keyscope_keys WHERE digest = `;

/** Of this process, so that two runs do not meet. */
export const OWN = `keyscope_bench_${process.pid}`;
