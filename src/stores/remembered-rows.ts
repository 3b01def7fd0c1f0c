/**
 * Rows that were read before. Every look-up still asks the database. An unchanged answer is not
 * parsed again, and the core does not check its seal again, because it gets the same frozen record.
 */
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
  function remember(name: unknown, row: Row, record: KeyRecord): KeyRecord {
    // `set` alone would not move a name that the map already has to the end.
    known.delete(name);
    if (known.size === REMEMBERED) forgetOldest(known);
    known.set(name, { row, record });
    return record;
  }
  return (name, row) => {
    const last = known.get(name);
    if (last !== undefined && isSame(row, last.row)) return remember(name, row, last.record);
    const unread = read(row);
    const record = readRecord(unread);
    return record === null ? unread : remember(name, row, record);
  };
}

/** Deletes the first name: a Map keeps the order of insertion. */
function forgetOldest(known: Map<unknown, unknown>): void {
  for (const name of known.keys()) {
    known.delete(name);
    return;
  }
}
