/** From a request to the verified caller. */
import { bearerText, parseAuthorization, QUOTED } from './authorization.js';
import type { Context } from './context.js';
import { AccessError } from './errors.js';
import type { Principal } from './principal.js';
import { readAuthorization } from './request.js';
import type { Awaitable } from './store.js';
import { rejecting } from './thenable.js';
import { refused, verify, verifyChecked } from './verify.js';
import { verifyToken } from './verify-token.js';

/** How to authenticate. */
export interface AuthenticateOptions {
  /** Not from a cache. Default: false. */
  readonly fresh?: boolean | undefined;
}

/**
 * Verifies the one bearer credential of a request. Returns at once if the store does. A refusal is
 * not thrown, but rejects.
 */
export function authenticate(
  context: Context,
  request: unknown,
  options?: AuthenticateOptions,
): Awaitable<Principal> {
  const lines = readAuthorization(request);
  const text = bearerText(lines);
  if (text !== null) {
    // A text of the shape of a key matches the grammar too, so there is no need to parse it.
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

/**
 * Keys and tokens are told apart by shape alone: a key never contains a dot and a JWT always does.
 */
function verifyBearer(
  context: Context,
  token: string,
  options: AuthenticateOptions | undefined,
): Awaitable<Principal> {
  const read = token.includes('.') ? verifyToken : verify;
  return read(context, token, options);
}
