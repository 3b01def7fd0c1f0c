/** Errors of both drivers, in words that say what to do and hold no secret. */

/** Error numbers of the server. */
const DUPLICATE_KEY = 1062;
const NO_SUCH_TABLE = 1146;
const NO_RIGHT_TO_CREATE_TRIGGERS = 1419;
const NO_SUCH_DEFINER = 1449;
const IN_A_TRANSACTION = 1568;
const DEADLOCK = 1213;
/** On MariaDB 11: a row has changed since the transaction began. */
const CHANGED_SINCE = 1020;

/** What is said in place of the server's message, which quotes a digest or does not say enough. */
const INSTEAD: Readonly<Record<number, string>> = {
  [DUPLICATE_KEY]: 'a key with this id or digest exists already',
  [IN_A_TRANSACTION]:
    'the connection is in the middle of a transaction; ' +
    'give keyscope a pool or connection of its own',
};

/** What to do, said after the server's message. */
const ADVICE: Readonly<Record<number, string>> = {
  [NO_RIGHT_TO_CREATE_TRIGGERS]:
    '; migrate as a user with SUPER, or set log_bin_trust_function_creators',
  [NO_SUCH_DEFINER]:
    '; the triggers run as the user that migrated: ' +
    'DELETE FROM keyscope_schema, and migrate as one that stays',
};

/** What is read of an error that a driver threw. */
interface DriverError {
  readonly errno?: number;
  readonly code?: unknown;
  readonly sqlMessage?: string | null;
  readonly message?: string;
}

/** An error of the server or of the driver, as this store throws it. */
export interface MysqlError extends Error {
  /** The server's number for it, 0 if it has none. */
  readonly errno: number;
  /** What server or network called it; undefined if the error comes from neither. */
  readonly code: unknown;
}

/**
 * The error without what the driver attached: mariadb can be told to log parameters, which are then
 * part of the message, digests and seals included.
 */
function toMysqlError(error: unknown): MysqlError {
  const { errno = 0, code, sqlMessage, message } = (error ?? {}) as DriverError;
  // The error of a refused connection may have an empty message.
  const told = sqlMessage || message || String(code);
  const said = INSTEAD[errno] ?? told + (ADVICE[errno] ?? '');
  return Object.assign(new Error(`keyscope: ${said}`), { errno, code });
}

/** Awaits what a driver does. Whatever it throws becomes a {@link MysqlError}. */
export async function withMysqlErrors<Result>(act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    throw toMysqlError(error);
  }
}

function errnoOf(error: unknown): unknown {
  return (error as Partial<MysqlError>).errno;
}

/** Whether a statement named a table that is not there. */
export function isMissingTable(error: unknown): boolean {
  return errnoOf(error) === NO_SUCH_TABLE;
}

/** Whether the server has rolled back all of the transaction, and another try may succeed. */
export function isRetryable(error: unknown): boolean {
  const errno = errnoOf(error);
  return errno === DEADLOCK || errno === CHANGED_SINCE;
}
