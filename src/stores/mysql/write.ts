/** Writes that are committed before they are acknowledged. */
import type { Value } from '../rows.js';
import { affectedRows } from './answers.js';
import type { Connections, Session } from './connections.js';
import { isRetryable } from './errors.js';

/** How many times a deadlock's victim is tried in all. */
const TRIES = 4;

/**
 * Runs one statement, which is a transaction by itself. `SET TRANSACTION` applies to the next one
 * and throws inside another, on both servers: so nothing is acknowledged that somebody else's
 * rollback could undo, and nothing of theirs is committed. The commit is for a connection whose
 * autocommit was switched off since.
 */
export async function commit(session: Session, sql: string, values: Value[]): Promise<unknown> {
  await session.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE');
  try {
    const answer = await session.query(sql, values);
    // Overrides whatever `completion_type` does after a commit.
    await session.run('COMMIT AND NO CHAIN NO RELEASE');
    return answer;
  } catch (error) {
    await session.run('ROLLBACK AND NO CHAIN NO RELEASE').catch(() => session.discard());
    throw error;
  }
}

/** Returns how many rows a statement wrote. */
export async function write(
  connections: Connections,
  sql: string,
  values: Value[],
): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    try {
      const answer = await connections.withSession((session) => commit(session, sql, values));
      return affectedRows(answer);
    } catch (error) {
      if (attempt === TRIES || !isRetryable(error)) throw error;
    }
  }
}
