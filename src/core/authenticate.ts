/** From a request to the verified caller. */
import { parseAuthorization } from './authorization.js';
import type { Context } from './context.js';
import { AccessError } from './errors.js';
import type { Principal } from './principal.js';
import { readAuthorization } from './request.js';
import { verify } from './verify.js';
import { verifyToken } from './verify-token.js';

/**
 * Verifies the one bearer credential of a request. Returns or throws synchronously if the store
 * does.
 */
export function authenticate(context: Context, request: unknown): Principal | Promise<Principal> {
  const credential = parseAuthorization(readAuthorization(request));
  switch (credential.kind) {
    case 'bearer':
      return verifyBearer(context, credential.token);
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
function verifyBearer(context: Context, token: string): Principal | Promise<Principal> {
  return token.includes('.') ? verifyToken(context, token) : verify(context, token);
}
