/** The message with which a call rejects a caller's mistake. */

/** Returns the message of the `TypeError`. Any other error, or none, fails the test. */
export function complaint(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
  throw new Error('was accepted');
}
