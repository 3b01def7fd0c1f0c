/**
 * Reads that are current and undamaged. A look-up that sees an old state would accept a revoked
 * key, so every row also says whether it may be out of date.
 */
import { toInteger, type Value } from '../rows.js';
import type { Connections, Row, Session } from './client.js';
import { rowsOf } from './client.js';
import { transactionError } from './errors.js';
import { withLiterals } from './literals.js';
import { begin, withRetries } from './transactions.js';

/**
 * False if autocommit is off, because every later look-up would see the same data as the first, or
 * if a transaction is open. Only MariaDB reads the comment as SQL; MySQL has no such variable, and
 * {@link ReadMode} makes up for it.
 */
const SETTLED = '@@autocommit = 1 /*M! AND @@in_transaction = 0 */';

/**
 * False on a replica. `read_only` is a number, or a text on newer versions of MariaDB. Compares
 * bytes, because the collation may have changed since the statement was prepared.
 */
const WRITABLE = `CAST(@@read_only AS BINARY) IN (_binary '0', _binary 'OFF')
  AND @@innodb_read_only = 0`;

/**
 * Contains a character of four bytes in UTF-8, which the older `utf8` cannot hold, and spaces and
 * letters that a `typeCast` might trim or fold.
 */
const TEXT = ' Aé🦊 ';

/**
 * {@link TEXT} if no text is damaged on its way: a hook of a pool may SET NAMES on each connection,
 * and a seal would then not match its key. Some character sets would make each digest another one.
 */
const ECHO = withLiterals("IF(@@character_set_connection = 'utf8mb4', ?, NULL)", [TEXT]);

/** Columns of every row that is read, which {@link requireFresh} checks. */
export const FRESHNESS: string = `
  (${SETTLED}) AS settled, (${WRITABLE}) AS writable, ${ECHO} AS echo`;

const PROBE = `SELECT ${FRESHNESS}`;

const READ_ONLY =
  'keyscope: this server is read-only, so it may be a replica that lags. Connect to the primary';

const DAMAGED =
  'keyscope: texts would be damaged. ' +
  "Connect with charset 'utf8mb4' and no typeCast that changes texts";

/** Checks whether a column is true, however the driver reads integers. */
export function isTrue(value: unknown): boolean {
  return toInteger(value) === 1;
}

/**
 * Throws if a row may be out of date or damaged. Discards a pool's connection that was returned
 * inside a transaction: nobody else would end the transaction, and every read on it would see the
 * past.
 */
export function requireFresh(session: Session, rows: readonly Row[]): void {
  // Read inside an open transaction, or with autocommit off.
  const isUnsettled = rows.some(({ settled }) => !isTrue(settled));
  if (isUnsettled) session.discard();
  if (rows.some(({ echo }) => echo !== TEXT)) throw new Error(DAMAGED);
  if (rows.some(({ writable }) => !isTrue(writable))) throw new Error(READ_ONLY);
  if (isUnsettled) throw transactionError();
}

// ── Reads ───────────────────────────────────────────────────────────────────────────────────────

/** How long a connection may take for a look-up, and for a list, in milliseconds. */
const LOOK_UP_MS = 5_000;
const SELECT_MS = 60_000;

/** The two ways to read rows. Both throw if a row may be out of date or damaged. */
export interface Readers {
  /** Runs one statement. */
  select(sql: string, values: readonly Value[]): Promise<readonly Row[]>;
  /** Does the same for a frequent statement. */
  lookUp(sql: string, values: Value[]): Promise<readonly Row[]>;
}

/** What a server needs for its reads to be current. */
export interface ReadMode {
  /** The text that each statement begins with. */
  readonly prefix: string;
  /**
   * Whether rows cannot say that a transaction is open. A statement that throws inside one is then
   * sent first: a transaction that others begin after it sees everything acknowledged before it.
   */
  readonly isBlind: boolean;
}

type Send = (session: Session, prefix: string) => Promise<unknown>;

function sendSettled(
  connections: Connections,
  { prefix, isBlind }: ReadMode,
  send: Send,
  limitMs: number,
): Promise<readonly Row[]> {
  async function read(session: Session): Promise<readonly Row[]> {
    if (isBlind) await begin(session);
    const rows = rowsOf(await send(session, prefix));
    // An empty answer does not say whether it is current: a replica that lags may not have the row
    // yet.
    const seen = rows.length > 0 ? rows : rowsOf(await session.query(PROBE));
    requireFresh(session, seen);
    return rows;
  }
  return withRetries(connections, read, limitMs);
}

/** @param mode Returns what this server needs. */
export function createReaders(connections: Connections, mode: () => ReadMode): Readers {
  return {
    select(sql, values) {
      const send: Send = ({ query }, prefix) => query(prefix + sql, values);
      return sendSettled(connections, mode(), send, SELECT_MS);
    },
    lookUp(sql, values) {
      const send: Send = ({ execute }, prefix) => execute(prefix + sql, values);
      return sendSettled(connections, mode(), send, LOOK_UP_MS);
    },
  };
}
