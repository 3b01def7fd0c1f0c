/** Turns errors of the drivers into errors that the store may pass on. */

const UNPREPARED = '; behind a PgBouncer that keeps no prepared statements pass { prepare: false }';

/** Is in the message of a statement that found itself in somebody's transaction. */
export const TRANSACTION_MARK: string = 'keyscope in a transaction';

/** The error then, of look-ups and of writes. */
export const IN_TRANSACTION: string =
  'keyscope: PostgreSQL: the connection is in the middle of a transaction that somebody left ' +
  'open: look-ups may miss revocations, and writes would be rolled back with it. ' +
  'End each transaction before its connection returns, or give keyscope a pool of its own';

/** Is in the message of a write that may not have seen the row of its key. */
export const HIDDEN_MARK: string = 'keyscope may not see all rows';

/** The error then, at the start, of reads and of writes. */
export const HIDDEN: string =
  'keyscope: PostgreSQL: this role may not see all keys: the tables have row-level security for ' +
  'it, which counts also if a policy lets every row through, or something else is in their ' +
  'place, such as a view, or they are in a schema that it may not use (GRANT USAGE). ' +
  'ALTER TABLE … DISABLE ROW LEVEL SECURITY and REVOKE the rights of other roles, ' +
  'or let keyscope connect as a role with BYPASSRLS';

/** Told by the pool when a connection of that kind is ended before it is used. */
export const LEFT_OPEN: string =
  'keyscope: PostgreSQL: a connection was given back to the pool in the middle of a transaction, ' +
  'and is ended. End each transaction before its connection returns';

/** Says what to do, by SQLSTATE. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  ['26000', UNPREPARED],
  ['42P05', UNPREPARED],
  ['25006', '; pass a client of the primary'],
  [
    '42501',
    '; run migrate in a deploy step with a role that may create tables, ' +
      'then GRANT what keyscope uses',
  ],
  ['3F000', '; GRANT USAGE on a schema that exists, and put it on the search_path'],
  ['0A000', '; if the server has no triggers, run migrate(client, { triggers: false }) first'],
  ['22P05', '; keyscope needs a database in UTF8'],
]);

/** The fields that are read from an error. The core never sees the rest. */
interface DriverError {
  readonly message?: unknown;
  /** The SQLSTATE, or a code of the driver or of Node. */
  readonly code?: unknown;
}

function readDriverError(error: unknown): DriverError {
  return typeof error === 'object' && error !== null ? error : {};
}

/** Serialization failure and deadlock. */
const ROLLED_BACK: ReadonlySet<unknown> = new Set(['40001', '40P01']);

/** Whether the server has rolled the whole statement back, so that it can be sent again. */
export function isRetryable(error: unknown): boolean {
  return ROLLED_BACK.has(readDriverError(error).code);
}

/** Whether the server has no such function. */
export function isUnknownFunction(error: unknown): boolean {
  return readDriverError(error).code === '42883';
}

/** Whether the server has the function, and says that it does nothing. */
export function isUnsupported(error: unknown): boolean {
  return readDriverError(error).code === '0A000';
}

/** Whether a row was held by somebody else for as long as the statement would wait. */
export function isLockTimeout(error: unknown): boolean {
  return readDriverError(error).code === '55P03';
}

/** What the server says of an insert that a policy refuses, and with `row_security = off`. */
const POLICY = 'row-level security policy';

/**
 * Makes an error with only the driver's message and code. Details of the server quote rows, and
 * postgres.js attaches the parameters; both contain digests and seals. Messages name only tables,
 * columns and constraints.
 */
export function toSafeError(error: unknown): Error {
  const { message, code } = readDriverError(error);
  if (String(message).includes(TRANSACTION_MARK)) return new Error(IN_TRANSACTION);
  const isHidden = [HIDDEN_MARK, POLICY].some((words) => String(message).includes(words));
  if (isHidden) return new Error(HIDDEN);
  // The error of a refused connection may have no message.
  const reason = message || code || 'the connection failed';
  const advice = ADVICE.get(code) ?? '';
  const safe = new Error(`keyscope: PostgreSQL: ${String(reason)}${advice}`);
  return Object.assign(safe, { code });
}
