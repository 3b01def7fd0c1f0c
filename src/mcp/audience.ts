/** Rejects tokens for other servers (RFC 8707 §2). */
import { AccessError } from '../core/errors.js';
import { isObject } from '../core/input.js';

/**
 * Throws if the credential is a token for another resource, even if the keyring's verifier accepts
 * its audience: one keyring can serve both REST and MCP.
 *
 * Not checked: the signature. This check admits nobody; the keyring verifies the same text next.
 *
 * @param token A key, which has no dot and no audience, or a JWT. Throws on other texts with a dot.
 * @throws AccessError `invalid_token`.
 */
export function requireAudience(token: string, resource: string): void {
  const isForAnother = token.includes('.') && audienceOf(token) !== resource;
  if (isForAnother) throw new AccessError('invalid_token', 'token_refused');
}

/** Returns the `aud` claim. A list of audiences never equals a resource. */
function audienceOf(token: string): unknown {
  try {
    const payload = String(token.split('.')[1]);
    // `atob` returns bytes as characters, which is enough because audiences are URLs in ASCII.
    const json = atob(payload.replaceAll('-', '+').replaceAll('_', '/'));
    const claims: unknown = JSON.parse(json);
    return isObject(claims) && 'aud' in claims ? claims.aud : undefined;
  } catch {
    return undefined;
  }
}
