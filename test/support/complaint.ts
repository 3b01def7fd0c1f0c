/** What a call says of a mistake of its caller. */

/** What its `TypeError` says; any other error, or none, fails the test. */
export function complaint(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
  throw new Error('was accepted');
}
