/** A store with its keys, and the parts that the SQL stores share. */
import type { Awaitable, KeyStore } from 'keyscope';
import { CREATED } from '../keys.ts';
import { ADDRESSED, ENTITY_TAIL, KINDS, LARGE, recordOf } from './records.ts';
import type { Log } from './watch.ts';

/** A table of its own, full of keys. */
export interface Filled {
  readonly store: Required<KeyStore>;
  /** `purgeEnded` of this store. */
  readonly purge: (endedBefore: Date) => Awaitable<readonly string[]>;
  /** The same store, whose statements are logged. */
  readonly watched: Required<KeyStore>;
  readonly log: Log;
  /** Reads of a purge that finds nothing, in the server's unit; absent if it has no counter. */
  readonly purgeReads?: () => Promise<number>;
  readonly close: () => Awaitable<unknown>;
}

export interface Target {
  readonly name: string;
  /** Makes a table with this many keys, a multiple of {@link KINDS}. */
  readonly open: (count: number) => Promise<Filled>;
  /** The unit of `purgeReads`. */
  readonly reads?: string;
}

/** Of this process, so that two runs do not meet. */
export const OWN = `keyscope_bench_${process.pid}`;

/** In the order of a record's fields: `keyId` is `key_id`. */
export const COLUMNS: readonly string[] = Object.keys(recordOf(0)).map((field) =>
  field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
);
export const COLUMN_LIST = COLUMNS.join(', ');

/** How a dialect writes what differs. */
export interface Dialect {
  /** An integer as eight hexadecimal digits. */
  readonly hex: (number: string) => string;
  /** Texts one after another. */
  readonly concat: (...texts: readonly string[]) => string;
  /** A text as the id of a key. */
  readonly asId: (text: string) => string;
  /** The digest of the key with this number. */
  readonly digest: (number: string) => string;
  /** A list of entities with one replaced by another. */
  readonly replaced: (list: string, from: string, to: string) => string;
  /** A table with one column, `ten`, of the numbers from 1 to `last`. */
  readonly numbers: (last: number) => string;
}

/**
 * Statements that fill a table in which the store has inserted the first ten keys. They copy these,
 * with other numbers: only the store says how a row is written.
 */
export function fillSql(dialect: Dialect, count: number): readonly string[] {
  const { hex, concat, asId, digest, replaced, numbers } = dialect;
  const number = `(created_at - ${CREATED} + ${KINDS} * ten)`;
  const id = (of: string) => asId(concat(hex(of), "'-0000-4000-8000-000000000000'"));
  const entity = concat(hex('ten'), `'${ENTITY_TAIL}'`);
  const ifLarge = (then: string, otherwise: string): string =>
    `CASE WHEN ten % 5 = 0 THEN ${then} ELSE ${otherwise} END`;
  const related = (column: string, before: number): string =>
    `CASE WHEN ${column} IS NOT NULL THEN ${id(`(${number} - ${before})`)} END`;
  const later = (column: string): string => `${column} + ${KINDS} * ten`;
  const own: Readonly<Record<string, string>> = {
    key_id: id(number),
    digest: digest(number),
    entity_id: ifLarge('entity_id', entity),
    accessible_entities: ifLarge(
      'accessible_entities',
      replaced('accessible_entities', `'${LARGE}'`, entity),
    ),
    created_at: later('created_at'),
    expires_at: later('expires_at'),
    rotated_from: related('rotated_from', 1),
    root_key_id: `CASE WHEN rotated_from IS NULL THEN ${id(number)}
      ELSE ${id(`(${number} - 1)`)} END`,
    issued_under: related('issued_under', 2),
    revoked_at: later('revoked_at'),
    retire_at: later('retire_at'),
    changed_at: later('changed_at'),
  };
  const values = COLUMNS.map((column) => own[column] ?? column);
  return [
    `INSERT INTO keyscope_keys (${COLUMN_LIST}) SELECT ${values.join(', ')}
     FROM keyscope_keys CROSS JOIN ${numbers(count / KINDS - 1)}`,
    `INSERT INTO keyscope_addressing (entity_id, prefix, created_at, key_id)
     SELECT '${ADDRESSED}', prefix, created_at, key_id FROM keyscope_keys
     WHERE created_at >= ${CREATED + KINDS} AND created_at % ${KINDS} = 4`,
  ];
}

/** Inserts the keys `from` to `to`, a thousand at a time. */
export async function insertAll(store: KeyStore, from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += 1000) {
    const length = Math.min(1000, to - start);
    await Promise.all(Array.from({ length }, (_, i) => store.insert(recordOf(start + i))));
  }
}
