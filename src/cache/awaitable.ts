/** Continues after a store's answer, without turning a synchronous answer into a promise. */
import type { Awaitable } from '../core/store.js';
import { isThenable } from '../core/thenable.js';

/** Turns an answer into another. */
export function mapAnswer<T, U>(answer: Awaitable<T>, map: (answer: T) => U): U | Promise<U> {
  return isThenable(answer) ? Promise.resolve(answer).then(map) : map(answer);
}

/** Runs `write`, then `after` whatever the outcome, before the caller sees the answer. */
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
