/** Refuses tokens that were made for another server (RFC 8707 §2). */
import { AccessError } from '../core/errors.js';
import { isObject } from '../core/input.js';

/**
 * Refuses a credential that is a token for another resource, whatever audiences the keyring's own
 * verifier accepts: one keyring can serve both REST and MCP.
 *
 * Not checked: the signature. This check admits nobody: the keyring verifies the same characters
 * next.
 *
 * @param token A key contains no dot and has no audience. Anything else that is not a JWT is
 *   refused.
 * @throws AccessError `invalid_token`.
 */
export function requireAudience(token: string, resource: string): void {
  const isForAnother = token.includes('.') && audienceOf(token) !== resource;
  if (isForAnother) throw new AccessError('invalid_token', 'token_refused');
}

/** The `aud` claim. A list of audiences is not a text, so it never equals a resource. */
function audienceOf(token: string): unknown {
  try {
    const payload = String(token.split('.')[1]);
    // `atob` returns bytes as characters, which is enough: an audience is a URL, and URLs are
    // ASCII.
    const json = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const claims: unknown = JSON.parse(json);
    return isObject(claims) && 'aud' in claims ? claims.aud : undefined;
  } catch {
    return undefined;
  }
}
