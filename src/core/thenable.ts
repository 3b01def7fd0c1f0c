/** Answers that come later. */

/**
 * Whether `value` is a promise or anything else with a `then`. Functions count: what a call over
 * Cloudflare's RPC returns is one.
 */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
}

/**
 * Rejects with the error once somebody waits for it, which is quicker than to throw it, or than a
 * promise that rejects before anybody listens. Unhandled, it is reported all the same.
 */
export function rejecting(error: unknown): PromiseLike<never> {
  const then = (_: unknown, reject: (error: unknown) => void): void => reject(error);
  return { then } as unknown as PromiseLike<never>;
}
