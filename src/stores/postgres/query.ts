/**
 * Sends the store's statements and reads their answers. Every row comes back as a single JSON text,
 * which all drivers read alike.
 */
import { startTimer } from '../../core/thenable.js';
import type { Session, Statement } from './client.js';
import { isRetryable, toSafeError } from './errors.js';
import { STATEMENTS, type StatementName } from './statements.js';
import { inSchema } from './visibility.js';

/** Runs a statement by its name, and returns the JSON texts of its rows. */
export type SendStatement = (
  name: StatementName,
  ...values: readonly string[]
) => Promise<readonly string[]>;

/** Does the same, but returns the parsed rows. */
export type RunStatement = (
  name: StatementName,
  ...values: readonly string[]
) => Promise<readonly unknown[]>;

/** The error if the client changed a row that the server sent. */
export const CHANGED_BY_CLIENT: string =
  'keyscope: PostgreSQL: the client must return rows as objects, and texts unchanged. ' +
  'Pass one without types or transforms that change texts';

/**
 * How long a statement is retried, in milliseconds. Of concurrent writes to one key, one succeeds
 * each time. After this long, no caller waits any more.
 */
const RETRY_FOR_MS = 5_000;

/** The longest pause before a statement is sent again, in milliseconds. */
const MAX_PAUSE_MS = 50;

/**
 * Makes the function that sends all statements of a store.
 *
 * @param schemaOf Returns the schema of the tables, once it is known. Default: the connection's
 *   search path finds them.
 */
export function createSender(
  session: Session,
  prepare: boolean,
  schemaOf?: () => string,
): SendStatement {
  const texts = new Map<StatementName, string>();
  function textOf(name: StatementName): string {
    if (schemaOf === undefined) return STATEMENTS[name];
    const text = texts.get(name) ?? inSchema(schemaOf(), STATEMENTS[name]);
    texts.set(name, text);
    return text;
  }

  return async (name, ...values) => {
    const statement = { name, text: textOf(name), values: [...values], prepare };
    const rows = await sendUntilDone(session, statement);
    if (!Array.isArray(rows)) throw new Error(CHANGED_BY_CLIENT);
    return rows.map(textOfRow);
  };
}

/** Parses the answers of a sender. */
export function createRunner(send: SendStatement): RunStatement {
  return async (name, ...values) => {
    const texts = await send(name, ...values);
    return texts.map(parseText);
  };
}

/** Retries a statement while the server rolls it back because of a concurrent one. */
async function sendUntilDone(session: Session, statement: Statement): Promise<unknown> {
  const deadline = performance.now() + RETRY_FOR_MS;
  for (let tries = 1; ; tries += 1) {
    try {
      return await session.send(statement);
    } catch (error) {
      const sendAgain = isRetryable(error) && performance.now() <= deadline;
      if (!sendAgain) throw toSafeError(error);
    }
    // Random, so that the retries do not collide again, and longer with each attempt.
    await pause(Math.random() * Math.min(2 ** tries, MAX_PAUSE_MS));
  }
}

/** Returns the text in a row's only column. */
function textOfRow(row: unknown): string {
  const isObject = typeof row === 'object' && row !== null;
  const answer: unknown = isObject && 'answer' in row ? row.answer : undefined;
  if (typeof answer !== 'string') throw new Error(CHANGED_BY_CLIENT);
  return answer;
}

/** Parses such a text. The error does not quote it, as the JSON parser's would. */
export function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(CHANGED_BY_CLIENT);
  }
}

/** Waits before another attempt, without keeping an otherwise idle process alive. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => {
    startTimer(resolve, milliseconds);
  });
}
