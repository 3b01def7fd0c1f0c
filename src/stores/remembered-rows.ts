/**
 * Rows that were read before. Every look-up still asks the database. An unchanged answer is not
 * parsed again, and the core does not check its seal again, because it gets the same frozen record.
 */
import { setBounded } from '../core/bounded.js';
import { type KeyRecord, readRecord } from '../core/record.js';

/** How many rows are remembered: those that were read last. */
const REMEMBERED = 1_000;

/**
 * Makes a reader that returns the same frozen record while the row with that name is unchanged. A
 * malformed row is passed on unchanged; the core rejects it.
 *
 * @param isSame Checks whether `read` would return the same for both.
 */
export function rememberRows<Row>(
  read: (row: Row) => KeyRecord,
  isSame: (row: Row, last: Row) => boolean,
): (name: unknown, row: Row) => KeyRecord {
  const known = new Map<unknown, { readonly row: Row; readonly record: KeyRecord }>();
  return (name, row) => {
    const last = known.get(name);
    const isKnown = last !== undefined && isSame(row, last.row);
    const unread = isKnown ? last.record : read(row);
    const record = readRecord(unread);
    if (record === null) return unread;
    setBounded(known, name, { row, record }, REMEMBERED);
    return record;
  };
}
