/**
 * Reads that are current. A look-up that sees an old state would accept a revoked key, so every row
 * also says whether it may be out of date.
 */
import { toInteger, type Value } from '../rows.js';
import type { Connections, Row, Session } from './client.js';
import { rowsOf } from './client.js';

/**
 * False if autocommit is off, because every later look-up would see the same data as the first, or
 * if a transaction is open. Only MariaDB reads the comment as SQL; MySQL has no such variable.
 */
const SETTLED = '@@autocommit = 1 /*M! AND @@in_transaction = 0 */';

/** False on a replica. `read_only` is a number, or a text on newer versions of MariaDB. */
const WRITABLE = "CONCAT(@@read_only) IN ('0', 'OFF') AND @@innodb_read_only = 0";

/** Columns of every row that is read. The row is current if both are true. */
export const FRESHNESS: string = `(${SETTLED}) AS settled, (${WRITABLE}) AS writable`;

const PROBE = `SELECT ${FRESHNESS}`;

const UNSETTLED =
  'keyscope: the connection has autocommit off, or is in the middle of a transaction; ' +
  'look-ups would miss later revocations. ' +
  'Give keyscope its own pool or connection, with autocommit on';
const READ_ONLY =
  'keyscope: this server is read-only, so it may be a replica that lags. Connect to the primary';

/** Checks whether a column is true, however the driver reads integers. */
export function isTrue(value: unknown): boolean {
  return toInteger(value) === 1;
}

/** Checks whether a row was read inside an open transaction, or with autocommit off. */
export function isUnsettled(rows: readonly Row[]): boolean {
  return rows.some(({ settled }) => !isTrue(settled));
}

/** Returns the rows, and throws if one of them may be out of date. */
export function requireFresh(rows: readonly Row[]): readonly Row[] {
  if (rows.some(({ writable }) => !isTrue(writable))) throw new Error(READ_ONLY);
  if (isUnsettled(rows)) throw new Error(UNSETTLED);
  return rows;
}

// ── Reads ───────────────────────────────────────────────────────────────────────────────────────

/** How many connections a read tries while they have a transaction left open. */
const TRIES = 4;

/** How long a connection may take for a look-up, and for a list, in milliseconds. */
const LOOK_UP_MS = 5_000;
const SELECT_MS = 60_000;

/** The two ways to read rows. Both throw if a row may be out of date. */
export interface Readers {
  /** Runs one statement. */
  select(sql: string, values: readonly Value[]): Promise<readonly Row[]>;
  /** Does the same for a frequent statement. */
  lookUp(sql: string, values: Value[]): Promise<readonly Row[]>;
}

/**
 * Sends a read. Discards a pool's connection that was returned inside a transaction: nobody else
 * would end the transaction, and every read on it would see the past.
 */
async function sendSettled(
  connections: Connections,
  send: (session: Session) => Promise<unknown>,
  limitMs: number,
): Promise<readonly Row[]> {
  for (let attempt = 1; ; attempt++) {
    const { rows, seen } = await connections.withSession(async (session) => {
      const answer = rowsOf(await send(session));
      // An empty answer does not say whether it is current: a replica that lags may not have the
      // row yet.
      const asked = answer.length > 0 ? answer : rowsOf(await session.query(PROBE));
      if (isUnsettled(asked)) session.discard();
      return { rows: answer, seen: asked };
    }, limitMs);
    if (attempt < TRIES && isUnsettled(seen)) continue;
    requireFresh(seen);
    return rows;
  }
}

/** @param before Returns the text that each statement begins with on this server. */
export function createReaders(connections: Connections, before: () => string): Readers {
  return {
    select(sql, values) {
      const send = ({ query }: Session) => query(before() + sql, values);
      return sendSettled(connections, send, SELECT_MS);
    },
    lookUp(sql, values) {
      const send = ({ execute }: Session) => execute(before() + sql, values);
      return sendSettled(connections, send, LOOK_UP_MS);
    },
  };
}
