/** Answers that come later, how long they are awaited, and the one runtime that loses them. */

/**
 * Whether `value` is a promise or anything else with a `then`. Functions count: what a call over
 * Cloudflare's RPC returns is one.
 */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
}

/**
 * Waits for a promise for at most `timeoutMs`. After that, `onLate` decides: it throws, or returns
 * what to answer instead, which may be the promise itself. The work itself continues.
 *
 * @param isBackground Whether a process may end while this waits.
 */
export function within<T>(
  timeoutMs: number,
  promise: Promise<T>,
  onLate: () => T | Promise<T>,
  isBackground: boolean = false,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // Asynchronous, so that what it throws becomes a rejection.
    const late = async (): Promise<T> => onLate();
    const start = isBackground ? startTimer : setTimeout;
    const timer = start(() => resolve(late()), timeoutMs);
    void promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** A timer, as `clearTimeout` takes it. */
export type Timer = ReturnType<typeof setTimeout>;

/** Starts a timer that does not keep an otherwise idle process alive. */
export function startTimer(act: () => void, milliseconds: number): Timer {
  const timer = setTimeout(act, milliseconds);
  // A number outside Node, Bun and Deno.
  (timer as { unref?(): void }).unref?.();
  return timer;
}

/**
 * Rejects with the error once somebody waits for it, which is quicker than to throw it, or than a
 * promise that rejects before anybody listens. Unhandled, it is reported all the same.
 */
export function rejecting(error: unknown): PromiseLike<never> {
  const then = (_: unknown, reject: (error: unknown) => void): void => reject(error);
  return { then } as unknown as PromiseLike<never>;
}

/**
 * Whether this is Cloudflare Workers, where a query belongs to the request that sent it: it ends
 * with it, and anyone else who waited for its answer would wait forever.
 */
export function isCloudflareWorkers(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers';
}
