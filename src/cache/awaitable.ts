/** Answers of a store, which come at once or by promise. */
import type { Awaitable } from '../core/store.js';

/** Whether an answer comes later. Anything with a `then` counts, as it does for `await`. */
export function isPromise<T>(answer: Awaitable<T>): answer is PromiseLike<T> {
  const thenable = answer as { readonly then?: unknown } | null | undefined;
  return typeof thenable?.then === 'function';
}

/**
 * Runs `write`, then `after` whatever the outcome, before anybody sees the answer. An answer that
 * comes at once stays one.
 */
export function runThen<T>(write: () => Awaitable<T>, after: () => void): Awaitable<T> {
  let isLater = false;
  try {
    const answer = write();
    isLater = isPromise(answer);
    return isPromise(answer) ? Promise.resolve(answer).finally(after) : answer;
  } finally {
    if (!isLater) after();
  }
}
