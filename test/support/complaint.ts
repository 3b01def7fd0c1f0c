/** Messages about mistakes of the caller. */

/** Returns the message of the `TypeError` that `call` throws. Anything else fails the test. */
export function complaint(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
  throw new Error('was accepted');
}
