/**
 * Reads that are current. A look-up that sees an old state would accept a revoked key, so every
 * row also says whether it may be out of date.
 */
import { toInteger, type Value } from '../rows.js';
import type { Connections, Row, Session } from './client.js';
import { rowsOf } from './client.js';

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

const PROBE = `SELECT ${FRESHNESS}`;

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

// ── Reads ───────────────────────────────────────────────────────────────────────────────────────

/** How many connections are tried in all on which somebody has left a transaction open. */
const TRIES = 4;

/** How long a connection may take for a look-up, and for a list, in milliseconds. */
const LOOK_UP_MS = 5_000;
const SELECT_MS = 60_000;

/** How rows are read. Both throw if what they read may be out of date. */
export interface Readers {
  /** Runs one statement. */
  select(sql: string, values: readonly Value[]): Promise<readonly Row[]>;
  /** The same for a statement that is sent often. */
  lookUp(sql: string, values: Value[]): Promise<readonly Row[]>;
}

/**
 * A connection of a pool that somebody gave back inside a transaction is closed: nobody else would
 * end it, and every read on it would be of the past.
 */
async function sendSettled(
  connections: Connections,
  send: (session: Session) => Promise<unknown>,
  limitMs: number,
): Promise<readonly Row[]> {
  for (let attempt = 1; ; attempt++) {
    const { rows, seen } = await connections.withSession(async (session) => {
      const answer = rowsOf(await send(session));
      // No row says of itself whether it is current, and a replica that lags may have none yet.
      const asked = answer.length > 0 ? answer : rowsOf(await session.query(PROBE));
      if (isUnsettled(asked)) session.discard();
      return { rows: answer, seen: asked };
    }, limitMs);
    if (attempt < TRIES && isUnsettled(seen)) continue;
    requireFresh(seen);
    return rows;
  }
}

/** @param before What each statement begins with, as the server needs it. */
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
