/**
 * Rows that were read before. The database is asked every time: what is saved is to read the same
 * answer again, and to check its seal, which the core does once for as long as a frozen record
 * lives.
 */
import { type KeyRecord, readRecord } from '../core/record.js';

/** At most this many, the ones that were read last. */
const REMEMBERED = 1_000;

/**
 * Returns the same frozen record for as long as all of the row with this name stays the same. A row
 * that is malformed is read as it stands: the core refuses it.
 *
 * @param isSame Whether `read` would read the same from both.
 */
export function rememberRows<Row>(
  read: (row: Row) => KeyRecord,
  isSame: (row: Row, last: Row) => boolean,
): (name: unknown, row: Row) => KeyRecord {
  const known = new Map<unknown, { readonly row: Row; readonly record: KeyRecord }>();
  function remember(name: unknown, row: Row, record: KeyRecord): KeyRecord {
    // A Map keeps the place of what it has.
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

/** A Map gives its keys in the order in which they were set. */
function forgetOldest(known: Map<unknown, unknown>): void {
  for (const name of known.keys()) {
    known.delete(name);
    return;
  }
}
