/** A start that is retried, and a store that waits for it. */
import type { Awaitable, KeyStore } from '../core/store.js';

/** How long later callers wait for an attempt to start, before they make another. */
const PATIENCE_MS = 5_000;

/**
 * Runs `start` before the first use, and never again once it has succeeded. If it fails or is never
 * answered, as on a half-open connection, a later use tries again: a server that was down is used
 * once it is up. Two attempts may overlap.
 */
export function startOnce<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined;
  let until = 0;
  return () => {
    if (started !== undefined && performance.now() < until) return started;
    const attempt = start();
    [started, until] = [attempt, performance.now() + PATIENCE_MS];
    const succeeded = () => {
      [started, until] = [attempt, Number.POSITIVE_INFINITY];
    };
    const failed = () => {
      if (started === attempt) started = undefined;
    };
    attempt.then(succeeded, failed);
    return attempt;
  };
}

/** Makes every method of a store wait for `ready`. */
export function behind(ready: () => Promise<unknown>, store: KeyStore): KeyStore {
  const late = Object.entries(store).map(
    ([name, method]: [string, (...args: never[]) => Awaitable<unknown>]) => {
      let open = false;
      const waiting = async (...args: never[]) => {
        if (!open) await ready();
        open = true;
        return method(...args);
      };
      // The same number of parameters as the method: from it, `storeContract` knows that `summarize`
      // accepts a time.
      return [name, Object.defineProperty(waiting, 'length', { value: method.length })];
    },
  );
  return Object.fromEntries(late);
}
