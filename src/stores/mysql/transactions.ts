/** Commits writes before they are acknowledged. */
import type { Value } from '../rows.js';
import type { Connections, Session } from './client.js';
import { affectedRows } from './client.js';
import { isInTransaction, isRetryable } from './errors.js';

/** How many times a write is tried in all. */
const TRIES = 4;

/** How long a connection may take for a write, in milliseconds: a row may be locked meanwhile. */
const WRITE_MS = 10_000;

/**
 * `SET TRANSACTION` throws inside another transaction, on both servers. So another user's rollback
 * cannot undo an acknowledged write, and we never commit another user's work.
 */
const SETTINGS = 'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE';

/** Both override `completion_type`, which may chain another transaction or disconnect. */
const COMMIT = 'COMMIT AND NO CHAIN NO RELEASE';
const ROLLBACK = 'ROLLBACK AND NO CHAIN NO RELEASE';

/** Discards a connection that was returned inside a transaction, because nobody would end it. */
export async function begin(session: Session): Promise<void> {
  try {
    await session.query(SETTINGS);
  } catch (error) {
    if (isInTransaction(error)) session.discard();
    throw error;
  }
}

async function endTransaction<Result>(session: Session, work: Promise<Result>): Promise<Result> {
  try {
    const result = await work;
    await session.query(COMMIT);
    return result;
  } catch (error) {
    await session.query(ROLLBACK).catch(() => session.discard());
    throw error;
  }
}

/**
 * Runs one statement as its own transaction. The commit is needed if autocommit was switched off
 * after the connection was inspected.
 */
export async function commit(
  session: Session,
  sql: string,
  values: readonly Value[],
): Promise<unknown> {
  await begin(session);
  return endTransaction(session, session.query(sql, values));
}

/** Runs several statements as one transaction: if one fails, all are undone. */
export async function transact<Result>(
  session: Session,
  work: () => Promise<Result>,
): Promise<Result> {
  await begin(session);
  await session.query('START TRANSACTION');
  return endTransaction(session, work());
}

/**
 * Works on one connection, and retries if nothing was written and a retry may succeed.
 *
 * @param limitMs How long a connection may take; null for no limit.
 */
export async function withRetries<Result>(
  connections: Connections,
  work: (session: Session) => Promise<Result>,
  limitMs: number | null = WRITE_MS,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await connections.withSession(work, limitMs ?? undefined);
    } catch (error) {
      const isWorthIt = isRetryable(error) || isInTransaction(error);
      if (attempt === TRIES || !isWorthIt) throw error;
    }
  }
}

/** Returns how many rows a statement wrote. */
export async function write(
  connections: Connections,
  sql: string,
  values: Value[],
): Promise<number> {
  const answer = await withRetries(connections, (session) => commit(session, sql, values));
  return affectedRows(answer);
}
