/** Asks the service on whose behalf a request manages keys. */
import { isInputError } from '../core/errors.js';
import { answerInTime } from '../core/outage.js';
import type { Awaitable } from '../core/store.js';
import { isResponse } from '../http/answer.js';
import { type GrantAuthority, readGrantAuthority } from '../management/authority.js';
import type { KeyAdminOperation } from './endpoints.js';

/**
 * Says on whose behalf a request manages keys, and what it may hand out. It reads the session or
 * the credential, and decides by role which `operation` is allowed. It throws an `AccessError` to
 * deny, or returns a `Response` that is sent as it is, such as a redirect to the sign-in. It leaves
 * the body alone.
 */
export type AuthorityReader = (
  request: Request,
  operation: KeyAdminOperation,
) => Awaitable<GrantAuthority | Response>;

/**
 * The authority of a request, checked, or the response of the service.
 *
 * @throws Whatever the service throws; an `InputError` of its own as the bug that it is.
 * @throws StoreError if it does not settle in time.
 * @throws TypeError if it returns neither.
 */
export async function askAuthority(
  authorityOf: AuthorityReader,
  timeoutMs: number,
  request: Request,
  operation: KeyAdminOperation,
): Promise<GrantAuthority | Response> {
  // Asynchronous, so that what it throws becomes a rejection.
  const ask = async (): Promise<GrantAuthority | Response> => authorityOf(request, operation);
  const answer = await answerInTime('authorityOf', ask(), timeoutMs).catch((error: unknown) => {
    // The caller sent nothing malformed, so this must not be answered with 400.
    if (isInputError(error)) throw new Error('authorityOf failed: see its cause', { cause: error });
    throw error;
  });
  if (isResponse(answer)) return answer;
  // The keyring checks it too; here, before the body is read.
  readGrantAuthority(answer);
  return answer;
}
