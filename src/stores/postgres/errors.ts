/** Turns errors of the drivers into errors that the store may pass on. */
import { explainKeptClient } from '../workers.js';

const UNPREPARED = '. If PgBouncer keeps no prepared statements, pass { prepare: false }';

/** Part of the message of a statement that ran in a transaction that was left open. */
export const TRANSACTION_MARK: string = 'keyscope in a transaction';

/** The error that look-ups and writes then throw. */
export const IN_TRANSACTION: string =
  'keyscope: PostgreSQL: the connection is in the middle of a transaction that was left open: ' +
  'look-ups may miss revocations, and a rollback would undo writes. ' +
  'End each transaction before you return its connection, or give keyscope its own pool';

/** Part of the message of a write that may not have seen the row of its key, or may lose it. */
export const HIDDEN_MARK: string = 'keyscope may not see all rows';

/** The error that the start, reads and writes then throw. */
export const HIDDEN: string =
  'keyscope: PostgreSQL: this role may not see all keys, or a crash may delete them. ' +
  'If row-level security applies to the role (even with a policy that lets every row through), ' +
  'ALTER TABLE … DISABLE ROW LEVEL SECURITY and REVOKE the rights of other roles, ' +
  'or let keyscope connect as a role with BYPASSRLS. ' +
  'If a table is UNLOGGED, ALTER TABLE … SET LOGGED. If something else, such as a view or a ' +
  'temporary table, is in the place of a table, remove it. ' +
  'If the role may not use the schema, GRANT USAGE';

/** The pool emits this error when it ends such a connection instead of using it. */
export const LEFT_OPEN: string =
  'keyscope: PostgreSQL: a connection was given back to the pool in the middle of a transaction, ' +
  'so keyscope ends it. End each transaction before you return its connection';

/** Advice by SQLSTATE. */
const ADVICE: ReadonlyMap<unknown, string> = new Map([
  ['26000', UNPREPARED],
  ['42P05', UNPREPARED],
  ['25006', '. Pass a client of the primary'],
  [
    '42501',
    '. Run migrate in a deploy step with a role that may create tables, ' +
      'then GRANT the rights that keyscope needs',
  ],
  ['3F000', '. GRANT USAGE on a schema that exists, and add it to the search_path'],
  ['22P05', '. Use a database in UTF8'],
]);

/** The fields of an error that are read. The core never sees the rest. */
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

/** Checks whether the server has rolled the whole statement back, so that it can be sent again. */
export function isRetryable(error: unknown): boolean {
  return ROLLED_BACK.has(readDriverError(error).code);
}

/** Checks whether another transaction held a row longer than the statement would wait. */
export function isLockTimeout(error: unknown): boolean {
  return readDriverError(error).code === '55P03';
}

/** Part of the server's message if a policy rejects an insert, or with `row_security = off`. */
const POLICY = 'row-level security policy';

/**
 * Makes an error with only the driver's message and code. The server's details quote rows, and
 * postgres.js attaches the parameters; both contain digests and seals. Messages name only tables,
 * columns and constraints.
 */
export function toSafeError(error: unknown): Error {
  const { message, code } = readDriverError(error);
  if (String(message).includes(TRANSACTION_MARK)) return new Error(IN_TRANSACTION);
  const isHidden = [HIDDEN_MARK, POLICY].some((words) => String(message).includes(words));
  if (isHidden) return new Error(HIDDEN);
  // The error of a refused connection may have no message.
  const reason = explainKeptClient(String(message || code || 'the connection failed'));
  const advice = ADVICE.get(code) ?? '';
  const safe = new Error(`keyscope: PostgreSQL: ${reason}${advice}`);
  return Object.assign(safe, { code });
}
