/** The outcome of an operation, in words that a test can compare. */
import { causeOf as driversErrorOf, isAccessError, isStoreError } from 'keyscope';
import { thrown } from './keyring.ts';

/** Returns `passed`, `StoreError`, or the code and the reason of a denial. */
export async function outcome(act: () => Promise<unknown>): Promise<string> {
  try {
    await act();
    return 'passed';
  } catch (error) {
    if (isStoreError(error)) return 'StoreError';
    return isAccessError(error) ? `${error.code} ${error.reason}` : String(error);
  }
}

/** Returns the cause of a `StoreError`. Anything else fails the test. */
export async function causeOf(act: () => Promise<unknown>): Promise<string> {
  const error = await thrown(act);
  if (!isStoreError(error)) throw error;
  return String(driversErrorOf(error));
}
