/** Answers of a store, which are values or promises. */
import type { Awaitable } from '../core/store.js';

/** Whether an answer is a promise. Anything with a `then` counts, as it does for `await`. */
export function isPromiseLike<T>(answer: Awaitable<T>): answer is PromiseLike<T> {
  const thenable = answer as { readonly then?: unknown } | null | undefined;
  return typeof thenable?.then === 'function';
}

/**
 * Runs `write`, then `after` whatever the outcome, before the caller sees the answer. A synchronous
 * answer stays synchronous.
 */
export function runThen<T>(write: () => Awaitable<T>, after: () => void): Awaitable<T> {
  let isLater = false;
  try {
    const answer = write();
    isLater = isPromiseLike(answer);
    return isPromiseLike(answer) ? Promise.resolve(answer).finally(after) : answer;
  } finally {
    if (!isLater) after();
  }
}
