/** Tokens made for another server, which this one must not accept (RFC 8707 §2). */
import { AccessError } from '../core/errors.js';
import { isObject } from '../core/input.js';

/**
 * Refuses a credential that is a token for another resource, whatever audiences the keyring's own
 * verifier accepts: one keyring can serve both REST and MCP.
 *
 * Not checked: the signature. This lets nobody in; the keyring verifies the same characters next.
 *
 * @param token A key has no dot and claims no audience. Anything with a dot that is not a JWT is
 *   for no resource.
 * @throws AccessError `invalid_token`.
 */
export function requireAudience(token: string, resource: string): void {
  const isForAnother = token.includes('.') && audienceOf(token) !== resource;
  if (isForAnother) throw new AccessError('invalid_token', 'token_refused');
}

/** A list of audiences is not a text, and so never equal to one. */
function audienceOf(token: string): unknown {
  try {
    const payload = String(token.split('.')[1]);
    // Bytes as characters: an audience is a URL, and URLs are ASCII.
    const json = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const claims: unknown = JSON.parse(json);
    return isObject(claims) && 'aud' in claims ? claims.aud : undefined;
  } catch {
    return undefined;
  }
}
