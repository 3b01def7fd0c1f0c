/**
 * Whether a read is current. A look-up that sees an old state would accept a revoked key, so every
 * row also says whether it may be out of date.
 */
import { toInteger } from '../rows.js';
import type { Row } from './answers.js';

/**
 * False if autocommit is off, because all later look-ups would then see the same data as the first
 * one, or if somebody has begun a transaction. Only MariaDB reads the comment as SQL; MySQL has no
 * such variable.
 */
const SETTLED = '@@autocommit = 1 /*M! AND @@in_transaction = 0 */';

/** False on a replica. `read_only` is a number, or a text on newer versions of MariaDB. */
const WRITABLE = "CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0";

/** Columns of every row that is read. The row is current if both are true. */
export const FRESHNESS: string = `(${SETTLED}) AS settled, (${WRITABLE}) AS writable`;

const UNSETTLED =
  'keyscope: the connection has autocommit off, or is in the middle of a transaction; ' +
  'look-ups would miss later revocations. ' +
  'Give keyscope a pool or connection of its own, with autocommit on';
const READ_ONLY =
  'keyscope: this server is read-only, as replicas are, which lag; connect to the primary';

/** Whether a column says true, however the driver reads integers. */
export function isTrue(value: unknown): boolean {
  return toInteger(value) === 1;
}

/** Whether a row was read in a transaction that somebody had left open, or with autocommit off. */
export function isUnsettled(rows: readonly Row[]): boolean {
  return rows.some(({ settled }) => !isTrue(settled));
}

/** Returns the rows, and throws if one of them may be out of date. */
export function requireFresh(rows: readonly Row[]): readonly Row[] {
  if (rows.some(({ writable }) => !isTrue(writable))) throw new Error(READ_ONLY);
  if (isUnsettled(rows)) throw new Error(UNSETTLED);
  return rows;
}
