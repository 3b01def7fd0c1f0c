/** Turns errors of both drivers into messages that say what to do and contain no secret. */
import { explainKeptClient } from '../workers.js';

/** Error numbers of the server. */
const DUPLICATE_KEY = 1062;
const NO_SUCH_TABLE = 1146;
const NO_SUCH_INDEX = 1176;
const NO_RIGHT_TO_CREATE_TRIGGERS = 1419;
const NO_SUCH_DEFINER = 1449;
const IN_A_TRANSACTION = 1568;
const DEADLOCK = 1213;
/**
 * The wait for a row, or the statement, took longer than its limit (on MariaDB, a limit we set).
 */
const LOCK_WAIT_TIMEOUT = 1205;
const STATEMENT_TIMEOUT = 1969;
/** On MariaDB 11: a row has changed since the transaction began. */
const CHANGED_SINCE = 1020;

/** Replaces the server's message if that quotes a digest or does not say enough. */
const INSTEAD: Readonly<Record<number, string>> = {
  [DUPLICATE_KEY]: 'a key with this id or digest exists already',
  [IN_A_TRANSACTION]:
    'the connection is in the middle of a transaction, or has autocommit off; ' +
    'look-ups would miss later revocations, and a rollback could undo writes. ' +
    'Give keyscope its own pool or connection, with autocommit on',
};

/** Advice that follows the server's message. */
const ADVICE: Readonly<Record<number, string>> = {
  [NO_RIGHT_TO_CREATE_TRIGGERS]:
    '. Migrate as a user with SUPER, or set log_bin_trust_function_creators = 1',
  [NO_SUCH_INDEX]:
    '. If a view has taken the place of the table, it may hide keys: ' +
    'let the user that keyscope connects as use the tables themselves',
  [NO_SUCH_DEFINER]:
    '. The triggers run as the user that migrated, which no longer exists. ' +
    'DELETE FROM keyscope_schema, then migrate as a user that you keep',
};

/** The fields of a driver's error that are read. */
interface DriverError {
  /** Why a pool of mariadb could not connect. */
  readonly cause?: unknown;
  readonly errno?: number;
  readonly code?: unknown;
  readonly sqlMessage?: string | null;
  readonly message?: string;
}

/** An error of the server or of the driver, as this store throws it. */
export interface MysqlError extends Error {
  /** The server's error number, or 0 if it has none. */
  readonly errno: number;
  /** The code from the server or the network; undefined if the error comes from neither. */
  readonly code: unknown;
}

/**
 * Drops everything that the driver attached to the error. With one of its options, mariadb's
 * message contains the parameters, including digests and seals.
 */
function toMysqlError(error: unknown): MysqlError {
  const { errno = 0, code } = (error ?? {}) as DriverError;
  const shown = INSTEAD[errno] ?? explainKeptClient(messageOf(error)) + (ADVICE[errno] ?? '');
  return Object.assign(new Error(`keyscope: ${shown}`), { errno, code });
}

function messageOf(error: unknown): string {
  const { code, sqlMessage, message, cause } = (error ?? {}) as DriverError;
  // The error of a refused connection may have an empty message.
  const own = sqlMessage || message || String(code);
  return cause == null ? own : `${own}: ${messageOf(cause)}`;
}

/** Makes the error that the server raises inside a transaction. */
export function transactionError(): MysqlError {
  return toMysqlError({ errno: IN_A_TRANSACTION });
}

/** Awaits a driver's call. Any error becomes a {@link MysqlError}. */
export async function withMysqlErrors<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw toMysqlError(error);
  }
}

function errnoOf(error: unknown): unknown {
  return (error as Partial<MysqlError>).errno;
}

/** Checks whether a statement named a table that does not exist. */
export function isMissingTable(error: unknown): boolean {
  return errnoOf(error) === NO_SUCH_TABLE;
}

/** Checks whether another transaction held a row longer than the statement would wait. */
export function isLockTimeout(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === LOCK_WAIT_TIMEOUT || errno === STATEMENT_TIMEOUT;
}

/** Checks whether the server has rolled back the whole transaction, so that a retry may succeed. */
export function isRetryable(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === DEADLOCK || errno === CHANGED_SINCE;
}

/**
 * Checks whether the connection was in the middle of a transaction, so that nothing was written.
 */
export function isInTransaction(error: unknown): boolean {
  return errnoOf(error) === IN_A_TRANSACTION;
}
