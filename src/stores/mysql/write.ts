/** Commits writes before they are acknowledged. */
import type { Value } from '../rows.js';
import { affectedRows } from './answers.js';
import type { Connections, Session } from './connections.js';
import { isRetryable } from './errors.js';

/** How many times a write is tried in all if the server rolls it back. */
const TRIES = 4;

/**
 * Runs one statement as its own transaction. `SET TRANSACTION` throws inside another transaction,
 * on both servers. So somebody else's rollback cannot undo an acknowledged write, and nothing of
 * theirs is committed. The commit is needed if autocommit was switched off after the connection was
 * inspected.
 */
export async function commit(session: Session, sql: string, values: Value[]): Promise<unknown> {
  await session.run('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE');
  try {
    const answer = await session.query(sql, values);
    // Overrides `completion_type`, which may chain another transaction or disconnect.
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
