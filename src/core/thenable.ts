/** Asynchronous answers: time limits, rejections, and the one runtime that loses answers. */

/**
 * Checks whether `value` is a promise or anything else with a `then`. Functions count, because a
 * call over Cloudflare's RPC returns one.
 */
export function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | null | undefined)?.then === 'function';
}

/**
 * Waits for a promise for at most `timeoutMs`. Then `onLate` throws, or returns the answer to use
 * instead, which may be the promise itself. The work behind the promise continues.
 *
 * @param isBackground Whether the process may end while this waits.
 */
export function within<T>(
  timeoutMs: number,
  promise: Promise<T>,
  onLate: () => T | Promise<T>,
  isBackground: boolean = false,
): Promise<T> {
  return new Promise((resolve, reject) => {
    // Asynchronous, so that an error of `onLate` becomes a rejection.
    const late = async (): Promise<T> => onLate();
    const start = isBackground ? startTimer : setTimeout;
    const timer = start(() => resolve(late()), timeoutMs);
    void promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** A timer that `clearTimeout` accepts. */
export type Timer = ReturnType<typeof setTimeout>;

/** Starts a timer that does not keep an otherwise idle process alive. */
export function startTimer(act: () => void, milliseconds: number): Timer {
  const timer = setTimeout(act, milliseconds);
  // Outside Node, Bun and Deno, a timer is a number.
  (timer as { unref?(): void }).unref?.();
  return timer;
}

/**
 * Returns a thenable that rejects with the error when it is awaited. That is faster than throwing
 * the error, and than a promise that rejects before anyone listens. An unhandled one is still
 * reported.
 */
export function rejecting(error: unknown): PromiseLike<never> {
  const then = (_: unknown, reject: (error: unknown) => void): void => reject(error);
  return { then } as unknown as PromiseLike<never>;
}

/**
 * Checks whether this is Cloudflare Workers, where a query ends with the request that sent it. Any
 * other request that waited for its answer would wait forever.
 */
export function isCloudflareWorkers(): boolean {
  return globalThis.navigator?.userAgent === 'Cloudflare-Workers';
}

type Run = (run: () => void) => unknown;

/** Resolves in the next turn of the event loop, after everything that has arrived is served. */
export function untilNextTurn(): Promise<void> {
  const { setImmediate = setTimeout as Run } = globalThis as { setImmediate?: Run };
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
