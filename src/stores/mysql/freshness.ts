/**
 * Whether what was read is what was last acknowledged. A look-up that sees the past would let a
 * revoked key pass, so every row brings the answer along.
 */
import { toInteger } from '../rows.js';
import type { Row } from './answers.js';

/**
 * Not with autocommit off, where all later look-ups would see the data as the first one did, and
 * not in a transaction that somebody began. Only MariaDB reads the comment as SQL; MySQL has no
 * such variable.
 */
const SETTLED = '@@autocommit = 1 /*M! AND @@in_transaction = 0 */';

/** Whether it is no replica. `read_only` is a number, or on newer versions of MariaDB a text. */
const WRITABLE = "CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0";

/** Columns of each row that is read: what it says is true now if both are. */
export const FRESHNESS: string = `(${SETTLED}) AS settled, (${WRITABLE}) AS writable`;

const UNSETTLED =
  'keyscope: the connection has autocommit off, or is in the middle of a transaction; ' +
  'look-ups would miss what was revoked since. ' +
  'Give keyscope a pool or connection of its own, with autocommit on';
const READ_ONLY =
  'keyscope: this server is read-only, as replicas are, which lag; connect to the primary';

/** Whether a column says true, however the driver reads integers. */
export function isTrue(value: unknown): boolean {
  return toInteger(value) === 1;
}

/** Returns the rows, and throws if one of them may be out of date. */
export function requireFresh(rows: readonly Row[]): readonly Row[] {
  for (const { settled, writable } of rows) {
    if (!isTrue(writable)) throw new Error(READ_ONLY);
    if (!isTrue(settled)) throw new Error(UNSETTLED);
  }
  return rows;
}
