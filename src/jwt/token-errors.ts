/** The two reasons to refuse, which never mix: a bad token, and keys that cannot be used. */
import { AccessError, StoreError } from '../core/errors.js';

/** One code and one reason for every fault in a token, so that all answers are the same bytes. */
export function tokenRefused(): AccessError {
  return new AccessError('invalid_token', 'token_refused');
}

/** An outage. It says nothing about the token. */
export function keysUnavailable(cause?: unknown): StoreError {
  return new StoreError('the keys that verify tokens cannot be loaded or used', cause);
}
