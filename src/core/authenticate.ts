/** Reads the credential of a request and verifies it. */
import { bearerText, parseAuthorization, QUOTED } from './authorization.js';
import type { Context } from './context.js';
import { AccessError } from './errors.js';
import type { Principal } from './principal.js';
import { readAuthorization } from './request.js';
import type { Awaitable } from './store.js';
import { rejecting } from './thenable.js';
import { refused, verify, verifyChecked } from './verify.js';
import { verifyToken } from './verify-token.js';

/** The options of `authenticate`. */
export interface AuthenticateOptions {
  /** True bypasses the cache. Default: false. */
  readonly fresh?: boolean | undefined;
}

/**
 * Verifies the one bearer credential of a request. Returns synchronously if the store does. A
 * refusal is not thrown: the result rejects.
 */
export function authenticate(
  context: Context,
  request: unknown,
  options?: AuthenticateOptions,
): Awaitable<Principal> {
  const lines = readAuthorization(request);
  const text = bearerText(lines);
  if (text !== null) {
    // Every text with the shape of a key also matches the grammar, so parsing is unnecessary.
    const fault = context.format.faultIn(text);
    if (fault === null) return verifyChecked(context, text, options);
    if (fault !== 'malformed_key') return refused(fault);
  }
  const credential = parseAuthorization(lines);
  if (credential.kind === 'bearer') return verifyBearer(context, credential.token, options);
  const [code, reason] = REFUSALS[credential.kind];
  const isQuoted = credential === QUOTED;
  return rejecting(new AccessError(code, isQuoted ? 'quoted_key' : reason));
}

const REFUSALS = {
  missing: ['missing_credentials', 'no_header'],
  'other-scheme': ['missing_credentials', 'other_scheme'],
  malformed: ['invalid_request', 'malformed_header'],
} as const;

/** Distinguishes keys from tokens by the dot: a key never contains one, a JWT always does. */
function verifyBearer(
  context: Context,
  token: string,
  options: AuthenticateOptions | undefined,
): Awaitable<Principal> {
  const read = token.includes('.') ? verifyToken : verify;
  return read(context, token, options);
}
