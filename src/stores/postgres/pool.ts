/**
 * Queries a `Pool` of `pg`, on connections without an open transaction: inside one, a write would
 * be acknowledged and later rolled back.
 */
import { LEFT_OPEN, TRANSACTION_MARK } from './errors.js';

/** How many connections one query may discard: more than most pools have. */
const MAX_LEFT_OPEN = 100;

/** A connection that knows, with pg 8.21 or newer, whether it is in a transaction. */
export interface Transacting {
  /** Returns `T` or `E` in the middle of a transaction, `null` before it is connected. */
  getTransactionStatus?(): string | null;
}

/** A connection lent by a pool. */
interface Loan<Query, Answer> extends Transacting {
  query(query: Query): PromiseLike<Answer>;
  /** With an error, the pool ends the connection. */
  release(error?: unknown): void;
  on(event: 'error', listener: () => void): unknown;
  removeListener(event: 'error', listener: () => void): unknown;
}

/** A `Pool` of `pg`, which emits an error for each connection that it loses. */
export interface PgPool<Query, Answer> {
  connect(): PromiseLike<Loan<Query, Answer>>;
  listenerCount(event: 'error'): number;
  emit(event: 'error', error: Error, client: unknown): unknown;
}

/** Checks whether the connection's last answer came from inside a transaction. */
export function isInTransaction(connection: Transacting): boolean {
  const status = connection.getTransactionStatus?.();
  return status === 'T' || status === 'E';
}

/** Makes a function that queries a pool as the pool's own method does. */
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
      // Another user sent BEGIN and returned the connection before the answer arrived.
      if (isInTransaction(loan)) throw new Error(TRANSACTION_MARK);
      return answer;
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      // As the pool's own method does, even after an error of the server alone.
      loan.release(failure);
      loan.removeListener('error', ignore);
    }
  };
}

function ignore(): void {}

/**
 * Borrows a connection. Ends those that have an open transaction, which rolls it back; the pool
 * emits an error and opens another.
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
