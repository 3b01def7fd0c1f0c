/** Waits no longer than told. */

/**
 * Waits for a promise, or throws another error once the time is over. What was begun goes on.
 *
 * @param timeoutMs Milliseconds.
 * @param tooLate Makes the error.
 */
export async function within<T>(
  promise: Promise<T>,
  timeoutMs: number,
  tooLate: () => Error,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(tooLate()), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
