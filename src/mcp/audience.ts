/** Rejects tokens for other servers (RFC 8707 §2). */
import { AccessError } from '../core/errors.js';
import { isObject } from '../core/input.js';
import { isUuid } from '../core/uuid.js';

/**
 * Throws if the credential is a token for another resource, even if the keyring's verifier accepts
 * its audience: one keyring can serve both REST and MCP. A token is for this resource if its
 * audience is the resource or, as in keyless tokens, the resource, `#` and a key id.
 *
 * Not checked: the signature, and whose key id it is. This check admits nobody; the keyring
 * verifies the same text next.
 *
 * @param token A key, which has no dot and no audience, or a JWT. Throws on other texts with a dot.
 * @throws AccessError `invalid_token`.
 */
export function requireAudience(token: string, resource: string): void {
  const isForAnother = token.includes('.') && !isFor(resource, audienceOf(token));
  if (isForAnother) throw new AccessError('invalid_token', 'token_refused');
}

/** A list of audiences is for no resource, except a list of one keyless audience. */
function isFor(resource: string, audience: unknown): boolean {
  if (audience === resource) return true;
  const isListOfOne = Array.isArray(audience) && audience.length === 1;
  const text: unknown = isListOfOne ? audience[0] : audience;
  // A resource has no fragment, so this is never another resource.
  const start = `${resource}#`;
  return typeof text === 'string' && text.startsWith(start) && isUuid(text.slice(start.length));
}

/** Returns the `aud` claim. */
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
