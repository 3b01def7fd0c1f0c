/** Answers of a store, which come at once or by promise. */
import type { Awaitable } from '../core/store.js';
import { isThenable } from '../core/thenable.js';

/**
 * Runs `write`, then `after` whatever the outcome, before anybody sees the answer. An answer that
 * comes at once stays one.
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
