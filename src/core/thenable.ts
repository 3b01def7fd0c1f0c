/** Answers that come later. */

/**
 * Whether `value` is a promise or anything else with a `then`. Functions count: what a call over
 * Cloudflare's RPC returns is one.
 */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
}
