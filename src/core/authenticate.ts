/** From a request to the verified caller. */
import { parseAuthorization } from './authorization.js';
import type { Context } from './context.js';
import { AccessError } from './errors.js';
import type { Principal } from './principal.js';
import { readAuthorization } from './request.js';
import { verify } from './verify.js';
import { verifyToken } from './verify-token.js';

/** How to authenticate. */
export interface AuthenticateOptions {
  /** Not from a cache. Default: false. */
  readonly fresh?: boolean | undefined;
}

const BEARER = 'Bearer ';

/**
 * Verifies the one bearer credential of a request. Returns or throws synchronously if the store
 * does.
 */
export function authenticate(
  context: Context,
  request: unknown,
  options?: AuthenticateOptions,
): Principal | Promise<Principal> {
  const lines = readAuthorization(request);
  const line: unknown = Array.isArray(lines) && lines.length === 1 ? lines[0] : lines;
  if (typeof line === 'string' && line.startsWith(BEARER)) {
    const text = line.slice(BEARER.length);
    const fault = context.format.faultIn(text);
    // What has the shape of a key matches the grammar, too.
    if (fault !== 'malformed_key') return verify(context, text, options?.fresh, fault);
  }
  const credential = parseAuthorization(lines);
  switch (credential.kind) {
    case 'bearer':
      return verifyBearer(context, credential.token, options?.fresh);
    case 'malformed':
      throw new AccessError('invalid_request', 'malformed_header');
    case 'other-scheme':
      throw new AccessError('missing_credentials', 'other_scheme');
    case 'missing':
      throw new AccessError('missing_credentials', 'no_header');
  }
}

/**
 * Keys and tokens are told apart by shape alone: a key never contains a dot and a JWT always does.
 */
function verifyBearer(
  context: Context,
  token: string,
  fresh: boolean | undefined,
): Principal | Promise<Principal> {
  return token.includes('.') ? verifyToken(context, token, fresh) : verify(context, token, fresh);
}
