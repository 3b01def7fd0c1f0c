/** The two ways in which a verifier says no, which never mix: a bad token, and no usable keys. */
import { AccessError, StoreError } from '../core/errors.js';

/** One code and one reason for every fault of a token: the answers are the same bytes. */
export function tokenRefused(): AccessError {
  return new AccessError('invalid_token', 'token_refused');
}

/** Says nothing about any token. */
export function keysBroken(cause?: unknown): StoreError {
  return new StoreError('the token keys cannot be had or cannot be used', cause);
}
