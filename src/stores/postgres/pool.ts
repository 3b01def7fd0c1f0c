/**
 * Queries of a `Pool` of `pg`, on connections on which nobody has left a transaction open: there, a
 * write would be acknowledged and later rolled back.
 */
import { LEFT_OPEN, TRANSACTION_MARK } from './errors.js';

/** How many connections are given up for one query, at most: more than most pools have. */
const MAX_LEFT_OPEN = 100;

/** A connection that knows, if it is of pg 8.21 or newer, whether it is in a transaction. */
export interface Transacting {
  /** `T` or `E` in the middle of a transaction, `null` before it is connected. */
  getTransactionStatus?(): string | null;
}

/** What a pool lends. */
interface Loan<Query, Answer> extends Transacting {
  query(query: Query): PromiseLike<Answer>;
  /** With an error, the pool ends the connection. */
  release(error?: unknown): void;
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
}

/** A `Pool` of `pg`, which tells of connections that it loses. */
export interface PgPool<Query, Answer> {
  connect(): PromiseLike<Loan<Query, Answer>>;
  listenerCount(event: 'error'): number;
  emit(event: 'error', error: Error, client: unknown): unknown;
}

/** Whether the connection has answered last from within a transaction. */
export function isInTransaction(connection: Transacting): boolean {
  const status = connection.getTransactionStatus?.();
  return status === 'T' || status === 'E';
}

/** Makes the function that queries a pool, as its own method does. */
export function queryPool<Query, Answer>(
  pool: PgPool<Query, Answer>,
): (query: Query) => Promise<Answer> {
  return async (query) => {
    const loan = await borrow(pool);
    // The query fails, too. Without a listener, this error would end the process.
    loan.on('error', ignore);
    let failure: unknown;
    try {
      const answer = await loan.query(query);
      // Somebody had sent BEGIN and not waited for its answer before giving the connection back.
      if (isInTransaction(loan)) throw new Error(TRANSACTION_MARK);
      return answer;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      // As the pool's own method does, also after an error of the server alone.
      loan.release(failure);
      loan.removeListener('error', ignore);
    }
  };
}

function ignore(): void {}

/**
 * Borrows a connection. One on which somebody has left a transaction open is ended, which rolls it
 * back; the pool tells of it, and opens another.
 */
async function borrow<Query, Answer>(pool: PgPool<Query, Answer>): Promise<Loan<Query, Answer>> {
  for (let count = 1; ; count += 1) {
    const loan = await pool.connect();
    if (!isInTransaction(loan)) return loan;
    const error = new Error(LEFT_OPEN);
    loan.release(error);
    // Without a listener, this would end the process.
    if (pool.listenerCount('error') > 0) pool.emit('error', error, loan);
    if (count === MAX_LEFT_OPEN) throw new Error(TRANSACTION_MARK);
  }
}
