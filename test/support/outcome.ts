/** The result of a keyring operation, as a string that a test can compare. */
import { causeOf as driversErrorOf, isAccessError, isStoreError } from 'keyscope';
import { thrown } from './keyring.ts';

/** Returns `passed`, `StoreError`, or the code and reason of a denial. */
export async function outcome(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'passed';
  } catch (error) {
    if (isStoreError(error)) return 'StoreError';
    return isAccessError(error) ? `${error.code} ${error.reason}` : String(error);
  }
}

/** The cause of a `StoreError`. Any other error, or none, fails the test. */
export async function causeOf(act: () => Promise<unknown>): Promise<string> {
  const error = await thrown(act);
  if (!isStoreError(error)) throw error;
  return String(driversErrorOf(error));
}
