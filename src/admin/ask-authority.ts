/** Asks the service for the authority of a request. */

import { ANY_ID } from '../core/entity.js';
import { isInputError } from '../core/errors.js';
import { answerInTime } from '../core/outage.js';
import type { Awaitable } from '../core/store.js';
import { isResponse } from '../http/answer.js';
import { type GrantAuthority, readGrantAuthority } from '../management/authority.js';
import { FORBIDDEN, SIGNED_OUT } from './denials.js';
import type { KeyAdminOperation } from './endpoints.js';

/**
 * Returns the authority of a request: whose keys it manages, and which scopes it may grant. Read
 * the session or the credential, and decide by role whether the `operation` is allowed.
 *
 * To deny, return `null` if nobody is signed in (401, "Sign in."), or `'forbidden'` if the person
 * may not do this (403, "Your role does not allow this."). You can also throw an `AccessError`, for
 * example of a key, or return a `Response`, such as a redirect to the sign-in, which is sent
 * unchanged. Do not read the body.
 */
export type AuthorityReader = (
  request: Request,
  operation: KeyAdminOperation,
) => Awaitable<GrantAuthority | null | 'forbidden' | Response>;

/**
 * Returns the checked authority of a request, or the response of the service.
 *
 * @throws The error that the service throws, or the denial that it returns. An `InputError` becomes
 *   the cause of another error, because the bug is the service's.
 * @throws StoreError if the service does not answer in time.
 * @throws TypeError if it returns anything else.
 */
export async function askAuthority(
  authorityOf: AuthorityReader,
  timeoutMs: number,
  request: Request,
  operation: KeyAdminOperation,
): Promise<GrantAuthority | Response> {
  // Async, so that a synchronous throw becomes a rejection.
  const ask = async (): Promise<Awaited<ReturnType<AuthorityReader>>> =>
    authorityOf(request, operation);
  const answer = await answerInTime('authorityOf', ask(), timeoutMs).catch((error: unknown) => {
    // The request is not malformed, so the answer must not be 400.
    if (isInputError(error)) throw new Error('authorityOf failed: see its cause', { cause: error });
    throw error;
  });
  if (answer === null) throw SIGNED_OUT;
  if (answer === 'forbidden') throw FORBIDDEN;
  if (isResponse(answer)) return answer;
  // Before the body is read. The keyring checks it again, with the kind of its entities' ids.
  readGrantAuthority(ANY_ID, answer);
  return answer;
}
