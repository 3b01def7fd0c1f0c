/** Answers of a store, which are values or promises. */
import type { Awaitable } from '../core/store.js';
import { isThenable } from '../core/thenable.js';

/**
 * Runs `write`, then `after` whatever the outcome, before the caller sees the answer. A synchronous
 * answer stays synchronous.
 */
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
