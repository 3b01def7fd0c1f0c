/** Helpers that continue after a store's answer and keep a synchronous answer synchronous. */
import type { Awaitable } from '../core/store.js';
import { isThenable } from '../core/thenable.js';

/** Maps the answer. */
export function mapAnswer<T, U>(answer: Awaitable<T>, map: (answer: T) => U): U | Promise<U> {
  return isThenable(answer) ? Promise.resolve(answer).then(map) : map(answer);
}

/** Runs `write`, then `after`, whether `write` succeeds or fails, and then answers the caller. */
export function runThen<T>(write: () => Awaitable<T>, after: () => void): Awaitable<T> {
  let isLater = false;
  try {
    const answer = write();
    isLater = isThenable(answer);
    return isThenable(answer) ? Promise.resolve(answer).finally(after) : answer;
  } finally {
    if (!isLater) after();
  }
}
